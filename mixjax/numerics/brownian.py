r"""How far standard Brownian motion B strays on [0, 1]: the laws of max |B| and of the range max B - min B.

    P(max |B| > x) = 4 sum_{k>=0} (-1)^k Q((2k + 1) x),    P(range > x) = 8 sum_{k>=1} (-1)^(k-1) k Q(k x),

Q the tail of the normal law. These converge fast above 1, and keep the relative accuracy of small tails. Below 1 the
series of Jacobi's other form do, of the heat kernel between two walls:

    P(max |B| <= x) = (2/pi) sum_{k>=0} (-1)^k exp(-h^2 pi^2 / (2 x^2)) / h,    h = k + 1/2,
    P(range <= x)   = sum_{k>=0} (8 / x^2 + 2 / (h pi)^2) exp(-2 h^2 pi^2 / x^2).

References: D. A. Darling, A. J. F. Siegert (Ann. Math. Statist. 24, 1953); W. Feller (Ann. Math. Statist. 22, 1951).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

_LEAST = 0.1  # below which both tails are 1, to more digits than there are
_TERMS = 9  # of each series, the first of which is left out is below 1e-19


def maximum_tail(x: Float[Array, ""]) -> Float[Array, ""]:
    """Return P(max |B| > x) for x >= 0, or infinite; NaN for NaN."""
    k, y = np.arange(_TERMS), jnp.maximum(x, _LEAST)
    far = 4.0 * _sum((-1.0) ** k, _normal_tail(_products(2 * k + 1, y)))
    h = k + 0.5
    near = 1.0 - _sum((-1.0) ** k * 2 / (np.pi * h), jnp.exp(-_products(0.5 * (np.pi * h) ** 2, 1.0 / y**2)))
    return jnp.where(x < 1.0, near, far)


def range_tail(x: Float[Array, ""]) -> Float[Array, ""]:
    """Return P(max B - min B > x) for x >= 0, or infinite; NaN for NaN."""
    k, y = np.arange(1, _TERMS + 1), jnp.maximum(x, _LEAST)
    far = 8.0 * _sum((-1.0) ** (k - 1) * k, _normal_tail(_products(k, y)))
    h = k - 0.5
    decay = jnp.exp(-_products(2 * (np.pi * h) ** 2, 1.0 / y**2))
    near = 1.0 - 8.0 / y**2 * jnp.sum(decay) - _sum(2 / (np.pi * h) ** 2, decay)
    return jnp.where(x < 1.0, near, far)


def _normal_tail(x: jax.Array) -> jax.Array:
    return 0.5 * jax.scipy.special.erfc(x / 2.0**0.5)


def _products(factors: np.ndarray, x: jax.Array) -> jax.Array:
    return jnp.asarray(factors, x.dtype) * x[None]


def _sum(coefficients: np.ndarray, terms: jax.Array) -> jax.Array:
    return jnp.sum(jnp.asarray(coefficients, terms.dtype) * terms)
