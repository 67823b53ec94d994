r"""The proportional limit p/n -> c: closed forms and phase boundaries.

Paper: Theorems 3.1, 3.2, 5.1 and 5.2, whose proofs work in this limit; 3.3 and 5.3 are in `capacity`. The score's law
becomes deterministic,

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
from jaxtyping import Array, Float

from mixjax.gaussian.law import ScoreLaw, masked_law
from mixjax.gaussian.population import population_ece
from mixjax.numerics.arguments import BELOW_ONE, aligned, checked
from mixjax.numerics.options import check_norm
from mixjax.typing import ArrayLike, Real


def limit_scores(ratio: ArrayLike, theta_norm: ArrayLike, t: ArrayLike) -> ScoreLaw:
    """Return the law of the score as p/n -> `ratio`, for sigma = 1.

    Args:
      ratio: c >= 0.
      theta_norm: |theta| >= 0 (divide by sigma first).
      t: Mixup weight in [0, 1].

    Returns:
      Laws of the broadcast shape; the gap, (1-t)((1-t) c - t |theta|^2), is free of cancellation near c = 0.

    Example:
      >>> from mixjax.gaussian import limit_scores
      >>> law = limit_scores(ratio=1.0, theta_norm=2.0, t=0.0)
      >>> float(law.mean), float(law.var)
      (4.0, 5.0)
    """
    return _limit_scores(*aligned(*checked(ratio=ratio, theta_norm=theta_norm, t=t)))


@jax.jit
def _limit_scores(ratio: jax.Array, theta_norm: jax.Array, t: jax.Array) -> ScoreLaw:
    return masked_law(*unchecked_limit_scores(ratio, theta_norm, t))


def unchecked_limit_scores(ratio: jax.Array, theta_norm: jax.Array, t: jax.Array) -> ScoreLaw:
    """Return the law of `limit_scores` for arrays that are aligned and checked."""
    keep, square = 1.0 - t, theta_norm**2
    return ScoreLaw(*jnp.broadcast_arrays(keep * square, keep * (keep * ratio - t * square)))


def best_weight(ratio: ArrayLike, theta_norm: ArrayLike) -> Float[Array, "*batch"]:
    """Return the weight t* = c / (|theta|^2 + c), at which ECE and MCE are 0; a Beta law reaches it if c < |theta|^2.

    Args:
      ratio: c >= 0.
      theta_norm: |theta| >= 0.

    Returns:
      t* in [0, 1] of the broadcast shape: 0 at c = 0, 1 without signal, and NaN where both are 0 (no classifier).

    Example:
      >>> from mixjax.gaussian import best_weight
      >>> round(float(best_weight(1.0, 2.0)), 4)
      0.2
    """
    return _best_weight(*aligned(*checked(ratio=ratio, theta_norm=theta_norm)))


@jax.jit
def _best_weight(ratio: jax.Array, theta_norm: jax.Array) -> jax.Array:
    return ratio / (theta_norm**2 + ratio)


def critical_weight(ratio: ArrayLike, theta_norm: ArrayLike, *, norm: Real = 1) -> Float[Array, "*batch"]:
    r"""Find the weight below which Mixup helps: the t > t* in (0, 1) with :math:`ECE_t = ECE_0`.

    Args:
      ratio: c >= 0.
      theta_norm: |theta| >= 0.
      norm: r >= 1 of the ECE; inf for the MCE, where :math:`t = 1 - \rho_0^2`. Static.

    Returns:
      t of the broadcast shape; inf where every t in (0, 1) helps (always, without signal), and 0 at c = 0, where none
      does. Mixup with lambda ~ Beta(alpha, beta) helps where `mixup_weight(alpha, beta)` is below t. NaN where there is
      no classifier (both 0), for the MCE without signal (it is 1/2 for every t), and where E gap^r underflows (from
      theta_norm of about 9 on in float32, 35 in float64). Differentiable in both arguments inside (0, 1).

    Accuracy (tests/gaussian/test_limits_accuracy.py), theta_norm <= 8: absolute 1e-11 (fractional r: 1e-8) in float64
    and 5e-6 in float32. Reference: Theorems 3.1 and 5.1.

    Example:
      >>> from mixjax.gaussian import critical_weight
      >>> round(float(critical_weight(0.5, 2.0)), 3)
      0.196
    """
    check_norm(norm)
    ratio, theta_norm = jnp.broadcast_arrays(*aligned(*checked(ratio=ratio, theta_norm=theta_norm)))
    return _critical_weight(ratio, theta_norm, norm)


@partial(jax.jit, static_argnames="norm")
def _critical_weight(ratio: jax.Array, theta_norm: jax.Array, norm: Real) -> jax.Array:
    calibrated = ratio / (theta_norm**2 + ratio)
    if np.isinf(norm):
        return jnp.where(theta_norm == 0, jnp.nan, calibrated * (2.0 - calibrated))
    excess = partial(_excess, ratio, theta_norm, norm=norm)
    end = jnp.full_like(ratio, 1.0 - 1e-6)
    root = increasing_root(excess, calibrated, end)
    inside = jnp.where(_resolved(ratio, theta_norm, root, norm), root, jnp.nan)
    return jnp.where(calibrated == 0, 0.0, jnp.where(excess(end) <= 0, jnp.inf, inside))


def critical_ratio(theta_norm: ArrayLike, t: ArrayLike, *, norm: Real = 1) -> Float[Array, "*batch"]:
    r"""Find the phase boundary c(|theta|, t): Mixup of weight t helps where p/n is above it, and hurts below.

    The plain classifier is calibrated at c = 0, the mixed one at :math:`|\theta|^2 t/(1-t)`. Between them,
    :math:`ECE_0 = ECE_t` exactly once. For the MCE, :math:`c = |\theta|^2 (1/\sqrt{1-t} - 1)`.

    Args:
      theta_norm: |theta| >= 0.
      t: Mixup weight in [0, 1).
      norm: r >= 1 of the ECE; inf for the MCE. Static.

    Returns:
      c of the broadcast shape, 0 at theta_norm = 0 or t = 0. NaN for the MCE without signal (it is 1/2 for every c
      and t), and where E gap^r underflows (as for `critical_weight`). Differentiable in both arguments.

    Accuracy (tests/gaussian/test_limits_accuracy.py), theta_norm <= 8: relative 1e-11 (fractional r: 5e-8) in float64
    and 1e-5 in float32, from t = 1e-6 on. Reference: Theorems 3.1, 3.2, 5.1 and 5.2.

    Example:
      >>> from mixjax.gaussian import critical_ratio
      >>> round(float(critical_ratio(2.0, 1 / 3)), 3)
      1.041
    """
    check_norm(norm)
    theta_norm, t = jnp.broadcast_arrays(*aligned(*checked({"t": BELOW_ONE}, theta_norm=theta_norm, t=t)))
    return _critical_ratio(theta_norm, t, norm)


@partial(jax.jit, static_argnames="norm")
def _critical_ratio(theta_norm: jax.Array, t: jax.Array, norm: Real) -> jax.Array:
    square = theta_norm**2
    if np.isinf(norm):
        return jnp.where(square == 0, jnp.nan, square * jnp.expm1(-0.5 * jnp.log1p(-t)))
    trivial = square * t == 0
    theta_norm, t = jnp.where(trivial, 1.0, theta_norm), jnp.where(trivial, 0.25, t)
    calibrated = theta_norm**2 * t / (1.0 - t)

    def advantage(part: jax.Array) -> jax.Array:
        return -_excess(part * calibrated, theta_norm, t, norm)

    part = increasing_root(advantage, jnp.zeros_like(t), jnp.ones_like(t))
    ratio = part * calibrated
    return jnp.where(trivial, 0.0, jnp.where(_resolved(ratio, theta_norm, t, norm), ratio, jnp.nan))


def _excess(ratio: jax.Array, theta_norm: jax.Array, t: jax.Array, norm: Real) -> jax.Array:
    """Return ECE_t - ECE_0."""
    mixed, plain = _both_errors(ratio, theta_norm, t, norm)
    return mixed - plain


def _both_errors(ratio: jax.Array, theta_norm: jax.Array, t: jax.Array, norm: Real) -> list[jax.Array]:
    """Return ECE_t and ECE_0."""
    laws = (unchecked_limit_scores(ratio, theta_norm, weight) for weight in (t, jnp.zeros_like(t)))
    return [population_ece(law, norm=norm) for law in laws]


def _resolved(ratio: jax.Array, theta_norm: jax.Array, t: jax.Array, norm: Real) -> jax.Array:
    """Return whether both E gap^r are far from underflow, where a difference has no sign."""
    mixed, plain = _both_errors(*lax.stop_gradient((ratio, theta_norm, t)), norm)
    limits = jnp.finfo(t.dtype)
    return jnp.minimum(mixed, plain) ** norm > limits.tiny / limits.eps


def increasing_root(function: Callable[[jax.Array], jax.Array], low: jax.Array, high: jax.Array) -> jax.Array:
    """Find the root between low and high by bisection to the last digit; differentiable as an implicit function."""

    def bisect(function: Callable[[jax.Array], jax.Array], _: jax.Array) -> jax.Array:
        def halve(_: jax.Array | int, bounds: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            low, high = bounds
            middle = 0.5 * (low + high)
            above = function(middle) > 0
            return jnp.where(above, low, middle), jnp.where(above, middle, high)

        steps = 30 if low.dtype == jnp.float32 else 55
        bounds = lax.fori_loop(0, steps, halve, lax.stop_gradient((low, high)))
        return 0.5 * (bounds[0] + bounds[1])

    return lax.custom_root(function, low, bisect, lambda linear, y: y / linear(jnp.ones_like(y)))
