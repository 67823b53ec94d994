"""Sums over bins that do not drift.

A float32 running sum stops growing at 2^24 terms (jax-ml and peers return 0 for an error of 1/4 at 2^25 rows). Here
every bin has up to 2048 partial sums a block of rows, which are added in a tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mixjax.calibration.rows.sums import Pair, added

Columns = TypeVar("Columns")

FEW = 64  # bins up to which comparing with every edge is the fastest
_LANES = 2048  # partial sums of a bin, at most
_STREAMS = 64  # that rows are cut into, from the first to the last; a power of two
_TURNS = 32  # values that are added one after another
_MOST_TURNS = 4096  # and with many bins, in two parts
_MOST_SUMS = 1 << 22  # of partial sums: with very many bins there are fewer streams


def sum_by_bin(index: jax.Array, values: jax.Array, num_bins: int) -> jax.Array:
    """Return the sum of `values` in each bin; see `sums_by_bin`."""
    return sums_by_bin((index, values), lambda columns: columns, num_bins)[0]


def sums_by_bin(
    columns: Columns, bin_values: Callable[[Columns], tuple[jax.Array, ...]], num_bins: int
) -> tuple[jax.Array, ...]:
    """Return the sums in each bin of values of the rows, right to 5e-7 of the absolute sum at 1e8 rows.

    `bin_values` turns `columns`, a pytree of arrays [N], into a tuple of bins and values, a block of rows at a time:
    nothing of the size of the rows is written. Equal values round alike: runs of additions are short (`_TURNS`), or
    with many bins in two parts of which equal ones add exactly (`_parts`); the rest is added in a tree, and blocks as
    pairs of floats. Rows are in `_STREAMS` streams of neighbors, if that divides their number, so that what is
    sharded over as many devices, or fewer, is added where it is.
    """
    scattered = partial(_scattered, bin_values, num_bins)
    if num_bins > FEW:
        return scattered(columns)
    compared = partial(_compared, bin_values, num_bins)
    return lax.platform_dependent(columns, cpu=scattered, default=compared)  # few targets stall a GPU's atomics


def _scattered(
    bin_values: Callable[[Columns], tuple[jax.Array, ...]], num_bins: int, columns: Columns
) -> tuple[jax.Array, ...]:
    """Add in streams, lanes and blocks of rows, as `sums_by_bin` describes."""
    rows = len(jax.tree.leaves(columns)[0])
    count = math.gcd(rows, min(_STREAMS, max(1, _MOST_SUMS // _power_of_two(num_bins))))
    streams = jax.tree.map(lambda column: column.reshape(count, -1), columns)  # no copy: that would cost the most
    lanes = max(1, min(_LANES, (1 << 18) // num_bins) // count)
    turns = min(max(_TURNS, num_bins // 4), _MOST_TURNS)  # many bins are worth it to add more rows to each zero
    width = lanes * turns  # rows of a stream that a block has
    blocks = max(0, rows // count - 1) // width  # the rest is never empty: sums of nothing would not vary by device

    def block_sums(block: Columns) -> list[tuple[jax.Array, jax.Array | None]]:
        index, *values = bin_values(block)
        parts = [_parts(value) if turns > _TURNS else (value,) for value in values]
        sums = [[_sum_of_block(index, part, num_bins, lanes) for part in both] for both in parts]
        return [(both[0], both[1] if len(both) > 1 else None) for both in sums]

    def add(k: jax.Array, sums: list[Pair]) -> list[Pair]:
        block = jax.tree.map(lambda stream: lax.dynamic_slice_in_dim(stream, k * width, width, axis=1), streams)
        return [added(sofar, new) for sofar, new in zip(sums, block_sums(block), strict=True)]

    rest = block_sums(jax.tree.map(lambda stream: stream[:, blocks * width :], streams))
    sums = [(high, 0 * high if low is None else low) for high, low in rest]
    if blocks:
        sums = lax.fori_loop(0, blocks, add, sums)
    return tuple(_halved(high + low, 0)[0] for high, low in sums)


def _compared(
    bin_values: Callable[[Columns], tuple[jax.Array, ...]], num_bins: int, columns: Columns
) -> tuple[jax.Array, ...]:
    """Add by comparing each row with each bin."""
    index, *values = bin_values(columns)
    here = index[None] == jnp.arange(num_bins, dtype=np.int32)[:, None]
    sums = (jnp.where(here, value[None], jnp.zeros((), value.dtype)) for value in values)
    return tuple(jnp.sum(part, axis=1, dtype=part.dtype) for part in sums)


def _parts(values: jax.Array) -> tuple[jax.Array, ...]:
    """Split floats into the 12 digits of which 4096 equal ones are added exactly, and a rest 4096 times smaller."""
    if values.dtype != np.float32:
        return (values,)
    high = lax.reduce_precision(values, exponent_bits=8, mantissa_bits=11)
    return high, values - high


def _power_of_two(number: int) -> int:
    """Return the smallest power of two that is at least a number."""
    return 1 << (number - 1).bit_length()


def _sum_of_block(index: jax.Array, values: jax.Array, num_bins: int, most_lanes: int) -> jax.Array:
    """Add each stream lane by lane (a power of two of them), then the lanes two by two; shape [streams, bins]."""
    lanes = _power_of_two(min(most_lanes, -(-values.shape[1] // _TURNS) or 1))
    target = index + num_bins * (lax.iota(np.int32, values.shape[1]) % lanes)[None]
    sums = jax.vmap(lambda i, v: jnp.zeros(lanes * num_bins, v.dtype).at[i].add(v))(target, values)
    return _halved(sums.reshape(-1, lanes, num_bins), 1)[:, 0]


def _halved(sums: jax.Array, axis: int) -> jax.Array:
    """Return the sum along an axis, a power of two long, by adding halves; the axis stays, with length 1."""
    while sums.shape[axis] > 1:
        first, second = jnp.split(sums, 2, axis=axis)
        sums = first + second
    return sums
