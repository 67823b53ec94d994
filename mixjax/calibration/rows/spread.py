"""A few rows that stand for many, evenly spread in the order of a score."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def spread_rows(score: jax.Array, counts: jax.Array, most: int) -> tuple[jax.Array, jax.Array]:
    """Choose rows that stand for all that count.

    These are min(N, most) indices, N >= 1, and whether each of them counts: all rows that count if they are no more, or
    of their ranks in the score the fractions 0, 1/most, 2/most, ... Rows of one score are taken to be equal.
    """
    size, kept = min(most, len(score)), jnp.sum(counts, dtype=np.int32)
    order = jnp.argsort(jnp.where(counts, score, jnp.inf)).astype(np.int32)
    i = lax.iota(np.int32, size)
    fraction = (kept // size) * i + (kept % size) * i // size  # floor(kept i / size), whose product may overflow
    chosen = order[jnp.where(kept > size, fraction, i)]
    return chosen, counts[chosen]


def mean_class(probs: jax.Array) -> jax.Array:
    """Return sum_k k probs_k, a score of probability vectors."""
    return jnp.sum(probs * jnp.arange(probs.shape[1], dtype=probs.dtype)[None], axis=1)
