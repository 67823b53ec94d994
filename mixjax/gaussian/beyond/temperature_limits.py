"""Temperature scaling with many held-out points, and how many of them the best Mixup weight is worth.

Not in the paper. Temperature scaling leaves a law N(M, M) but for the error of the fit, with M = m^2/w of the score's
law (Phi(sqrt(M)) is the accuracy). By maximum likelihood, after m_h held-out points,

    T*/T ~ N(1, 1/(m_h I)),    I = E x^2 sech^2 x,    ECE = |T*/T - 1| K,    K = (1/2) E |x| sech^2 x,    x ~ N(M, M),

to leading order, so that E ECE = K sqrt(2 / (pi m_h I)). The Mixup weight t* that calibrates in the limit p/n -> c
leaves an error too, that of the training set, of the order of 1/sqrt(n): rho of its score is 1 with variance V/n,

    V = (c^2 + |theta|^4) / (|theta|^2 (|theta|^2 + c)^2)    for t* itself,
    V = (|theta|^2 + 2c) / |theta|^4                         for the weight estimated from the training set
                                                             (`estimated_weight`).

Both errors are normal, so that Mixup and temperature scaling are equal on average, in ECE and in MCE, at
m_h / n = 1 / (I V).
"""

from __future__ import annotations

import math
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mixjax.gaussian.law import ScoreLaw, of_law
from mixjax.numerics.arguments import aligned, checked
from mixjax.numerics.options import check_option
from mixjax.numerics.quadrature import half_line_integrals
from mixjax.typing import ArrayLike

WeightKind = Literal["best", "estimated"]


def held_out_ece(law: ScoreLaw, n_held_out: ArrayLike) -> Float[Array, "*batch"]:
    """Return the expected ECE after temperature scaling on n_held_out points, to leading order.

    Args:
      law: the law of the score before scaling, with a mean above 0.
      n_held_out: whole numbers from 1 to 1e7; the larger, the more accurate.

    Returns:
      K sqrt(2 / (pi n_held_out I)) of the broadcast shape; NaN where the mean or the variance is not positive.

    Accuracy: for accuracies from 0.69 to 0.98, within 3 % from 1000 points on, and within 1 % from 10,000
    (tests/gaussian/beyond/test_temperature_limits.py).

    Example:
      >>> from mixjax.gaussian import ScoreLaw, held_out_ece
      >>> round(float(held_out_ece(ScoreLaw.from_moments(1.0, 2.0), 1000)), 4)
      0.0081
    """
    (n_held_out,) = checked(n_held_out=n_held_out)
    size, information = _size_and_information(law)
    size, information, n_held_out = aligned(size, information, n_held_out.astype(size.dtype))
    return size * jnp.sqrt(2.0 / (math.pi * n_held_out * information))


def held_out_size_matching(law: ScoreLaw, ece: ArrayLike) -> Float[Array, "*batch"]:
    """Return the number of held-out points that gives temperature scaling an expected ECE, to leading order.

    Args:
      law: the law of the score before scaling, with a mean above 0.
      ece: the ECE to match, > 0, such as that of a Mixup classifier.

    Returns:
      2 K^2 / (pi I ece^2) of the broadcast shape, not rounded; NaN where the mean or the variance is not positive.

    Example:
      >>> from mixjax.gaussian import ScoreLaw, held_out_size_matching
      >>> round(float(held_out_size_matching(ScoreLaw.from_moments(1.0, 2.0), 0.01)), 1)
      651.4
    """
    (ece,) = checked(ece=ece)
    size, information = _size_and_information(law)
    size, information, ece = aligned(size, information, ece.astype(size.dtype))
    return 2.0 * (size / ece) ** 2 / (math.pi * information)


def critical_held_out_ratio(
    ratio: ArrayLike, theta_norm: ArrayLike, *, weight: WeightKind = "best"
) -> Float[Array, "*batch"]:
    """Return the n_held_out / n up to which Mixup is better calibrated than temperature scaling, in the limit.

    Args:
      ratio: c >= 0, the limit of p/n.
      theta_norm: |theta| >= 0 (divide by sigma first).
      weight: static. "best", `best_weight` of (c, |theta|), which have to be known; or "estimated", `estimated_weight`.

    Returns:
      1 / (I V) of the broadcast shape where a Beta law has that weight, c < |theta|^2; else 0.

    Raises:
      ValueError: for another weight.

    Example:
      >>> from mixjax.gaussian import critical_held_out_ratio
      >>> round(float(critical_held_out_ratio(0.5, 1.0)), 2)
      7.04
    """
    check_option("weight", weight, WeightKind)
    ratio, theta_norm = jnp.broadcast_arrays(*aligned(*checked(ratio=ratio, theta_norm=theta_norm)))
    square = theta_norm**2
    within = ratio < square
    safe = jnp.where(within, square, 1.0)  # 0 only where it is not within
    if weight == "best":
        variance = (ratio**2 + safe**2) / (safe * (safe + ratio) ** 2)
    else:
        variance = (safe + 2.0 * ratio) / safe**2
    strength = safe**2 / (safe + ratio)  # M
    _, information = _size_and_information(ScoreLaw(strength, jnp.zeros_like(strength)))
    return jnp.where(jnp.isnan(ratio + theta_norm), jnp.nan, jnp.where(within, 1.0 / (information * variance), 0.0))


@of_law
def _size_and_information(law: ScoreLaw) -> tuple[jax.Array, jax.Array]:
    """Return K and I of a law. Folded at 0, N(x; M, M) sech^2 x is 4 N(x; -M, M) / (1 + e^(-2x)) on x > 0."""
    right = (law.mean > 0) & (law.var > 0)
    strength = jnp.where(right, law.mean, 1.0) ** 2 / jnp.where(right, law.var, 1.0)

    def integrand(x: jax.Array) -> tuple[jax.Array, ...]:
        weight = 4.0 * x / (1.0 + jnp.exp(-2.0 * x))
        return 0.5 * weight, x * weight

    size, information = half_line_integrals(-strength, strength, integrand)
    return jnp.where(right, size, jnp.nan), jnp.where(right, information, jnp.nan)
