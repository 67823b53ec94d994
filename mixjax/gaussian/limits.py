r"""The proportional limit p/n -> c: closed forms, phase boundaries and derivatives.

Paper: Theorems 3.1 to 3.3 and 5.1 to 5.3, whose proofs work in this limit. The score's law becomes
deterministic,

    m_t = (1-t) |theta|^2,    w_t = (1-t)^2 (|theta|^2 + c),
    rho_t = rho_0 / (1-t),    rho_0 = |theta|^2 / (|theta|^2 + c),

so that Mixup acts as a temperature 1/(1-t). The weight t* = c / (|theta|^2 + c) calibrates exactly; from
there on the error grows again, and passes the plain classifier's at the critical weight.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from mixjax._arguments import aligned, as_floats, check, check_not_negative, check_positive
from mixjax.gaussian.population import population_ece, widest_point
from mixjax.gaussian.quadrature import half_line_integrals
from mixjax.gaussian.score_law import ScoreLaw

__all__ = ["best_weight", "critical_ratio", "critical_weight", "derivative_at_zero", "limit_scores"]


def limit_scores(ratio: ArrayLike, theta_norm: ArrayLike, t: ArrayLike) -> ScoreLaw:
    """The law of the score as p/n -> `ratio` at Mixup weight t, for sigma = 1.

    Args:
      ratio: c >= 0.
      theta_norm: |theta| >= 0 (divide by sigma first).
      t: Mixup weight in [0, 1].

    Returns:
      Laws of the broadcast shape; the gap, (1-t)((1-t) c - t |theta|^2), is free of cancellation near c = 0.

    Raises:
      ValueError: for a value out of its range.
    """
    ratio, theta_norm, t = _limit_arguments(ratio, theta_norm, t)
    return _limit_scores(ratio, theta_norm, t)


def _limit_scores(ratio: jax.Array, theta_norm: jax.Array, t: jax.Array) -> ScoreLaw:
    keep, square = 1.0 - t, theta_norm**2
    return ScoreLaw(*jnp.broadcast_arrays(keep * square, keep * (keep * ratio - t * square)))


def best_weight(ratio: ArrayLike, theta_norm: ArrayLike) -> Float[Array, "*batch"]:
    """t* = c / (|theta|^2 + c), at which ECE and MCE are 0; a Beta law reaches it if c < |theta|^2 (t* < 1/2)."""
    ratio, theta_norm, _ = _limit_arguments(ratio, theta_norm, 0.0)
    return ratio / (theta_norm**2 + ratio)


def critical_weight(ratio: ArrayLike, theta_norm: ArrayLike, *, norm: float = 1) -> Float[Array, "*batch"]:
    r"""The weight below which Mixup helps: the t > t* in (0, 1) with :math:`ECE_t = ECE_0`.

    Args:
      ratio: c >= 0.
      theta_norm: |theta| >= 0.
      norm: r >= 1 of the ECE; inf for the MCE, where :math:`t = 1 - \rho_0^2`. Static.

    Returns:
      t of the broadcast shape; inf where every t in (0, 1) helps. Mixup with lambda ~ Beta(alpha, beta) helps
      where `mixup_weight(alpha, beta)` is below. Differentiable in both arguments.
    """
    ratio, theta_norm, _ = jnp.broadcast_arrays(*_limit_arguments(ratio, theta_norm, 0.0))
    return _critical_weight(ratio, theta_norm, norm)


@partial(jax.jit, static_argnames="norm")
def _critical_weight(ratio: jax.Array, theta_norm: jax.Array, norm: float) -> jax.Array:
    calibrated = ratio / (theta_norm**2 + ratio)
    if np.isinf(norm):
        return 1.0 - (1.0 - calibrated) ** 2

    def excess(t: jax.Array) -> jax.Array:
        return _excess(ratio, theta_norm, t, norm)

    end = jnp.full_like(ratio, 1.0 - 1e-6)
    return jnp.where(excess(end) > 0, _increasing_root(excess, calibrated, end), jnp.inf)


def critical_ratio(theta_norm: ArrayLike, t: ArrayLike, *, norm: float = 1) -> Float[Array, "*batch"]:
    r"""The phase boundary c(|theta|, t): Mixup of weight t helps where p/n is above it, and hurts below.

    Between c = 0, where the plain classifier is calibrated, and :math:`|\theta|^2 t/(1-t)`, where the mixed
    one is, :math:`ECE_0 = ECE_t` once. For the MCE, :math:`c = |\theta|^2 (1/\sqrt{1-t} - 1)`.

    Args:
      theta_norm: |theta| >= 0.
      t: Mixup weight in [0, 1).
      norm: r >= 1 of the ECE; inf for the MCE. Static.

    Returns:
      c of the broadcast shape, 0 at theta_norm = 0 or t = 0. Differentiable in both arguments.
    """
    check("t", t, lambda v: (v >= 0) & (v < 1), "in [0, 1)")
    _, theta_norm, t = jnp.broadcast_arrays(*_limit_arguments(0.0, theta_norm, t))
    return _critical_ratio(theta_norm, t, norm)


@partial(jax.jit, static_argnames="norm")
def _critical_ratio(theta_norm: jax.Array, t: jax.Array, norm: float) -> jax.Array:
    square = theta_norm**2
    if np.isinf(norm):
        return square * (lax.rsqrt(1.0 - t) - 1.0)
    trivial = (square == 0) | (t == 0)
    theta_norm, t = jnp.where(trivial, 1.0, theta_norm), jnp.where(trivial, 0.25, t)
    calibrated = theta_norm**2 * t / (1.0 - t)

    def advantage(part: jax.Array) -> jax.Array:
        return -_excess(part * calibrated, theta_norm, t, norm)

    part = _increasing_root(advantage, jnp.zeros_like(t), jnp.ones_like(t))
    return jnp.where(trivial, 0.0, part * calibrated)


def _excess(ratio: jax.Array, theta_norm: jax.Array, t: jax.Array, norm: float) -> jax.Array:
    """ECE_t - ECE_0."""
    plain = _limit_scores(ratio, theta_norm, jnp.zeros_like(t))
    return population_ece(_limit_scores(ratio, theta_norm, t), norm=norm) - population_ece(plain, norm=norm)


def _increasing_root(function: Callable[[jax.Array], jax.Array], low: jax.Array, high: jax.Array) -> jax.Array:
    """The root between low and high, by bisection to the last digit; differentiated as an implicit function."""

    def bisect(function: Callable[[jax.Array], jax.Array], _: jax.Array) -> jax.Array:
        def halve(_: int, bounds: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            low, high = bounds
            middle = 0.5 * (low + high)
            above = function(middle) > 0
            return jnp.where(above, low, middle), jnp.where(above, middle, high)

        steps = 30 if low.dtype == jnp.float32 else 55
        bounds = lax.fori_loop(0, steps, halve, lax.stop_gradient((low, high)))
        return 0.5 * (bounds[0] + bounds[1])

    return lax.custom_root(function, low, bisect, lambda linear, y: y / linear(jnp.ones_like(y)))


def derivative_at_zero(
    ratio: ArrayLike, theta_norm: ArrayLike, *, beta: ArrayLike, norm: float = 1
) -> Float[Array, "*batch"]:
    r"""Theorems 3.3 and 5.3: the derivative of ECE (or MCE) in alpha at alpha = 0+, for lambda ~ Beta(alpha, beta).

    .. math:: \frac{2}{\beta+1}\cdot\Bigl(-\tfrac12 E\,|v|\,\mathrm{sech}^2 v\Bigr)
              \quad\text{with}\quad v \sim N(|\theta|^2, |\theta|^2 + c),
              \qquad \frac{2}{\beta+1}\cdot\Bigl(-\tfrac12 v_* \mathrm{sech}^2 v_*\Bigr)

    with :math:`v_*` the score of the largest gap.

    Args:
      ratio: c > 0.
      theta_norm: |theta| >= 0 (> 0 for the MCE).
      beta: > 0.
      norm: 1 for the ECE, inf for the MCE. Static.

    Returns:
      Negative numbers of the broadcast shape: a little Mixup always helps. (At c = 0 the ECE is 0 and its
      one-sided derivative the opposite.)

    Raises:
      ValueError: for another norm, or a value out of its range.
    """
    check_positive("beta", beta)
    ratio, theta_norm, beta = _limit_arguments(ratio, theta_norm, beta, name="beta")
    law = _limit_scores(ratio, theta_norm, jnp.zeros_like(beta))
    if norm == 1:
        slope = -0.5 * _mean_abs_sech_square(law)
    elif np.isinf(norm):
        v = widest_point(law.mean / law.var, law.gap / law.var)
        slope = -0.5 * v / jnp.cosh(v) ** 2
    else:
        raise ValueError(f"norm must be 1 or inf, got {norm}")
    return 2.0 / (beta + 1.0) * slope


@jax.jit
def _mean_abs_sech_square(law: ScoreLaw) -> jax.Array:
    """E |v| sech^2 v for v ~ N(m, w) with 0 <= m <= w, folded at 0."""
    kappa = law.gap / law.var

    def integrand(v: jax.Array) -> tuple[jax.Array, ...]:
        decay = jnp.exp(-2.0 * v)
        return (4.0 * v * (decay + jnp.exp(-2.0 * kappa * v)) / (1.0 + decay) ** 2,)

    return half_line_integrals(-law.mean, law.var, integrand)[0]


def _limit_arguments(
    ratio: ArrayLike, theta_norm: ArrayLike, third: ArrayLike, *, name: str = "t"
) -> tuple[jax.Array, jax.Array, jax.Array]:
    check_not_negative("ratio", ratio)
    check_not_negative("theta_norm", theta_norm)
    if name == "t":
        check("t", third, lambda v: (v >= 0) & (v <= 1), "in [0, 1]")
    ratio, theta_norm, third = aligned(*as_floats(ratio=ratio, theta_norm=theta_norm, **{name: third}))
    return ratio, theta_norm, third
