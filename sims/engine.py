"""The simulation engine: units of work, and one compiled program that all of them go through.

A unit is a range of cells and one block of replicates. Its draws are keyed by what they are (the study, the
block, and the values of the cell: `sample_scores`), and every cell is computed in a tile by the same program
for one device. Units are spread over threads and devices: their numbers are the same to the last bit in any
order, cut into any sizes, on any number of cores or devices, and after any restart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import jax

from sims.devices import default_threads
from sims.grid import Grid
from sims.program import BLOCK, Experiment, HostArrays
from sims.tiles import Tell, Tiles

MOST_CELLS = 2**16  # of a unit or a tile; a run is gone on with as it was cut, whoever cut it

Item = TypeVar("Item")
Result = TypeVar("Result")


class Unit(NamedTuple):  # of which there may be a million
    """Cells [start, stop) of one block of replicates."""

    start: int
    stop: int
    block: int
    replicates: int

    @property
    def name(self) -> str:
        return f"{self.start:09d}-{self.stop:09d}-{self.block:06d}"


@dataclass(frozen=True)
class Layout:
    """How work is cut: for speed, and for memory.

    Attributes:
      unit_cells: cells of a unit, at most; one result file each. Changes no number.
      tile_cells: cells that are scored together, a multiple of draw_cells; fewer where memory has no room for them,
        which changes no number on a CPU, and was not compared elsewhere (`sims.tiles`).
      draw_cells: cells that are drawn together. XLA may round differently where this differs; a run keeps what it was
        begun with, and a platform has one default.
    """

    unit_cells: int
    tile_cells: int
    draw_cells: int

    def __post_init__(self) -> None:
        numbers = (self.unit_cells, self.tile_cells, self.draw_cells)
        in_range = all(type(number) is int and 1 <= number <= MOST_CELLS for number in numbers)
        if not in_range or self.tile_cells % self.draw_cells:
            raise ValueError(f"cells must be 1 to {MOST_CELLS}, tile_cells a multiple of draw_cells, got {self}")


def layout_for(platform: str) -> Layout:
    """Small tiles that stay in a core's cache; on an accelerator, tiles that fill it, if memory has room for them."""
    return Layout(64, 8, 1) if platform == "cpu" else Layout(4096, 512, 512)


def plan(grid: Grid, replicates: int, layout: Layout) -> list[Unit]:
    """All units of a run, in order."""
    cells = grid.num_cells
    ends = [(start, min(start + layout.unit_cells, cells)) for start in range(0, cells, layout.unit_cells)]
    blocks = [(block, min(BLOCK, replicates - block * BLOCK)) for block in range(-(-replicates // BLOCK))]
    return [Unit(*range_, *block) for block in blocks for range_ in ends]


def tiles_on_devices(experiment: Experiment, grid: Grid, *, study: str, seed: int, layout: Layout) -> list[Tiles]:
    """Where the units of a grid are computed: one for each local device."""
    return [Tiles(experiment, grid, device, study=study, seed=seed, layout=layout) for device in jax.local_devices()]


def compute(
    tiles: Sequence[Tiles],
    units: Iterable[Unit],
    store: Callable[[Unit, HostArrays], None],
    *,
    threads: int | None = None,
    warn: Tell = print,
) -> Iterator[Unit]:
    """Compute the units on these devices, hand the moments of each to `store`, and yield it when it is stored.

    By default a CPU has a thread for each of its cores, and an accelerator two: one of them is served while the
    other brings in results.

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
        pool.shutdown(cancel_futures=True)


def _in_order(
    pool: Executor, function: Callable[[Item], Result], items: Iterable[Item], ahead: int
) -> Iterator[Result]:
    """Results in the order of the items, of which no more than `ahead` are waiting at a time."""
    waiting: deque[Future[Result]] = deque()
    for item in items:
        waiting.append(pool.submit(function, item))
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
