"""Equal-mass bins: about N/M rows each, which never split ties.

The bin of a score is floor(M * rank of its first copy / N). Rows are sorted; or, where they are many float32, the order
statistics between the bins are found without a sort, in a fifth of its time, and rows on several devices stay there.
The bits of a number in [0, 1] are an integer below 2^30 of the same order: counting the highest ten shows in which of
1024 groups the r-th smallest lies, and at which rank of that group; the next ten, and the last, show which it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.order import sorted_rows, starts_of_ties
from mixjax.calibration.rows.scatter import FEW
from mixjax.calibration.rows.sums import Pair, Prefix, floor_product, prefix_sums

_MANY = 1 << 14  # rows from which on selecting edges is faster than sorting
_BITS, _LEVELS = 10, 3
_GROUPS = 1 << _BITS


def equal_mass(rows: Rows, num_bins: int) -> tuple[Rows, jax.Array]:
    """Return clean rows, sorted if need be, and the bin of each."""
    many, plain = len(rows.confidence) >= _MANY, rows.weights is None and rows.confidence.dtype == jnp.float32
    if many and plain and 1 < num_bins <= FEW:  # bin k begins above the order statistic of rank ceil(k N / M)
        starts = _share_starts(jnp.sum(rows.counted, dtype=np.int32), num_bins)
        edges = order_statistics(lax.stop_gradient(rows.confidence), rows.counted, starts)
        return rows, index_among(rows.confidence, [edges[k] for k in range(num_bins - 1)], "right")
    ordered = sorted_rows(rows)
    return ordered, share_index(*tie_ranks(ordered), num_bins)


def index_among(confidence: jax.Array, inner: Sequence[jax.Array | np.number[Any]], closed: str) -> jax.Array:
    """Count the inner edges that are at or below (closed="right": strictly below) each score."""
    index = jnp.zeros(confidence.shape, np.int32)
    for edge in inner:
        index += (confidence >= edge if closed == "left" else confidence > edge).astype(np.int32)
    return index


def tie_ranks(rows: Rows) -> tuple[Prefix, Prefix]:
    """Return how many sorted rows (or what weight) have a smaller confidence than each, and how many there are."""
    size = len(rows.confidence)
    index = lax.iota(np.int32, size)  # rows that count come first
    first = lax.cummax(jnp.where(starts_of_ties(rows), index, 0)) if size else index
    if rows.weights is None:
        return (first,), (jnp.int32(size) if rows.where is None else jnp.sum(rows.where, dtype=np.int32),)
    sums = prefix_sums(rows.weights)
    return tuple(part[first] for part in sums), tuple(part[-1] for part in sums)


def share_index(rank: Prefix, total: Prefix, num_bins: int) -> jax.Array:
    """Return floor(M rank / total), at most M - 1; exact for int32, whose product may not be formed.

    A rank of floats that is below a border by less than the rounding of weights is on it (up to 4096 bins).
    """
    if len(rank) == 1:
        return jnp.searchsorted(_share_starts(total[0], num_bins), rank[0], side="right").astype(np.int32)

    def product(k: jax.Array, sums: Prefix) -> Pair:
        half = jnp.finfo(k.dtype).nmant // 2
        high = lax.reduce_precision(sums[0], jnp.finfo(k.dtype).nexp, half)  # its product with k is exact
        return k * high, k * (sums[0] - high) + k * sums[1]

    def reached(k: jax.Array) -> jax.Array:
        mass, border = product(jnp.full_like(k, num_bins), rank), product(k, total)
        slack = max(2.0**-34, float(jnp.finfo(k.dtype).eps))
        return (mass[0] - border[0]) + (mass[1] - border[1]) >= -slack * border[0]

    k = jnp.floor(rank[0] / jnp.where(total[0] > 0, total[0], 1.0) * num_bins)  # off by one at most
    k = jnp.where(reached(k + 1), k + 1, jnp.where(reached(k), k, k - 1))
    return jnp.clip(k, 0, num_bins - 1).astype(np.int32)


def _share_starts(total: jax.Array, num_bins: int) -> jax.Array:
    """Return the rank from which on floor(M rank / total) >= k, for k = 1..M-1: ceil(k total / M)."""
    total = jnp.maximum(total, 1)
    k = jnp.arange(1, num_bins, dtype=np.int32)
    floor, more = floor_product(k, total % num_bins, jnp.int32(num_bins))
    return k * (total // num_bins) + floor + more


def order_statistics(
    values: Float[Array, " n"], counted: Int[Array, " n"], ranks: Int[Array, " m"]
) -> Float[Array, " m"]:
    """Return the value of each rank (1 is the smallest) among the rows that count, exactly.

    Args:
      values: float32 in [0, 1]; the others may hold anything.
      counted: 1 for rows that count, 0 for the others.
      ranks: from 1 to the number of rows that count.
    """
    bits = lax.bitcast_convert_type(jnp.abs(values), np.uint32)  # -0 has the bits of 0
    bits = jnp.minimum(bits, np.uint32((1 << (_BITS * _LEVELS)) - 1)).astype(np.int32)
    slot = jnp.zeros_like(bits)  # the first rank in the same group as the row; at first all are in one group
    prefix = of_rank = jnp.zeros_like(ranks)
    for level in range(_LEVELS):
        digit = (bits >> (_BITS * (_LEVELS - 1 - level))) & (_GROUPS - 1)
        count = jnp.zeros((len(ranks), _GROUPS), np.int32).at[slot, digit].add(counted, mode="drop")
        below = jnp.cumsum(count, axis=1)
        found = jax.vmap(lambda row, rank: jnp.searchsorted(row, rank).astype(np.int32))(below[of_rank], ranks)
        ranks = ranks - jnp.where(found > 0, below[of_rank, jnp.maximum(found - 1, 0)], 0)
        prefix = prefix * _GROUPS + found
        if level < _LEVELS - 1:
            same = (of_rank[:, None] == of_rank[None]) & (found[:, None] == found[None])
            first = jnp.argmax(same, axis=1).astype(np.int32)
            outside = len(ranks)
            table = jnp.full((outside, _GROUPS), outside, np.int32).at[of_rank, found].set(first)
            slot, of_rank = table.at[slot, digit].get(mode="fill", fill_value=outside), first
    return lax.bitcast_convert_type(prefix, np.float32)
