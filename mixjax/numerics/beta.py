r"""Beta draws as an entry-by-entry function of a source of words, at a few percent of the cost of `jax.random.beta`.

lambda = G / (G + H) with G, H independent gammas of shapes alpha and beta. In logarithms, so that small shapes do not
underflow: for alpha < 1, log G = log Gamma(alpha + 1) draw - E / alpha, with E a standard exponential.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from mixjax.numerics.threefry import Source
from mixjax.random import centered_gamma_from, normal_and_exponential


def beta_from(source: Source, alpha: jax.Array, beta: jax.Array) -> jax.Array:
    """Draws of Beta(alpha, beta) in [0, 1], alpha and beta above 0 broadcasting to the source; NaN for others."""
    first, second = (
        _log_gamma_draw(source.spend_on(source.purpose + place), jnp.broadcast_to(shape, source.shape))
        for place, shape in enumerate((alpha, beta))
    )
    return jax.nn.sigmoid(first - second)


def _log_gamma_draw(source: Source, a: jax.Array) -> jax.Array:
    valid = (a > 0) & jnp.isfinite(a)
    a = jnp.where(valid, a, 1.0)
    small = a < 1
    shape = jnp.where(small, a + 1.0, a)
    log_draw = jnp.log(centered_gamma_from(source, shape) + shape)
    exponential = normal_and_exponential(source, _BOOST_STREAM, a.dtype)[1]
    return jnp.where(valid, log_draw - jnp.where(small, exponential / a, 0.0), jnp.nan)


_BOOST_STREAM = 1 << 22  # beyond any number of rejections
