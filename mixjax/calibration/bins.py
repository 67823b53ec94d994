r"""Bins of confidence: their edges, the bin of a score, and sums over bins that do not drift.

Equal-width edges are k/M, correctly rounded in the dtype of the confidences; [l, r) with the last bin closed, or
(l, r] with the first closed. Equal-mass bins hold about N/M rows each and never split ties: the bin of a score is
floor(M * rank of its first copy / N).

A float32 running sum stops growing at 2^24 terms (jax-ml and peers return 0 for an error of 1/4 at 2^25 rows).
Here every bin has up to 2048 partial sums a block of rows, which are added in a tree, and one sum of residuals replaces
those of confidence and of correctness, whose difference would cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeVar, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mixjax._arguments import check_size
from mixjax.calibration.order import sorted_rows, tie_ranks
from mixjax.calibration.rows import Rows
from mixjax.calibration.selection import order_statistics
from mixjax.calibration.sums import Pair, Prefix, added, floor_product, total

Binning = Literal["equal-width", "equal-mass"]
Closed = Literal["left", "right"]
Columns = TypeVar("Columns")

_LANES = 2048  # partial sums of a bin, at most
_STREAMS = 64  # that rows are cut into, from the first to the last; a power of two
_TURNS = 32  # values that are added one after another
_MOST_TURNS = 4096  # and with many bins, in two parts
_PLACES = 1 << 22  # of partial sums: with very many bins there are fewer streams
_MANY = 1 << 14  # rows from which on selecting edges of equal mass is faster than sorting
_FEW = 64  # bins up to which comparing with every edge is the fastest


class BinSums(NamedTuple):
    """For each bin: how many rows (int32) or their weight, and the sum of weight * (correct - confidence).

    `total` is the mass of all bins, added where the sums are made: an error that needs no more costs no other pass.
    """

    mass: jax.Array
    residual: jax.Array
    total: jax.Array


def check_bins(num_bins: int, binning: str = "equal-width", closed: str = "left") -> int:
    """The number of bins; TypeError or ValueError for options that are not."""
    num_bins = check_size("num_bins", num_bins)
    if num_bins > 1 << 20:
        raise ValueError(f"num_bins must be at most {1 << 20}, got {num_bins}")
    for name, value, known in (("binning", binning, Binning), ("closed", closed, Closed)):
        if value not in get_args(known):
            raise ValueError(f"{name} must be one of {get_args(known)}, got {value!r}")
    return num_bins


def equal_width_edges(num_bins: int, dtype: np.dtype) -> np.ndarray:
    """k/M for k = 0..M, each the nearest number of the dtype (a float64 quotient rounds to the same float32)."""
    return (np.arange(num_bins + 1) / num_bins).astype(dtype)


def equal_width_index(confidence: jax.Array, num_bins: int, closed: Closed) -> jax.Array:
    """The bin of each score in [0, 1], int32; 0 for NaN."""
    edges = equal_width_edges(num_bins, np.dtype(confidence.dtype))
    if num_bins <= _FEW:
        return index_among(confidence, [edge for edge in edges[1:-1]], closed)
    guess = jnp.clip(jnp.floor(confidence * num_bins), 0, num_bins - 1).astype(np.int32)  # off by one at most
    low, high = jnp.asarray(edges)[guess], jnp.asarray(edges)[guess + 1]
    below, above = (
        (confidence < low, confidence >= high) if closed == "left" else (confidence <= low, confidence > high)
    )
    return jnp.clip(guess + above.astype(np.int32) - below.astype(np.int32), 0, num_bins - 1)


def index_among(confidence: jax.Array, inner: list[jax.Array | np.ndarray], closed: Closed = "left") -> jax.Array:
    """How many of the inner edges are at or below (closed="right": strictly below) each score."""
    index = jnp.zeros(confidence.shape, np.int32)
    for edge in inner:
        index += (confidence >= edge if closed == "left" else confidence > edge).astype(np.int32)
    return index


def share_index(rank: Prefix, total: Prefix, num_bins: int) -> jax.Array:
    """floor(M rank / total), at most M - 1; exact for int32, whose product may not be formed.

    A rank of floats that is below a border by less than 2^-34 of it, as rounding leaves it, is on it (up to 4096 bins).
    """
    if len(rank) == 1:
        return jnp.searchsorted(_share_starts(total[0], num_bins), rank[0], side="right").astype(np.int32)

    def product(k: jax.Array, sums: Prefix) -> Pair:
        half = jnp.finfo(k.dtype).nmant // 2
        high = lax.reduce_precision(sums[0], jnp.finfo(k.dtype).nexp, half)  # its product with k is exact
        return k * high, k * (sums[0] - high) + k * sums[1]

    def reached(k: jax.Array) -> jax.Array:
        mass, border = product(jnp.full_like(k, num_bins), rank), product(k, total)
        return (mass[0] - border[0]) + (mass[1] - border[1]) >= -(2.0**-34) * border[0]

    k = jnp.floor(rank[0] / jnp.where(total[0] > 0, total[0], 1.0) * num_bins)  # off by one at most
    k = jnp.where(reached(k + 1), k + 1, jnp.where(reached(k), k, k - 1))
    return jnp.clip(k, 0, num_bins - 1).astype(np.int32)


def _share_starts(total: jax.Array, num_bins: int) -> jax.Array:
    """The rank from which on floor(M rank / total) >= k, for k = 1..M-1: ceil(k total / M)."""
    total = jnp.maximum(total, 1)
    k = jnp.arange(1, num_bins, dtype=np.int32)
    floor, more = floor_product(k, total % num_bins, jnp.int32(num_bins))
    return k * (total // num_bins) + floor + more


def sum_by_bin(index: jax.Array, values: jax.Array, num_bins: int) -> jax.Array:
    """The sum of `values` in each bin; see `sums_by_bin`."""
    return sums_by_bin((index, values), lambda columns: columns, num_bins)[0]


def sums_by_bin(
    columns: Columns, place: Callable[[Columns], tuple[jax.Array, ...]], num_bins: int
) -> tuple[jax.Array, ...]:
    """Sums in each bin of what each row becomes, right to 5e-7 of the absolute sum at 1e8 rows, whatever the values.

    `columns` is a pytree of arrays [N], and `place` makes of it, entry by entry, the bins and then the values. It is
    called on blocks of rows, so that nothing of the size of the rows is written.

    Equal values round alike: what is added one after another is kept short (`_TURNS`), or with many bins in two parts
    of which equal ones add exactly (`_parts`); what then remains is added in a tree, and the sums of blocks of rows as
    pairs of floats. Rows are in streams of neighbours, `_STREAMS` where their number is a multiple of it, so that what
    is sharded over as many devices, or fewer, is added where it is.
    """

    def scattered(columns: Columns) -> tuple[jax.Array, ...]:
        rows = len(jax.tree.leaves(columns)[0])
        count = math.gcd(rows, min(_STREAMS, max(1, _PLACES // _power_of_two(num_bins))))
        streams = jax.tree.map(lambda column: column.reshape(count, -1), columns)  # no copy: that would cost the most
        lanes = max(1, min(_LANES, (1 << 18) // num_bins) // count)
        turns = min(max(_TURNS, num_bins // 4), _MOST_TURNS)  # many bins are worth it to add more rows to each zero
        width = lanes * turns  # rows of a stream that a block has
        blocks = max(0, rows // count - 1) // width  # the rest is never empty: sums of nothing would not vary by device

        def block_sums(block: Columns) -> list[tuple[jax.Array, jax.Array | None]]:
            index, *values = place(block)
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

    def compared(columns: Columns) -> tuple[jax.Array, ...]:
        index, *values = place(columns)
        here = index[None] == jnp.arange(num_bins, dtype=np.int32)[:, None]
        sums = (jnp.where(here, value[None], jnp.zeros((), value.dtype)) for value in values)
        return tuple(jnp.sum(part, axis=1, dtype=part.dtype) for part in sums)

    if num_bins > _FEW:
        return scattered(columns)
    return lax.platform_dependent(columns, cpu=scattered, default=compared)  # few targets stall a GPU's atomics


def _parts(values: jax.Array) -> tuple[jax.Array, ...]:
    """Floats as the 12 digits of which 4096 equal ones are added exactly, and a rest that is 4096 times smaller."""
    if values.dtype != np.float32:
        return (values,)
    high = lax.reduce_precision(values, exponent_bits=8, mantissa_bits=11)
    return high, values - high


def _power_of_two(number: int) -> int:
    """The smallest that is not below it."""
    return 1 << (number - 1).bit_length()


def _sum_of_block(index: jax.Array, values: jax.Array, num_bins: int, most_lanes: int) -> jax.Array:
    """For each stream, lane by lane (a power of two of them), then the lanes two by two; shape [streams, bins]."""
    lanes = _power_of_two(min(most_lanes, -(-values.shape[1] // _TURNS) or 1))
    place = index + num_bins * (lax.iota(np.int32, values.shape[1]) % lanes)[None]
    sums = jax.vmap(lambda i, v: jnp.zeros(lanes * num_bins, v.dtype).at[i].add(v))(place, values)
    return _halved(sums.reshape(-1, lanes, num_bins), 1)[:, 0]


def _halved(sums: jax.Array, axis: int) -> jax.Array:
    """The sum along an axis, a power of two long, by adding halves; the axis stays, with length 1."""
    while sums.shape[axis] > 1:
        first, second = jnp.split(sums, 2, axis=axis)
        sums = first + second
    return sums


def bin_sums(rows: Rows, num_bins: int, binning: Binning, closed: Closed) -> BinSums:
    """Counts and residuals of rows that need not be clean."""
    rows = rows.in_units()
    mass, residual = sums_of_rows(rows, num_bins, binning, closed, lambda rows: (rows.counted, rows.residual))
    return BinSums(mass, residual, total(rows.clean_block().counted))


def sums_of_rows(
    rows: Rows, num_bins: int, binning: Binning, closed: Closed, values: Callable[[Rows], tuple[jax.Array, ...]]
) -> tuple[jax.Array, ...]:
    """Sums in each bin of `values` of clean rows, entry by entry; the rows given need not be clean, but in units."""

    def of_equal_width(rows: Rows) -> tuple[jax.Array, ...]:
        rows = rows.clean_block()
        return equal_width_index(rows.confidence, num_bins, closed), *values(rows)

    if binning == "equal-width":
        return sums_by_bin(rows, of_equal_width, num_bins)
    return sums_by_bin(
        binned(rows.clean_block(), num_bins, binning, closed), lambda found: (found[1], *values(found[0])), num_bins
    )


def binned(rows: Rows, num_bins: int, binning: Binning, closed: Closed) -> tuple[Rows, jax.Array]:
    """Clean rows, sorted if need be, and the bin of each."""
    if binning == "equal-width":
        return rows, equal_width_index(rows.confidence, num_bins, closed)
    many, plain = len(rows.confidence) >= _MANY, rows.weights is None and rows.confidence.dtype == jnp.float32
    if many and plain and 1 < num_bins <= _FEW:
        return rows, _equal_mass_index(rows, num_bins)
    ordered = sorted_rows(rows)
    return ordered, share_index(*tie_ranks(ordered), num_bins)


def _equal_mass_index(rows: Rows, num_bins: int) -> jax.Array:
    """The bin of each score: k or more where as many as begin bin k are smaller, so that it is above that many-th."""
    starts = _share_starts(jnp.sum(rows.counted, dtype=np.int32), num_bins)
    edges = order_statistics(lax.stop_gradient(rows.confidence), rows.counted, starts)
    return index_among(rows.confidence, [edges[k] for k in range(num_bins - 1)], "right")
