"""The same units on more threads, devices and processes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.report import Section
from benchmarks.scaling.clusters import Local
from benchmarks.scaling.job import Job
from benchmarks.timing import interleaved
from mixjax.sims.engine.compute import compute, tiles_on_devices
from mixjax.sims.engine.devices import default_threads
from mixjax.sims.engine.units import plan
from mixjax.sims.engine.work import GridWork

THREADS, DEVICES, WORKERS = "threads of a process", "devices of a process", "Dask workers of one thread"


def parallel(job: Job, clusters: Mapping[int, Local], repetitions: int) -> Section:
    """How much faster more of each is than one."""
    cases = _in_process(job) | {(WORKERS, number): _on_workers(job, there) for number, there in clusters.items()}
    timings = interleaved(cases, repetitions)
    rows: list[dict[str, Any]] = [
        {"of": of, "number": number, "first_s": timing.first, "min_s": timing.min, "median_s": timing.median}
        | {"times_as_fast_as_one": timings[of, 1].median / timing.median}
        for (of, number), timing in timings.items()
    ]
    ratios = {f"{row['number']} {row['of']}": row["times_as_fast_as_one"] for row in rows if row["number"] > 1}
    work = job.work()
    text = (
        f"A phase diagram of {work.size(len(work.names(dataclasses.asdict(job.usual))))}, cut as the "
        f"engine does by default; results are thrown away. The first call compiles. One thread of a "
        f"process is more than one core: XLA gives it a part of a second, but to a worker of one thread it does not."
    )
    return Section("parallel", "Threads, devices, workers", text + ("" if clusters else " Without Dask."), rows, ratios)


def _in_process(job: Job) -> dict[tuple[str, int], Callable[[], Any]]:
    """By (what, number): threads on one device, up to as many as a run has, and devices up to what there is."""
    work = job.work()
    assert isinstance(work, GridWork)
    tiles = tiles_on_devices(work.experiment, work.grid, study="phase_diagram", seed=0, layout=job.usual)
    units = plan(work.grid, job.replicates, job.usual)

    def on(devices: int, threads: int) -> Callable[[], Any]:
        return lambda: len(list(compute(tiles[:devices], units, lambda *_: None, threads=threads)))

    threads = default_threads()
    cases = {(THREADS, number): on(1, number) for number in _doubled(threads)}
    several = _doubled(len(tiles)) if len(tiles) > 1 else []
    return cases | {(DEVICES, number): on(number, max(1, threads * number // len(tiles))) for number in several}


def _on_workers(job: Job, there: Local) -> Callable[[], Any]:
    work, layout = job.work(), dataclasses.asdict(job.usual)
    return lambda: len(list(there.cluster.compute(work, work.names(layout), layout, lambda *_: None)))


def _doubled(most: int) -> list[int]:
    """1, 2, 4, ..., and the most."""
    return sorted({2**power for power in range(most.bit_length()) if 2**power <= most} | {most})
