"""Nodes and weights of one-dimensional rules, as arrays that depend on traced parameters.

`panels` is Gauss-Legendre between given breaks, `chi_rule` the same against a chi density, and `gauss_rule` the rule
of any law whose orthogonal polynomials are known. A rule is a pair (nodes, weights), its last axis the nodes.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from mixjax.numerics.elementary import thrice_log1p_remainder
from mixjax.numerics.quadrature import unit_legendre

LARGEST_NORMAL = {np.dtype(np.float32): 6.0, np.dtype(np.float64): 8.5}  # beyond is left out: 2e-9, and 2e-17


def panels(
    breaks: list[jax.Array], low: ArrayLike, high: ArrayLike, num_nodes: int, *, crowded: bool = False
) -> tuple[jax.Array, jax.Array]:
    """Return Gauss-Legendre nodes and weights between low, the breaks (last axis 1, in any order) and high.

    If crowded, nodes crowd quadratically to the upper end of every panel but the last: a power 3/2 there is resolved.
    """
    inner = jnp.clip(jnp.sort(jnp.concatenate(breaks, axis=-1), axis=-1), low, high)
    first, last = (jnp.broadcast_to(end, inner[..., :1].shape).astype(inner.dtype) for end in (low, high))
    ends = jnp.concatenate([first, inner, last], axis=-1)
    start, width = ends[..., :-1, None], jnp.diff(ends, axis=-1)[..., None]
    x, weights = unit_legendre(num_nodes, inner.dtype)
    even = (x, weights)
    maps = [(x * (2.0 - x), 2.0 * (1.0 - x) * weights) if crowded else even] * len(breaks) + [even]
    position, slope = (
        jnp.stack(part).reshape((1,) * (inner.ndim - 1) + (-1, num_nodes)) for part in zip(*maps, strict=True)
    )
    flat = (*inner.shape[:-1], -1)
    return (start + width * position).reshape(flat), (width * slope).reshape(flat)


def chi_rule(df: jax.Array, kink: jax.Array, num_nodes: int) -> tuple[jax.Array, jax.Array]:
    """Return nodes and weights, [kinks, nodes], for the root of a chi-square, split at its mode and each kink.

    The density at mode + x is proportional to exp(-x^2 + k (log(1 + y) - y + y^2 / 2)), with k = df - 1 = mode^2
    and y = x / mode.
    """
    reach = LARGEST_NORMAL[df.dtype]
    k = jnp.maximum(df - 1.0, 0.0)
    mode = jnp.sqrt(k)
    low = jnp.maximum(-mode, -reach / math.sqrt(2.0))
    x, dx = panels([kink[:, None] - mode, jnp.zeros_like(kink)[:, None]], low, reach, num_nodes, crowded=True)
    y = x / jnp.where(k > 0, mode, jnp.inf)
    exponent = jnp.where(k > 0, x**2 * (y / 3.0 - 1.0) - k / 3.0 * thrice_log1p_remainder(y), -0.5 * x**2)
    weights = dx * jnp.exp(exponent)
    return jnp.where(df > 0, mode + x, 0.0), weights / jnp.sum(weights, axis=-1, keepdims=True)


def gauss_rule(diagonal: jax.Array, off_diagonal: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return nodes and weights from a Jacobi matrix (Golub and Welsch, Math. Comp. 23, 1969)."""
    matrix = jnp.diag(diagonal) + jnp.diag(off_diagonal, 1) + jnp.diag(off_diagonal, -1)
    nodes, vectors = jnp.linalg.eigh(matrix)
    return nodes, vectors[0] ** 2
