"""Order statistics of float32 confidences without sorting them: counts of their bits, ten at a time.

The bits of a number in [0, 1] are an integer below 2^30 of the same order. Counting the highest ten says in which of
1024 groups the r-th smallest lies, and at which rank of that group; counting the next ten in that group, and the last,
says which it is. Three passes over the rows for all ranks together, in a fifth of the time of a sort; and rows on
several devices stay where they are.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

_BITS, _LEVELS = 10, 3
_GROUPS = 1 << _BITS


def order_statistics(
    values: Float[Array, " n"], counted: Int[Array, " n"], ranks: Int[Array, " m"]
) -> Float[Array, " m"]:
    """The value of each rank (1 is the smallest) among the rows that count, exactly.

    Args:
      values: float32 in [0, 1]; the others may hold anything.
      counted: 1 for rows that count, 0 for the others.
      ranks: from 1 to the number of rows that count.
    """
    bits = lax.bitcast_convert_type(jnp.abs(values), np.uint32)  # of -0, those of 0
    bits = jnp.minimum(bits, np.uint32((1 << (_BITS * _LEVELS)) - 1)).astype(np.int32)
    slot = jnp.zeros_like(bits)  # of the group that a row is in: 0 for all, then the first rank that is in it too
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
