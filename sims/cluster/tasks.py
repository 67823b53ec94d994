"""Tasks of a Dask cluster: a few at a time, submitted again where a worker dies, and to others where one hangs."""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mixjax.runs import ENVIRONMENT, RunError, Tell, differences, provenance

from ..configuration import work_of
from ..engine.program import HostArrays
from ..engine.self_test import check_backend
from ..engine.work import Work

if TYPE_CHECKING:
    from distributed import Client, Future

Names = tuple[str, ...]  # of the parts of a task
_LATE = 100  # of the tasks that were done last, times are kept
HANGING = 60.0, 10.0  # seconds, and times the median, after which a task is given to another worker too

_preparing = threading.Lock()


@contextmanager
def scheduler_there() -> Iterator[None]:
    """Turn the loss of a scheduler into a RunError."""
    try:
        yield
    except (CancelledError, OSError) as error:
        reason = type(error).__name__
        raise RunError(
            f"the scheduler is gone; finished work is kept, and the same command resumes from it ({reason})"
        ) from None


class Tasks:
    """The tasks that the workers compute now."""

    def __init__(
        self, client: Client, work: Work, layout: Mapping[str, int], environment: dict[str, str], warn: Tell = print
    ):
        self.client, self.warn = client, warn
        self.task = (work.study.name, json.dumps(work.stored_config), dict(layout), environment)
        self.running: dict[Names, list[Future]] = {}
        self.since: dict[Names, float] = {}
        self.took: list[float] = []
        self.computing: list[float] = []

    @property
    def seconds_of_a_part(self) -> float | None:
        """The median seconds of a worker for a recent part; None if no task is done."""
        return statistics.median(self.computing[-_LATE:]) if self.computing else None

    def submit(self, names: Names, **where: Any) -> None:
        """Submit parts to the cluster, once more if they were submitted before."""
        tries = self.running.setdefault(names, [])
        key = f"{self.task[0]}/{names[0]}/{len(tries)}/{time.monotonic_ns()}"
        tries.append(self.client.submit(compute_parts, self.task, names, key=key, pure=False, **where))
        self.since[names] = time.monotonic()

    def finished(self) -> list[tuple[str, HostArrays]]:
        """Return the parts that are done, after waiting at most 5 s; submit what takes too long to others too."""
        from distributed import wait

        futures = {future.key: (names, future) for names, tries in self.running.items() for future in tries}
        try:
            with self.client.as_current():  # no client is everybody's: xarray would take its locks from it
                done = wait([future for _, future in futures.values()], timeout=5, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            done = set()
        results: list[tuple[str, HostArrays]] = []
        for names, future in (futures[future.key] for future in done):
            parts = self._fetched(names, future) if names in self.running else None
            if parts is not None:
                results += zip(names, parts, strict=True)
                self.took = [*self.took[-_LATE:], time.monotonic() - self.since.pop(names)]
                del self.running[names]  # which lets go of every try
        self._help()
        return results

    def _fetched(self, names: Names, future: Future) -> list[HostArrays] | None:
        """Fetch the parts of a task; None if its worker does not respond, and then submit it to another."""
        try:
            done = _result(future, timeout=HANGING[0])
        except TimeoutError:
            holders = self.client.who_has([future]).get(future.key, ())
            self.running[names].remove(future)
            self._elsewhere(names, [worker for worker in self.client.nthreads() if worker not in holders])
            return None
        for remark in done.remarks:
            self.warn(f"a worker: {remark}")
        self.computing = [*self.computing[-_LATE:], done.seconds / len(names)]
        return done.parts

    def _help(self) -> None:
        """Submit hanging tasks to workers that do not have them."""
        limit = max(HANGING[0], HANGING[1] * statistics.median(self.took)) if self.took else float("inf")
        late = [names for names, since in self.since.items() if time.monotonic() - since > limit]
        if not late:
            return
        busy = self.client.processing()
        for names in late:
            keys = {future.key for future in self.running[names]}
            self._elsewhere(names, [worker for worker, has in busy.items() if not keys & set(has)])

    def _elsewhere(self, names: Names, workers: list[str]) -> None:
        """Submit parts to one of these workers, or to any new one if they are gone."""
        if workers:
            self.submit(names, workers=workers, allow_other_workers=True)
        elif not self.running[names]:
            self.submit(names)


class Done(NamedTuple):
    """The result of a task: its parts, warnings, and the seconds that they took to compute."""

    parts: list[HostArrays]
    remarks: list[str]
    seconds: float


def compute_parts(task: tuple[str, str, dict[str, int], dict[str, str]], names: Names) -> Done:
    """Compute parts of a run, on a worker of the same code and device as the others.

    Raises:
      RunError: on a worker of another version or device, or one that computes wrongly.
    """
    study, config, layout, environment = task
    with _preparing:  # once in a process, whatever the number of its threads
        made_with = worker_provenance()
        if found := differences(environment, {name: str(made_with[name]) for name in ENVIRONMENT}, "on the others"):
            raise RunError(f"a worker joined that differs from the others: {found}")
        check_backend()
        work, remarks = _work(study, config), list[str]()
        work.prepare(layout, remarks.append)
    started = time.perf_counter()
    parts = [work.part(name, layout, remarks.append) for name in names]
    return Done(parts, remarks, time.perf_counter() - started)


def has_code() -> None:
    """Do nothing: whoever can call this has the code."""


@lru_cache(maxsize=1)
def worker_provenance() -> dict[str, str | int]:
    """Return the provenance of a worker."""
    return provenance()


@lru_cache(maxsize=4)
def _work(study: str, config: str) -> Work:
    return work_of(study, **json.loads(config))


def _result(future: Future, timeout: float) -> Done:
    """Fetch the result of a task.

    Raises:
      RunError: if workers died over it.
      TimeoutError: if it does not arrive.
    """
    from distributed.scheduler import KilledWorker

    try:
        result: Done = future.result(timeout=timeout)
        return result
    except KilledWorker as error:
        raise RunError(
            f"every worker that took {error.task} died, perhaps out of memory; finished work is kept"
        ) from None
