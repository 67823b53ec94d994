r"""Bins of confidence: their edges, the bin of a score, and the sums of rows in each.

Equal-width edges are k/M, correctly rounded in the dtype of the confidences; [l, r) with the last bin closed, or
(l, r] with the first closed. Equal-mass bins hold about N/M rows each and never split ties: the bin of a score is
floor(M * rank of its first copy / N). One sum of residuals replaces those of confidence and of correctness, whose
difference would cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.order import sorted_rows, tie_ranks
from mixjax.calibration.rows.scatter import FEW, sums_by_bin
from mixjax.calibration.rows.selection import order_statistics
from mixjax.calibration.rows.sums import Pair, Prefix, floor_product, total
from mixjax.numerics.arguments import check_size

Binning = Literal["equal-width", "equal-mass"]
Closed = Literal["left", "right"]

_MANY = 1 << 14  # rows from which on selecting edges of equal mass is faster than sorting


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
    if num_bins <= FEW:
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
    if many and plain and 1 < num_bins <= FEW:
        return rows, _equal_mass_index(rows, num_bins)
    ordered = sorted_rows(rows)
    return ordered, share_index(*tie_ranks(ordered), num_bins)


def _equal_mass_index(rows: Rows, num_bins: int) -> jax.Array:
    """The bin of each score: k or more where as many as begin bin k are smaller, so that it is above that many-th."""
    starts = _share_starts(jnp.sum(rows.counted, dtype=np.int32), num_bins)
    edges = order_statistics(lax.stop_gradient(rows.confidence), rows.counted, starts)
    return index_among(rows.confidence, [edges[k] for k in range(num_bins - 1)], "right")
