"""Tasks of a Dask cluster: a few at a time, done again where a worker dies, and given to others where one hangs."""

from __future__ import annotations

import dataclasses
import json
import statistics
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mixjax.runs import RunError, differences, provenance
from sims.canary import check_backend
from sims.division import work_of
from sims.program import HostArrays
from sims.tiles import Tell
from sims.work import Work, plain

if TYPE_CHECKING:
    from distributed import Client, Future

ENVIRONMENT = ("mixjax", "commit", "jax", "jaxlib", "platform", "device", "x64", "xla_flags")  # of a run
HANGING = 60.0, 10.0  # seconds, and times the median, after which a task is given to another worker too

_preparing = threading.Lock()


@contextmanager
def scheduler_there() -> Iterator[None]:
    """Turn the loss of a scheduler into one sentence."""
    try:
        yield
    except (CancelledError, OSError) as error:
        reason = type(error).__name__
        raise RunError(
            f"the scheduler is gone; finished work is kept, and the same command goes on from it ({reason})"
        ) from None


class Tasks:
    """What is under way, and who is waited for."""

    def __init__(
        self, client: Client, work: Work, layout: Mapping[str, int], environment: dict[str, str], warn: Tell = print
    ):
        self.client, self.warn = client, warn
        config = json.dumps(dataclasses.asdict(work.config), default=plain)
        self.task = (work.study.name, config, dict(layout), environment)
        self.running: dict[str, list[Future]] = {}
        self.since: dict[str, float] = {}
        self.took: list[float] = []

    def submit(self, name: str, **where: Any) -> None:
        """Give a part to the cluster, once more if it is there already."""
        tries = self.running.setdefault(name, [])
        key = f"{self.task[0]}/{name}/{len(tries)}/{time.monotonic_ns()}"
        tries.append(self.client.submit(compute_part, self.task, name, key=key, pure=False, **where))
        self.since[name] = time.monotonic()

    def finished(self) -> list[tuple[str, HostArrays]]:
        """Parts that are done, after waiting for one for a while; what takes too long is given to others too."""
        from distributed import wait

        futures = {future.key: (name, future) for name, tries in self.running.items() for future in tries}
        try:
            with self.client.as_current():  # no client is everybody's: xarray would take its locks from it
                done = wait([future for _, future in futures.values()], timeout=5, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            done = set()
        results = []
        for name, future in (futures[future.key] for future in done):
            arrays = self._fetched(name, future) if name in self.running else None
            if arrays is not None:
                results.append((name, arrays))
                self.took = [*self.took[-100:], time.monotonic() - self.since.pop(name)]
                del self.running[name]  # which lets go of every try
        self._help()
        return results

    def _fetched(self, name: str, future: Future) -> HostArrays | None:
        """What a task gave; None if the worker that has it does not answer, and then another is asked to compute it."""
        try:
            arrays, remarks = _result(future, timeout=HANGING[0])
        except TimeoutError:
            holders = self.client.who_has([future]).get(future.key, ())
            self.running[name].remove(future)
            self._elsewhere(name, [worker for worker in self.client.nthreads() if worker not in holders])
            return None
        for remark in remarks:
            self.warn(f"a worker: {remark}")
        return arrays

    def _help(self) -> None:
        """Give what hangs to workers that do not have it."""
        limit = max(HANGING[0], HANGING[1] * statistics.median(self.took)) if self.took else float("inf")
        late = [name for name, since in self.since.items() if time.monotonic() - since > limit]
        if not late:
            return
        busy = self.client.processing()
        for name in late:
            keys = {future.key for future in self.running[name]}
            self._elsewhere(name, [worker for worker, has in busy.items() if not keys & set(has)])

    def _elsewhere(self, name: str, workers: list[str]) -> None:
        """Give a part to one of these workers, or to any that comes when they are gone."""
        if workers:
            self.submit(name, workers=workers, allow_other_workers=True)
        elif not self.running[name]:
            self.submit(name)


def compute_part(task: tuple[str, str, dict[str, int], dict[str, str]], name: str) -> tuple[HostArrays, list[str]]:
    """A part of a run, on a worker that is as the others are; with what there is to remark on.

    Raises:
      RunError: on a worker of another version or device, or one that computes wrongly.
    """
    study, config, layout, environment = task
    with _preparing:  # once in a process, whatever the number of its threads
        made_with = worker_provenance()
        if found := differences(environment, {name: str(made_with[name]) for name in ENVIRONMENT}, "on the others"):
            raise RunError(f"a worker joined that is not as the others are: {found}")
        check_backend()
        work, remarks = _work(study, config), list[str]()
        work.prepare(layout, remarks.append)
    return work.part(name, layout, remarks.append), remarks


@lru_cache(maxsize=1)
def worker_provenance() -> dict[str, str | int]:
    """What a worker is."""
    return provenance()


@lru_cache(maxsize=4)
def _work(study: str, config: str) -> Work:
    from sims.running import configured
    from sims.studies import STUDIES

    return work_of(STUDIES[study], configured(study, **json.loads(config)))


def _result(future: Future, timeout: float) -> tuple[HostArrays, list[str]]:
    """What a task gave.

    Raises:
      RunError: if workers died over it.
      TimeoutError: if it does not come.
    """
    from distributed.scheduler import KilledWorker

    try:
        result: tuple[HostArrays, list[str]] = future.result(timeout=timeout)
        return result
    except KilledWorker as error:
        raise RunError(
            f"every worker that took {error.task} died, as from want of memory; finished work is kept"
        ) from None
