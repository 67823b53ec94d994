"""Elementary functions that are right where the obvious formula cancels, or has no derivative."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from mixjax.typing import Real


def polynomial(x: jax.Array, coefficients: Sequence[float]) -> jax.Array:
    """Evaluate a polynomial by Horner's rule, constant first."""
    value = jnp.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value = value * x + c
    return value


def one_minus_exp(x: jax.Array) -> jax.Array:
    """Return 1 - exp(-x) for x >= 0, to full relative precision; in float32 faster than expm1."""
    if x.dtype == jnp.float64:
        return -jnp.expm1(-x)
    series = x * (1.0 - x * (0.5 - x * (1 / 6 - x / 24)))
    return jnp.where(x < 0.03, series, 1.0 - jnp.exp(-x))


def thrice_log1p_remainder(y: jax.Array) -> jax.Array:
    """Return 3 (y - y^2/2 + y^3/3 - log(1 + y)) for y > -1: never negative, 3 y^4 / 4 near 0.

    It separates the law of a chi about its mode, and that of the cube root of a gamma, from a normal law.
    """
    terms = 8 if y.dtype == jnp.float32 else 22
    series = y**4 * polynomial(y, [3.0 / k * (-1) ** k for k in range(4, 4 + terms)])
    direct = y * (3.0 + y * (y - 1.5)) - 3.0 * jnp.log1p(jnp.maximum(y, -0.999999))
    return jnp.where(jnp.abs(y) < 0.2, series, direct)


def root(power: jax.Array, norm: Real) -> jax.Array:
    """Return power^(1/norm) for power >= 0, with the derivative 0 at 0."""
    positive = power > 0
    return jnp.where(positive, jnp.where(positive, power, 1.0) ** (1.0 / norm), power)
