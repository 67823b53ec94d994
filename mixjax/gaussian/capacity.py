r"""The derivative of the errors at no Mixup, and whether it falls with p/n, as Theorems 3.3 and 5.3 claim.

Paper: Theorems 3.3 and 5.3, and the proof of 5.3 with Figure 5. In the limit p/n -> c, the derivative of the error in
alpha at alpha = 0+ is D(c) = `derivative_at_zero`, negative for c > 0, and tends to 0 as c grows: it can fall with c
only up to some c, the turning ratio. For the ECE there is one above 0 for small and for large |theta|, and none for
|theta|^2 from 0.417 to 2.204, where D rises from the start. For the MCE, D(c) = -v sech^2 v / (beta + 1) at the score v
of the largest gap. Along with c, v grows from 0.7717, the solution of 2 v tanh v = 1 where v sech^2 v is largest: D
rises throughout, for every theta except 0.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from mixjax.gaussian.law import ScoreLaw
from mixjax.gaussian.limits import increasing_root, unchecked_limit_scores
from mixjax.gaussian.maximum import widest_point
from mixjax.numerics.arguments import aligned, checked
from mixjax.numerics.quadrature import half_line_integrals
from mixjax.typing import ArrayLike, Real

_SMALLEST, _LARGEST = 1e-7, 20.0  # of c, in units of |theta|^2 + 1e-3 and of (1 + |theta|^2)^2


def derivative_at_zero(
    ratio: ArrayLike, theta_norm: ArrayLike, *, beta: ArrayLike = 1.0, norm: Real = 1
) -> Float[Array, "*batch"]:
    r"""Return the derivative of ECE (or MCE) in alpha at alpha = 0+, for lambda ~ Beta(alpha, beta).

    .. math:: \frac{2}{\beta+1}\cdot\Bigl(-\tfrac12 E\,|v|\,\mathrm{sech}^2 v\Bigr)
              \quad\text{with}\quad v \sim N(|\theta|^2, |\theta|^2 + c),
              \qquad \frac{2}{\beta+1}\cdot\Bigl(-\tfrac12 v_* \mathrm{sech}^2 v_*\Bigr)

    with :math:`v_*` the score of the largest gap.

    Args:
      ratio: c >= 0.
      theta_norm: |theta| >= 0.
      beta: > 0; it scales the result by 2 / (beta + 1).
      norm: 1 for the ECE, inf for the MCE. Static.

    Returns:
      Numbers of the broadcast shape, negative for c > 0: a little Mixup always helps (the MCE without signal excepted:
      0). At c = 0 the plain classifier is calibrated and any Mixup hurts: the same numbers with the opposite sign.
      NaN where c and theta_norm are both 0.

    Raises:
      ValueError: for another norm.

    Accuracy (tests/gaussian/test_limits_derivative.py), theta_norm <= 8: relative 1e-11 in float64; in float32 1e-5,
    and 3e-4 for the MCE, whose widest point float32 knows to four digits. Reference: Theorems 3.3 and 5.3.

    Example:
      >>> from mixjax.gaussian import derivative_at_zero
      >>> round(float(derivative_at_zero(1.0, 2.0)), 4)
      -0.0334
    """
    if norm not in (1, np.inf):
        raise ValueError(f"norm must be 1 or inf, got {norm}")
    return _derivative_at_zero(*aligned(*checked(ratio=ratio, theta_norm=theta_norm, beta=beta)), norm=float(norm))


@partial(jax.jit, static_argnames="norm")
def _derivative_at_zero(ratio: jax.Array, theta_norm: jax.Array, beta: jax.Array, *, norm: Real) -> jax.Array:
    law = unchecked_limit_scores(ratio, theta_norm, jnp.zeros_like(beta))
    if norm == 1:
        slope = -0.5 * _mean_abs_sech_square(law)
    else:
        rho = law.mean / law.var
        v = widest_point(rho, law.gap / law.var)
        slope = jnp.where(rho == 0, 0.0, -0.5 * v / jnp.cosh(v) ** 2)
    return 2.0 / (beta + 1.0) * jnp.where(ratio == 0, -slope, slope)


@jax.jit
def _mean_abs_sech_square(law: ScoreLaw) -> jax.Array:
    """Return E |v| sech^2 v for v ~ N(m, w) with 0 <= m <= w, folded at 0."""
    kappa = law.gap / law.var

    def integrand(v: jax.Array) -> tuple[jax.Array, ...]:
        decay = jnp.exp(-2.0 * v)
        return (4.0 * v * (decay + jnp.exp(-2.0 * kappa * v)) / (1.0 + decay) ** 2,)

    return half_line_integrals(-law.mean, law.var, integrand)[0]


def derivative_slope(
    ratio: ArrayLike, theta_norm: ArrayLike, *, beta: ArrayLike = 1.0, norm: Real = 1
) -> Float[Array, "*batch"]:
    r"""Return dD/dc, with D(c) the derivative of ECE (or MCE) in alpha at alpha = 0+; the theorems claim it negative.

    Args:
      ratio, theta_norm, beta, norm: as for `derivative_at_zero`, with c > 0.

    Returns:
      Numbers of the broadcast shape, by forward differentiation of `derivative_at_zero`. Positive for the MCE, and 0
      without signal. NaN at c = 0, where D jumps.

    Raises:
      ValueError: for another norm.

    Example:
      >>> from mixjax.gaussian import derivative_slope
      >>> bool(derivative_slope(1.0, 2.0) < 0), bool(derivative_slope(20.0, 2.0) < 0)
      (True, False)
    """
    ratio, theta_norm, beta = jnp.broadcast_arrays(*aligned(*checked(ratio=ratio, theta_norm=theta_norm, beta=beta)))
    slope = _slope(ratio, theta_norm, norm) * 2.0 / (beta + 1.0)
    return jnp.where(ratio > 0, slope, jnp.nan)


@partial(jax.jit, static_argnames="norm")
def _slope(ratio: jax.Array, theta_norm: jax.Array, norm: Real) -> jax.Array:
    """Differentiate in c at beta = 1."""

    def derivative(c: jax.Array) -> jax.Array:
        return derivative_at_zero(c, theta_norm, beta=jnp.ones_like(c), norm=norm)

    return jax.jvp(derivative, (ratio,), (jnp.ones_like(ratio),))[1]


def turning_ratio(theta_norm: ArrayLike, *, norm: Real = 1) -> Float[Array, "*batch"]:
    """Find the p/n up to which D falls and beyond which it rises: Theorem 3.3 holds for c_max up to it, and not beyond.

    Args:
      theta_norm: |theta| >= 0.
      norm: 1 for the ECE, inf for the MCE. Static.

    Returns:
      c of the shape of theta_norm: 0 where D rises throughout (for the MCE, always). Without signal, 0.6906.

    Raises:
      ValueError: for another norm.

    Accuracy, theta_norm <= 4 and c above 0.01 (tests/gaussian/test_capacity.py): relative 1e-8 in float64 and 1e-4 in
    float32.

    Example:
      >>> from mixjax.gaussian import turning_ratio
      >>> round(float(turning_ratio(2.0)), 2)
      9.99
    """
    (theta_norm,) = checked(theta_norm=theta_norm)
    if norm not in (1, np.inf):
        raise ValueError(f"norm must be 1 or inf, got {norm}")
    return jnp.zeros_like(theta_norm) if np.isinf(norm) else _turning_ratio(theta_norm)


@jax.jit
def _turning_ratio(theta_norm: jax.Array) -> jax.Array:
    square = theta_norm**2

    def slope(logarithm: jax.Array) -> jax.Array:
        return _slope(jnp.exp(logarithm), theta_norm, 1)

    low, high = jnp.log(_SMALLEST * (square + 1e-3)), jnp.log(_LARGEST * (1.0 + square) ** 2)
    return jnp.where(slope(low) > 0, 0.0, jnp.exp(increasing_root(slope, low, high)))
