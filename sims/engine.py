"""The simulation engine: units of work, and one compiled program that all of them go through.

A unit is a range of cells and one block of replicates. Its draws are keyed by what they are (the study, the
block, and the values of the cell: `sample_scores`), and every cell is computed in a tile of fixed shape by the same
program for one device. Units are spread over threads and devices: their numbers are the same to the last bit in any
order, cut into any sizes, on any number of cores or devices, and after any restart.
"""

from __future__ import annotations

import os
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import SingleDeviceSharding

from sims.grid import Grid
from sims.moments import moments_of

BLOCK = 1000  # replicates that share a key; part of what the numbers are
TILES = 8  # of a call of the program, at most
MOST_CELLS = 2**16  # of a unit or a tile; a run is gone on with as it was cut, whoever cut it

Arrays = dict[str, jax.Array]
HostArrays = dict[str, np.ndarray]
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Experiment:
    """What is computed in a cell: two functions of arrays whose first axis is cells and whose last is replicates.

    Attributes:
      sample: (key, cells, settings, replicates) -> any pytree: the random part.
      score: (that pytree, settings) -> named values, of shape [cells, replicates] or [cells, settings, replicates].
        NaN marks a degenerate replicate, which is left out of the moments and not counted.
    """

    sample: Callable[[jax.Array, Arrays, Arrays, int], Any]
    score: Callable[[Any, Arrays], Arrays]


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
    """How work is cut: for speed. The first changes no number; the others may change the last digit of one.

    Attributes:
      unit_cells: cells of a unit, at most; one result file each.
      tile_cells: cells that are scored together, a multiple of draw_cells.
      draw_cells: cells that are drawn together. XLA may round differently where the shapes of a program differ; a
        run keeps what it was begun with, and a platform has one default.
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
    """Small tiles that stay in a core's cache; on an accelerator, tiles that fill it."""
    return Layout(64, 8, 1) if platform == "cpu" else Layout(4096, 512, 512)


def plan(grid: Grid, replicates: int, layout: Layout) -> list[Unit]:
    """All units of a run, in order."""
    cells = grid.num_cells
    ends = [(start, min(start + layout.unit_cells, cells)) for start in range(0, cells, layout.unit_cells)]
    blocks = [(block, min(BLOCK, replicates - block * BLOCK)) for block in range(-(-replicates // BLOCK))]
    return [Unit(*range_, *block) for block in blocks for range_ in ends]


def compute(
    experiment: Experiment,
    grid: Grid,
    units: Iterable[Unit],
    store: Callable[[Unit, HostArrays], None],
    *,
    study: str,
    seed: int,
    layout: Layout,
    threads: int | None = None,
) -> Iterator[Unit]:
    """Compute the units on all local devices, hand the moments of each to `store`, and yield it when it is stored.

    By default a CPU has a thread for each of its cores, and an accelerator two: one of them is served while the
    other brings in results.
    """
    devices = jax.local_devices()
    threads = threads or default_threads()
    origin = _origin(study, seed)
    pool = ThreadPoolExecutor(threads)
    try:
        programs = list(pool.map(lambda device: program_for(experiment, layout, grid, device), devices))

        def finished(numbered: tuple[int, Unit]) -> Unit:
            number, unit = numbered
            store(unit, _moments(programs[number % len(programs)], origin, grid, unit, layout))
            return unit

        yield from _in_order(pool, finished, enumerate(units), ahead=2 * threads)
    finally:
        pool.shutdown(cancel_futures=True)


def compute_unit(
    experiment: Experiment, grid: Grid, unit: Unit, device: jax.Device, *, study: str, seed: int, layout: Layout
) -> HostArrays:
    """The moments of one unit, on one device; its program is compiled once in a process."""
    return _moments(program_for(experiment, layout, grid, device), _origin(study, seed), grid, unit, layout)


def _origin(study: str, seed: int) -> np.ndarray:
    return np.array([seed, zlib.crc32(study.encode())], np.uint32)


def default_threads() -> int:
    """A thread for each core of a CPU, and two for each accelerator."""
    devices = jax.local_devices()
    return usable_cores() if devices[0].platform == "cpu" else 2 * len(devices)


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


def _moments(program: Callable[..., Arrays], origin: np.ndarray, grid: Grid, unit: Unit, layout: Layout) -> HostArrays:
    """The moments of the unit's cells, computed in calls of at most TILES tiles."""
    settings = {name: np.asarray(values, np.float32) for name, values in grid.settings.items()}
    step = TILES * layout.tile_cells
    parts: dict[str, list[np.ndarray]] = {}
    for start in range(unit.start, unit.stop, step):
        number = min(step, unit.stop - start)
        cells = {name: _padded(values[start : start + number], layout) for name, values in grid.cells.items()}
        size = np.array([unit.block, unit.replicates, -(-number // layout.tile_cells)], np.int32)
        for name, moment in program(origin, size, settings, cells).items():
            parts.setdefault(name, []).append(np.asarray(moment).reshape(-1, *moment.shape[2:])[:number])
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}


def _padded(values: np.ndarray, layout: Layout) -> np.ndarray:
    padded = np.pad(values, (0, TILES * layout.tile_cells - len(values)), mode="edge")
    return padded.astype(np.float32).reshape(TILES, layout.tile_cells)


def program_for(experiment: Experiment, layout: Layout, grid: Grid, device: jax.Device) -> Callable[..., Arrays]:
    """The program of all units of a grid for one device, compiled when it is first asked for."""
    settings = tuple((name, len(values)) for name, values in grid.settings.items())
    return _program(experiment, layout.tile_cells, layout.draw_cells, tuple(grid.cells), settings, device)


@lru_cache(maxsize=64)
def _program(
    experiment: Experiment,
    tile_cells: int,
    draw_cells: int,
    cells: tuple[str, ...],
    settings: tuple[tuple[str, int], ...],
    device: jax.Device,
) -> Callable[..., Arrays]:
    """(origin: seed and study; size: block, replicates, tiles; settings; cells) -> moments, one tile after another.

    The number of tiles is data, so that XLA cannot fit the program to it.
    """

    def program(origin: jax.Array, size: jax.Array, settings: Arrays, cells: Arrays) -> Arrays:
        key = jax.random.key(origin[0], impl="threefry2x32")
        key = jax.random.fold_in(jax.random.fold_in(key, origin[1]), size[0])

        def of_tile(index: jax.Array) -> Arrays:
            tile = {name: lax.dynamic_index_in_dim(all_, index, keepdims=False) for name, all_ in cells.items()}
            return _tile_moments(experiment, draw_cells, key, size[1], settings, tile)

        def next_tile(index: jax.Array, moments: Arrays) -> Arrays:
            tile = of_tile(index)
            return {n: lax.dynamic_update_index_in_dim(moments[n], tile[n], index, 0) for n in tile}

        shapes = jax.eval_shape(of_tile, jax.ShapeDtypeStruct((), np.int32))
        nothing = {name: jnp.zeros((TILES, *moment.shape), moment.dtype) for name, moment in shapes.items()}
        return lax.fori_loop(jnp.int32(0), size[2], next_tile, nothing)

    def of(shape: tuple[int, ...], dtype: Any = np.float32) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=SingleDeviceSharding(device))

    arguments = (
        of((2,), np.uint32),
        of((3,), np.int32),
        {name: of((length,)) for name, length in settings},
        {name: of((TILES, tile_cells)) for name in cells},
    )
    # Cores are kept busy by units: operations that are cut into threads of their own would round by their number.
    options: dict[str, str | bool] | None = {"xla_cpu_multi_thread_eigen": False} if device.platform == "cpu" else None
    return jax.jit(program).lower(*arguments).compile(compiler_options=options)


def _tile_moments(
    experiment: Experiment, draw_cells: int, key: jax.Array, replicates: jax.Array, settings: Arrays, tile: Arrays
) -> Arrays:
    groups = {name: values.reshape(-1, draw_cells) for name, values in tile.items()}
    drawn = lax.map(lambda group: experiment.sample(key, group, settings, BLOCK), groups)
    drawn = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), drawn)
    wanted = jnp.arange(BLOCK, dtype=jnp.int32) < replicates
    moments: Arrays = {}
    for name, values in experiment.score(drawn, settings).items():
        moments |= moments_of(name, values, wanted)
    return moments
