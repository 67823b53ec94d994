"""Units of work on threads and devices.

Their numbers are the same to the last bit in any order, cut into any sizes, on any number of cores or devices, and
after any restart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import TypeVar

import jax

from mixjax.runs import Tell

from ..grid import Grid
from .devices import default_threads
from .program import Experiment, HostArrays
from .tiles import Tiles
from .units import Layout, Unit

Item = TypeVar("Item")
Result = TypeVar("Result")


def tiles_on_devices(experiment: Experiment, grid: Grid, *, study: str, seed: int, layout: Layout) -> list[Tiles]:
    """Return the tiles of a grid, for each local device."""
    return [Tiles(experiment, grid, device, study=study, seed=seed, layout=layout) for device in jax.local_devices()]


def compute(
    tiles: Sequence[Tiles],
    units: Iterable[Unit],
    store: Callable[[Unit, HostArrays], None],
    *,
    threads: int | None = None,
    warn: Tell = print,
) -> Iterator[Unit]:
    """Compute units on the devices, hand the moments of each to `store`, and yield each unit when it is stored.

    By default a CPU has a thread for each core, and an accelerator two: one computes while the other fetches results.

    Raises:
      RunError: if memory has no room for one cell.
    """
    threads = threads or default_threads()
    pool = ThreadPoolExecutor(threads)
    try:
        list(pool.map(lambda device: device.prepare(warn), tiles))

        def finished(numbered: tuple[int, Unit]) -> Unit:
            number, unit = numbered
            store(unit, tiles[number % len(tiles)].moments(unit, warn))
            return unit

        yield from _in_order(pool, finished, enumerate(units), ahead=2 * threads)
    finally:
        pool.shutdown(cancel_futures=True)  # at Ctrl-C too: units in progress are finished, others dropped


def _in_order(
    pool: Executor, function: Callable[[Item], Result], items: Iterable[Item], ahead: int
) -> Iterator[Result]:
    """Yield the results in the order of the items, at most `ahead` of which wait at a time."""
    waiting: deque[Future[Result]] = deque()
    for item in items:
        waiting.append(pool.submit(function, item))
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
