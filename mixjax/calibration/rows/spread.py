"""A few rows that stand for many, evenly spread in the order of their mean class."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

_MOST = 512  # rows


def spread_rows(probs: jax.Array, counts: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Choose up to 512 probability vectors that stand for all that count.

    These are min(N, 512) indices, N >= 1, and whether each of them counts: all rows that count if they are no more, or
    of their ranks in the mean class sum_k k probs_k the fractions 0, 1/512, 2/512, ... Rows of one mean class are taken
    to be equal.
    """
    score = jnp.sum(probs * jnp.arange(probs.shape[1], dtype=probs.dtype)[None], axis=1)
    size, kept = min(_MOST, len(probs)), jnp.sum(counts, dtype=np.int32)
    order = jnp.argsort(jnp.where(counts, score, jnp.inf)).astype(np.int32)
    i = lax.iota(np.int32, size)
    fraction = (kept // size) * i + (kept % size) * i // size  # floor(kept i / size), whose product may overflow
    chosen = order[jnp.where(kept > size, fraction, i)]
    return chosen, counts[chosen]
