"""Dask workers of one thread each on this machine, and what the scheduler takes of their time."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from benchmarks.report import Section
from benchmarks.scaling.job import Job
from mixjax.sims.cluster.cluster import LOCAL, Cluster, local_options

ASKED = 0.05  # of the time, at units of a second


@dataclass(frozen=True)
class Local:
    """Workers on this machine.

    Attributes:
      cluster: where work is done.
      client: of the same scheduler, to ask it what workers did.
    """

    cluster: Cluster
    client: Any


@contextmanager
def local_clusters(numbers: Sequence[int]) -> Iterator[dict[int, Local]]:
    """One for each number of workers, of one thread each; none where Dask is not installed."""
    with ExitStack() as opened:
        there = numbers if find_spec("distributed") else ()
        yield {number: _started(opened, number) for number in there}


def _started(opened: ExitStack, number: int) -> Local:
    import dask
    from distributed import Client, LocalCluster

    opened.enter_context(dask.config.set(LOCAL))
    options = local_options(threads=1) | {"dashboard_address": ":0"}
    local = opened.enter_context(LocalCluster(n_workers=number, threads_per_worker=1, processes=True, **options))
    client = opened.enter_context(Client(local, set_as_default=False))
    return Local(opened.enter_context(Cluster(scheduler=local.scheduler_address)), client)


def overhead(job: Job, there: Local, units: int) -> Section:
    """The share of the time in which a worker of one thread computes nothing, at units of about a second."""
    work, layout = job.work(units * 1000, job.whole), dataclasses.asdict(job.whole)
    names = work.names(layout)
    list(there.cluster.compute(work, names[:1], layout, lambda *_: None))  # compiles
    there.client.get_task_stream()  # from now on
    since, started = time.time(), time.perf_counter()
    list(there.cluster.compute(work, names, layout, lambda *_: None))
    wall = time.perf_counter() - started
    spans = [span for task in there.client.get_task_stream(start=since) for span in task["startstops"]]
    computing = sum(span["stop"] - span["start"] for span in spans if span["action"] == "compute")
    share = 1 - computing / wall
    row = {
        "units": units,
        "seconds_of_a_unit": computing / units,
        "computing_s": computing,
        "wall_s": wall,
        "share": share,
    }
    text = (
        f"One worker of one thread. The scheduler, the transport of results and the waiting for the next unit take "
        f"{share:.1%} of the time (asked: below {ASKED:.0%}), as the scheduler's own record of the tasks says."
    )
    return Section("overhead", "Overhead of the scheduler", text, [row], {"share": share})
