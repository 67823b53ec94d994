r"""Sums of fair signs for `mixjax.random.rademacher_mean`, in two ways.

Up to 64 signs are the bits of two words. Beyond, a normal rounded to the lattice n/2 + k of the sum is accepted in
proportion to the ratio of the two probabilities of k,

    P(Bin(n, 1/2) = n/2 + k) / P(sqrt(n)/2 Z rounds to k).

Both have closed forms; the logarithm of the ratio is O(1/n), and is computed here without cancellation.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mixjax.numerics.elementary import polynomial
from mixjax.numerics.threefry import Words

_FAR = 0.9  # |2k/n| beyond this has probability below 1e-13 for n > 64: never proposed in float32


def count_ones(words: Words, n: jax.Array) -> jax.Array:
    """Count the ones among the first n (at most 64) bits of two words."""
    use = [jnp.clip(n - first, 0.0, 32.0).astype(np.uint32) for first in (0.0, 32.0)]
    masks = [jnp.where(bits == 0, np.uint32(0), np.uint32(0xFFFFFFFF) >> (np.uint32(32) - bits)) for bits in use]
    ones = [lax.population_count(word & mask) for word, mask in zip(words, masks, strict=True)]
    return (ones[0] + ones[1]).astype(n.dtype)


def log_ratio(k: jax.Array, n: jax.Array) -> jax.Array:
    r"""Return the log of P(Bin(n, 1/2) = n/2 + k) over P(sqrt(n)/2 Z rounds to k), for n > 64.

    The first is Stirling's series; the second is the integral of the normal density over the cell, expanded in its
    width. With :math:`\delta = 2k/n` and :math:`\delta^2 + \delta^4/6 + \dots = (1+\delta)\log(1+\delta) +
    (1-\delta)\log(1-\delta)`, the terms :math:`n\delta^2/2` cancel exactly.
    """
    delta = 2.0 * k / n
    inside = jnp.abs(delta) < _FAR
    square = jnp.where(inside, delta**2, 0.0)
    terms = 12 if n.dtype == jnp.float32 else 60
    quartic = square**2 * polynomial(square, [1.0 / (j * (2 * j - 1)) for j in range(2, 2 + terms)])
    inverse = 1.0 / (n * (1.0 - square))  # with half = n/2: 1/(half + k) + 1/(half - k) = 4 inverse
    cubes = 4.0 * inverse * ((4.0 * inverse) ** 2 - 12.0 * inverse / n)  # the same of the cubes
    stirling = (1.0 / n - 4.0 * inverse) / 12 - (1.0 / n**3 - cubes) / 360
    # E exp(-2 delta u - 2 u^2 / n) for u uniform on [-1/2, 1/2]
    cell = (
        polynomial(square, [1.0, 1 / 6, 1 / 120, 1 / 5040, 1 / 362880])
        - polynomial(square, [1 / 12, 1 / 40, 1 / 672, 1 / 25920]) * (2.0 / n)
        + polynomial(square, [1 / 80, 1 / 224, 1 / 3456]) * (2.0 / n**2)
    )
    value = stirling - 0.5 * n * quartic - 0.5 * jnp.log((1.0 - square) * cell**2)
    return jnp.where(inside, value, -jnp.inf)


def log_ratio_bound(n: jax.Array) -> jax.Array:
    """Return an upper bound of `log_ratio` over k, for n > 64; its maximum is 1/(4n) + O(1/n^2)."""
    return 0.25 / n + 1.0 / n**2
