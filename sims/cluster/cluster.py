"""The parts of a run on the workers of a Dask cluster: the same numbers to the last bit.

A task names a study, a configuration and a few parts; a worker makes the work from it and computes the parts as one
process would. The client alone writes: no disk is shared. Other workers repeat the tasks of a worker that dies, and a
task that takes far longer than the rest; that cannot change a number.
"""

from __future__ import annotations

import logging
import re
import signal
import threading
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from mixjax.runs import ENVIRONMENT, RunError, Tell, differences

from ..engine.devices import usable_cores
from ..engine.program import HostArrays
from ..engine.work import Store, Work
from ..loading import brief
from .tasks import Tasks, has_code, scheduler_there, worker_provenance

if TYPE_CHECKING:
    from distributed import Client

_CODE = ("mixjax", "commit", "jax", "jaxlib")  # what client and workers have in common
AHEAD = 3  # tasks a thread of the cluster that are submitted and not yet stored
TASK = 1.0  # seconds of a task, if parts are shorter: each task costs the client 15 ms
DEATHS = 10  # of local workers over one task, before it is taken to be the cause
PATIENCE = 30.0  # seconds for a scheduler to respond, and for its first worker to join
MOST_WORKERS = 1000
LOCAL = {  # settings of Dask for workers on this machine
    "distributed.scheduler.allowed-failures": DEATHS,
    "distributed.worker.profile.enabled": False,  # this and what follows watches each process, at 5 % of its time
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
}


class Cluster:
    """A Dask cluster that computes the parts of work, as a context.

    Attributes:
      made_with: the provenance of its workers, as in `mixjax.runs.provenance`.
    """

    def __init__(self, *, workers: int | None = None, scheduler: str | None = None, patience: float = PATIENCE):
        """Start local workers, or join the scheduler at an address.

        Raises:
          RunError: if Dask is missing, the scheduler cannot be reached or has no workers, or these differ.
        """
        self._open = ExitStack()
        try:
            self._client = _connected(self._open, workers, scheduler, patience)
            self.made_with = _agreed(self._client, patience)
        except BaseException:
            self._open.close()
            raise

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def compute(
        self, work: Work, names: Sequence[str], layout: Mapping[str, int], store: Store, warn: Tell = print
    ) -> Iterator[str]:
        """Compute parts, hand each to `store`, and yield its name, in any order.

        Few tasks run at a time, so that memory does not grow with their number.

        Raises:
          RunError: if the workers fail, or the scheduler is lost.
        """
        tasks = Tasks(self._client, work, layout, {name: str(self.made_with[name]) for name in ENVIRONMENT}, warn)
        waiting, finished = deque(names), list[tuple[str, HostArrays]]()
        with scheduler_there():
            ahead = AHEAD * max(1, sum(self._client.nthreads().values()))
        while waiting or tasks.running:
            with scheduler_there():
                while waiting and len(tasks.running) < ahead:
                    tasks.submit(_taken(waiting, tasks.seconds_of_a_part, ahead))
                finished = tasks.finished()
            for name, arrays in finished:
                store(name, arrays)
                yield name


def _taken(waiting: deque[str], seconds: float | None, ahead: int) -> tuple[str, ...]:
    """Take the parts of the next task: TASK seconds of them, or fewer at the end, so that all threads end together."""
    number = min(TASK / seconds, len(waiting) / ahead) if seconds else 1
    return tuple(waiting.popleft() for _ in range(max(1, int(number))))


def cluster_of(workers: int | None, scheduler: str | None) -> AbstractContextManager[Cluster | None]:
    """Return the cluster of the options as a context, which gives None if they ask for no cluster.

    Raises:
      RunError: for options that contradict each other, and as `Cluster` does.
    """
    if workers is None and scheduler is None:
        return nullcontext(None)
    if workers is not None and scheduler is not None:
        raise RunError("give either workers, which are started here, or the address of a scheduler, not both")
    if workers is not None and not (type(workers) is int and 1 <= workers <= MOST_WORKERS):
        raise RunError(f"workers must be from 1 to {MOST_WORKERS}, got {workers!r}")
    if scheduler is not None and not re.search(r":\d+$", scheduler.rstrip("/")):
        raise RunError(f"the address of a scheduler ends in its port, as in tcp://host:8786, got {scheduler!r}")
    return Cluster(workers=workers, scheduler=scheduler)


def _connected(opened: ExitStack, workers: int | None, scheduler: str | None, patience: float) -> Client:
    """Return a client of a new local cluster, or of the scheduler at an address."""
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise RunError(
            "a cluster needs Dask, which the extra `cluster` installs: pip install 'dask[distributed]'"
        ) from None
    if scheduler is None:
        number = workers or 1
        opened.enter_context(dask.config.set(LOCAL))
        threads = max(1, usable_cores() // number)
        options = local_options(threads)
        with _interrupts_ignored():
            local = LocalCluster(n_workers=number, threads_per_worker=threads, processes=True, **options)
        return opened.enter_context(Client(opened.enter_context(local), set_as_default=False))
    try:
        with warnings.catch_warnings(action="ignore"):  # versions are compared below
            client = opened.enter_context(Client(scheduler, timeout=patience, set_as_default=False))
        versions = client.get_versions()
    except Exception as error:  # noqa: BLE001 - of all kinds: an address of IPv6 where there is none fails an assertion
        raise RunError(
            f"no Dask scheduler answers at {scheduler} ({brief(error)}); start one, as in: dask scheduler"
        ) from None
    here, there = (versions[side]["packages"] for side in ("client", "scheduler"))
    wanted = ("distributed", "msgpack")
    if found := differences({n: there[n] for n in wanted}, {n: here[n] for n in wanted}):
        raise RunError(f"the scheduler at {scheduler} is of another version ({found}); install the same in both places")
    return client


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Let processes that start in this context ignore Ctrl-C, which a terminal sends to all of them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def local_options(threads: int) -> dict[str, Any]:
    """Return the options of workers on this machine with so many threads each."""
    env = {"NPROC": str(threads)}  # or XLA keeps one for each core, in each worker, and those wait by spinning
    return {"dashboard_address": None, "silence_logs": logging.CRITICAL, "env": env}


def _agreed(client: Client, patience: float) -> dict[str, str | int]:
    """Wait for a worker, and return the provenance of all, which must be alike."""
    try:
        client.wait_for_workers(1, timeout=patience)
    except TimeoutError:
        address = client.scheduler_info()["address"]
        raise RunError(f"the scheduler at {address} has no workers; start some, as in: dask worker") from None
    try:
        client.run_on_scheduler(has_code)  # it takes tasks apart, and needs the code for that
        made_with: dict[str, dict[str, str | int]] = client.run(worker_provenance)
    except Exception as error:  # noqa: BLE001 - Dask makes one of its own of what is raised there
        advice = "start them in a clone of the same commit, with PYTHONPATH=."
        raise RunError(f"the scheduler or its workers cannot run this code ({brief(error)}); {advice}") from None
    (first, wanted), *others = sorted(made_with.items())
    for address, other in others:
        if found := differences(_part(wanted, ENVIRONMENT), _part(other, ENVIRONMENT), f"on {first}", f"on {address}"):
            raise RunError(f"the workers differ: {found}; a run has workers of one kind")
    if found := differences(_part(wanted, _CODE), _part(worker_provenance(), _CODE), "on the workers"):
        raise RunError(f"the workers have other code: {found}; install the same in both places")
    return {**wanted, "workers": len(made_with), "threads": sum(client.nthreads().values())}


def _part(made_with: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: made_with.get(name) for name in names}
