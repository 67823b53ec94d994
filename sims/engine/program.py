"""The compiled program that computes all units of a grid, on one device.

It computes cells in tiles of fixed shape, one after another. The number of tiles is data: the same program serves units
and grids of every size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import SingleDeviceSharding

from .moments import moments_of

BLOCK = 1000  # replicates that share a key; part of what the numbers are
TILES = 8  # of a call of the program, at most

Arrays = dict[str, jax.Array]
HostArrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Experiment:
    """Two functions of arrays whose first axis is cells and whose last is replicates: draw, then score.

    Attributes:
      sample: (key, cells, settings, replicates) -> any pytree: the random part.
      score: (that pytree, settings) -> named values, of shape [cells, replicates] or [cells, settings, replicates].
        NaN marks a degenerate replicate, which is left out of the moments and not counted.
    """

    sample: Callable[[jax.Array, Arrays, Arrays, int], Any]
    score: Callable[[Any, Arrays], Arrays]


class Program(NamedTuple):
    """A program that is compiled for tiles of one size.

    Attributes:
      call: (origin: seed and study; size: block, replicates, tiles; settings; cells) -> moments.
      bytes: of memory that a call takes, by XLA's own account; 0 where it gives none.
    """

    call: Callable[..., Arrays]
    bytes: int


@lru_cache(maxsize=64)
def compiled(
    experiment: Experiment,
    tile_cells: int,
    draw_cells: int,
    cells: tuple[str, ...],
    settings: tuple[tuple[str, int], ...],
    device: jax.Device,
) -> Program:
    """Compile the program for these cells and numbers of settings; it computes one tile after another."""

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
        return lax.fori_loop(jnp.int32(0), size[2], next_tile, nothing)  # data: XLA cannot fit the program to it

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
    call = jax.jit(program).lower(*arguments).compile(compiler_options=options)
    return Program(call, _bytes_of(call))


def _bytes_of(call: jax.stages.Compiled) -> int:
    """Return the bytes of scratch, results and arguments."""
    taken = call.memory_analysis()
    parts = ("temp_size_in_bytes", "output_size_in_bytes", "argument_size_in_bytes")
    return sum(int(getattr(taken, part, 0)) for part in parts)


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
