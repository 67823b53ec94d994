"""The simulation engine: units of work, one compiled program, streaming moments.

A unit is a range of cells and one block of replicates. Its draws are keyed by what they are (the study, the
block, and the values of the cell: `sample_scores`), and every cell is computed in a tile of fixed shape, so that
a unit's numbers are the same to the last bit in any order, with any number of devices, and after any restart.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as Spec

from mixjax.runs import RunDirectory
from sims.grid import Grid

BLOCK = 1000  # replicates that share a key; part of what the numbers are

Arrays = dict[str, jax.Array]


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


@dataclass(frozen=True)
class Unit:
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
    """How work is cut: for speed. The first two change no number; the last may change the last digit of one.

    Attributes:
      unit_cells: cells of a unit, at most; one result file each.
      tile_cells: cells that are scored together, a multiple of draw_cells.
      draw_cells: cells that are drawn together. Drawing one, several or all of a tile at a time are programs in
        which XLA rounds differently; a run keeps what it was begun with, and a platform has one default.
    """

    unit_cells: int
    tile_cells: int
    draw_cells: int


def layout_for(platform: str) -> Layout:
    """Small tiles that stay in a core's cache; on an accelerator, tiles that fill it."""
    return Layout(256, 8, 1) if platform == "cpu" else Layout(4096, 512, 512)


def prepare_devices() -> None:
    """One host device a core, unless JAX has started or was told otherwise: one device keeps one core busy."""
    if "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", ""):
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(RuntimeError):  # JAX has started: its devices are what there is
        jax.config.update("jax_num_cpu_devices", cores)


def plan(grid: Grid, replicates: int, layout: Layout) -> list[Unit]:
    """All units of a run, in order."""
    return [
        Unit(start, min(start + layout.unit_cells, grid.num_cells), block, min(BLOCK, replicates - block * BLOCK))
        for block in range(-(-replicates // BLOCK))
        for start in range(0, grid.num_cells, layout.unit_cells)
    ]


def compute(
    run: RunDirectory, experiment: Experiment, grid: Grid, units: list[Unit], *, study: str, seed: int, layout: Layout
) -> Iterator[Unit]:
    """Compute and store the units, yielding each when it is on disk; the next is under way meanwhile."""
    program = _program(experiment, layout)
    root = jax.random.fold_in(jax.random.key(seed, impl="threefry2x32"), zlib.crc32(study.encode()))
    pending: tuple[Unit, Any] | None = None
    for unit in [*units, None]:
        started = (unit, program(root, unit, grid)) if unit is not None else None
        if pending is not None:
            run.write(pending[0].name, _trimmed(*pending))
            yield pending[0]
        pending = started


@lru_cache(maxsize=8)
def _program(experiment: Experiment, layout: Layout) -> Callable[[jax.Array, Unit, Grid], Arrays]:
    """(root key, unit, grid) -> moments of the unit's cells, still padded to whole tiles."""
    devices = np.asarray(jax.local_devices())
    mesh = Mesh(devices, ("devices",), axis_types=(AxisType.Auto,))
    tiles = -(-layout.unit_cells // layout.tile_cells)
    tiles += -tiles % len(devices)

    @jax.jit
    @partial(
        jax.shard_map,
        mesh=mesh,
        in_specs=(Spec(), Spec(), Spec(), Spec("devices")),
        out_specs=Spec("devices"),
        check_vma=False,
    )
    def compiled(key: jax.Array, replicates: jax.Array, settings: Arrays, cells: Arrays) -> Arrays:
        return lax.map(lambda tile: _tile_moments(experiment, layout, key, replicates, settings, tile), cells)

    def padded(values: np.ndarray, unit: Unit) -> jax.Array:
        part = values[unit.start : unit.stop]
        part = np.pad(part, (0, tiles * layout.tile_cells - len(part)), mode="edge")
        tiled = part.astype(np.float32).reshape(tiles, layout.tile_cells)
        return jax.device_put(tiled, NamedSharding(mesh, Spec("devices")))

    def program(root: jax.Array, unit: Unit, grid: Grid) -> Arrays:
        cells = {name: padded(values, unit) for name, values in grid.cells.items()}
        settings = {name: jnp.asarray(np.asarray(values, np.float32)) for name, values in grid.settings.items()}
        return compiled(jax.random.fold_in(root, unit.block), jnp.int32(unit.replicates), settings, cells)

    return program


def _tile_moments(
    experiment: Experiment, layout: Layout, key: jax.Array, replicates: jax.Array, settings: Arrays, tile: Arrays
) -> Arrays:
    groups = {name: values.reshape(-1, layout.draw_cells) for name, values in tile.items()}
    drawn = lax.map(lambda group: experiment.sample(key, group, settings, BLOCK), groups)
    drawn = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), drawn)
    wanted = jnp.arange(BLOCK, dtype=jnp.int32) < replicates
    moments = {}
    for name, values in experiment.score(drawn, settings).items():
        keep = jnp.isfinite(values) & wanted.reshape((1,) * (values.ndim - 1) + (BLOCK,))
        count = jnp.sum(keep, axis=-1, dtype=jnp.int32)
        mean = jnp.sum(jnp.where(keep, values, 0.0), axis=-1) / jnp.maximum(count, 1).astype(values.dtype)
        moments[f"{name}.count"] = count
        moments[f"{name}.mean"] = mean
        moments[f"{name}.m2"] = jnp.sum(jnp.where(keep, values - mean[..., None], 0.0) ** 2, axis=-1)
    return moments


def _trimmed(unit: Unit, moments: Arrays) -> dict[str, np.ndarray]:
    """The unit's own cells, on the host."""
    return {name: np.asarray(a).reshape(-1, *a.shape[2:])[: unit.stop - unit.start] for name, a in moments.items()}


@dataclass(frozen=True)
class Moments:
    """Replicates, mean and sum of squared deviations of a value, in float64, with a leading axis of cells."""

    count: np.ndarray
    mean: np.ndarray
    m2: np.ndarray

    def merge(self, other: Moments) -> Moments:
        """Those of both samples together (Chan, Golub and LeVeque 1979)."""
        count = self.count + other.count
        part = np.divide(other.count, count, out=np.zeros_like(self.mean), where=count > 0)
        delta = other.mean - self.mean
        return Moments(count, self.mean + delta * part, self.m2 + other.m2 + delta**2 * self.count * part)

    @property
    def standard_deviation(self) -> np.ndarray:
        return np.sqrt(np.divide(self.m2, self.count - 1, out=np.full_like(self.m2, np.nan), where=self.count > 1))

    @property
    def standard_error(self) -> np.ndarray:
        return self.standard_deviation / np.sqrt(np.maximum(self.count, 1))


def collect(run: RunDirectory, units: list[Unit]) -> dict[str, Moments]:
    """The moments of every value over all blocks, cells in order; blocks are merged in order, in float64."""
    blocks: dict[int, list[dict[str, np.ndarray]]] = {}
    for unit in units:
        blocks.setdefault(unit.block, []).append(run.read(unit.name))
    merged: dict[str, Moments] = {}
    for block in sorted(blocks):
        shards = blocks[block]
        for name in (key.removesuffix(".mean") for key in shards[0] if key.endswith(".mean")):
            parts = (np.concatenate([shard[f"{name}.{kind}"] for shard in shards]) for kind in ("count", "mean", "m2"))
            moments = Moments(*(part.astype(np.float64) for part in parts))
            merged[name] = merged[name].merge(moments) if name in merged else moments
    return merged


def empty_means_as_nan(moments: Mapping[str, Moments]) -> dict[str, np.ndarray]:
    """The means, NaN where every replicate was degenerate."""
    return {name: np.where(m.count > 0, m.mean, np.nan) for name, m in moments.items()}
