r"""Calibration of a linear score under the Gaussian model, exact: no data, no bins.

Paper: the definitions of ECE (Section 2) and MCE (Section 5), for the model of Definition 3.1.
Everything is a function of the two numbers of a `ScoreLaw` (m, w); with rho = m/w and the
logistic s, a score v is right with probability s(2 rho |v|) where the classifier claims s(2 |v|):

    gap(v) = |s(2 rho v) - s(2v)|,    ECE_r = (E gap(v)^r)^(1/r),    MCE = sup_v gap(v),    v ~ N(m, w).

Folding v at 0 and collecting exponents, with d = w - m and kappa = |1 - rho| = |d|/w,

    E gap^r = e^{2 min(d, 0)} * integral over v >= 0 of N(v; c, w) B(v) gap(v)^{r-1} dv,
    c = -m - 2 min(d, 0),    B(v) = (1 - e^{-2 kappa v}) / (1 + e^{-2v}),

which neither cancels nor overflows for any m.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float

from mixjax.gaussian.law import ScoreLaw, checked_law, of_law
from mixjax.gaussian.maximum import population_mce
from mixjax.numerics.arguments import aligned, checked
from mixjax.numerics.elementary import one_minus_exp, root
from mixjax.numerics.options import check_norm
from mixjax.numerics.quadrature import half_line_integrals
from mixjax.typing import ArrayLike, Real


class CalibrationErrors(NamedTuple):
    """ECE_1, the root of ECE_2, and MCE, each of the batch shape of the laws.

    Example:
      >>> from mixjax.gaussian import CalibrationErrors, ScoreLaw, population_errors
      >>> isinstance(population_errors(ScoreLaw.from_moments(4.0, 5.0)), CalibrationErrors)
      True
    """

    ece: Float[Array, "*batch"]
    rms_ece: Float[Array, "*batch"]
    mce: Float[Array, "*batch"]


def population_ece(law: ScoreLaw, *, norm: Real = 1) -> Float[Array, "*batch"]:
    r"""Return the ECE of a law, :math:`(E\,|s(2\rho v) - s(2v)|^r)^{1/r}`; for r = inf the MCE.

    Args:
      law: the score's, any batch shape.
      norm: r, at least 1; static. The paper's ECE is r = 1, its ECE_2 is r = 2 (the root is returned).

    Returns:
      A probability in [0, 1] of the batch shape; 0 exactly where `law.gap` is 0, NaN where the
      variance is not positive.

    Raises:
      ValueError: if `norm` is below 1.

    Accuracy, over variances from 1e-4 to 1e4 and means of either sign up to 1e4 (tests/gaussian/test_population.py):
    absolute 2e-10 in float64, 1e-12 while |mean| <= 10 and var <= 30 (fractional r: 1e-7), and 1e-5 in float32.
    For r = 1 the relative error is as small, down to 1e-100 (float32: 3e-5, down to 1e-30). For other r a small value
    has fewer digits, and may have none below 1e-50. Reference: Section 2.

    Example:
      >>> from mixjax.gaussian import ScoreLaw, population_ece
      >>> round(float(population_ece(ScoreLaw.from_moments(4.0, 5.0))), 4)
      0.0088
    """
    check_norm(norm)
    if np.isinf(norm):
        return population_mce(law)
    return _ece(checked_law(law), norm)


@partial(jax.jit, static_argnames="norm")
def _ece(law: ScoreLaw, norm: Real) -> jax.Array:
    return root(_gap_moments(law, jnp.abs(law.gap), (norm,))[0], norm)


@of_law
def population_errors(law: ScoreLaw) -> CalibrationErrors:
    """Return ECE, the root of ECE_2, and MCE in one pass, at less than the cost of computing each.

    Args:
      law: the score's, any batch shape.

    Returns:
      Three errors of the batch shape, as of `population_ece`.

    Example:
      >>> from mixjax.gaussian import ScoreLaw, population_errors
      >>> [round(float(error), 4) for error in population_errors(ScoreLaw.from_moments(4.0, 5.0))]
      [0.0088, 0.0166, 0.0498]
    """
    ece, square = _gap_moments(law, jnp.abs(law.gap), (1, 2))
    return CalibrationErrors(ece, root(square, 2), population_mce(law))


@partial(jax.jit, static_argnames="norms")
def _gap_moments(law: ScoreLaw, size: jax.Array, norms: tuple[Real, ...]) -> tuple[jax.Array, ...]:
    """Return E gap(v)^r for each r; `size` is |law.gap|, with the derivative that is wanted at 0."""
    under = jnp.minimum(law.gap, 0.0)
    var, center = law.var, -law.mean - 2.0 * under
    positive = var > 0
    var = jnp.where(positive, var, 1.0)
    kappa, slope = size / var, law.mean / var

    def integrand(v: jax.Array) -> tuple[jax.Array, ...]:
        excess = one_minus_exp(2.0 * kappa * v)
        ratio = excess / (1.0 + jnp.exp(-2.0 * v))
        if norms == (1,):
            return (ratio,)
        gap = ratio / (jnp.exp(2.0 * jnp.minimum(slope, 1.0) * v) + jnp.where(under < 0, 1.0 - excess, 1.0))
        return tuple(ratio * gap ** (r - 1) if r != 1 else ratio for r in norms)

    moments = half_line_integrals(center, var, integrand)
    scale = jnp.where(positive, jnp.exp(2.0 * under), jnp.nan)
    return tuple(scale * moment for moment in moments)


@of_law
def population_accuracy(law: ScoreLaw) -> Float[Array, "*batch"]:
    r"""Return the accuracy of a law, :math:`P(\mathrm{sgn}\,v = y) = \Phi(m/\sqrt w)`.

    Args:
      law: the score's, any batch shape.

    Returns:
      A probability of the batch shape; NaN where the variance is not positive.

    Example:
      >>> from mixjax.gaussian import ScoreLaw, population_accuracy
      >>> round(float(population_accuracy(ScoreLaw.from_moments(4.0, 5.0))), 4)
      0.9632
    """
    var = law.var
    return jnp.where(var > 0, ndtr(law.mean / jnp.sqrt(jnp.where(var > 0, var, 1.0))), jnp.nan)


@of_law
def population_signed_gap(law: ScoreLaw) -> Float[Array, "*batch"]:
    r"""Return mean confidence minus accuracy, :math:`E\,s(2|v|) - P(\mathrm{sgn}\,v = y)`.

    Args:
      law: the score's, any batch shape.

    Returns:
      sign(1 - rho) ECE of the batch shape, positive where over-confident; NaN where the variance is not positive.

    Example:
      >>> from mixjax.gaussian import ScoreLaw, population_signed_gap
      >>> round(float(population_signed_gap(ScoreLaw.from_moments(4.0, 5.0))), 4)
      0.0088
    """
    sign = jnp.where(law.gap < 0, -1.0, 1.0).astype(law.gap.dtype)  # of 0 too: the signed gap is smooth there
    return sign * _gap_moments(law, sign * law.gap, (1,))[0]


@of_law
def population_nll(law: ScoreLaw) -> Float[Array, "*batch"]:
    r"""Return the negative log likelihood :math:`E \log(1 + e^{-2u})`, :math:`u = yv \sim N(m, w)`, in nats.

    Args:
      law: the score's, any batch shape.

    Returns:
      Numbers >= 0 of the batch shape; NaN where the variance is not positive.

    Accuracy, over the laws of `population_ece`: within 1e-10 (float64) and 1e-5 (float32) of max(1, NLL), and 1e-12
    (float64) while |mean| <= 10 and var <= 30. A small value has fewer digits, and may have none below 1e-50.

    Example:
      >>> from mixjax.gaussian import ScoreLaw, population_nll
      >>> round(float(population_nll(ScoreLaw.from_moments(4.0, 5.0))), 4)
      0.0986
    """
    deviation = jnp.sqrt(jnp.where(law.var > 0, law.var, 1.0))
    z = law.mean / deviation  # E 2 max(-u, 0) is known; log(1 + e^{-2|u|}) remains
    hinge = deviation * jnp.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi) - law.mean * ndtr(-z)
    left, right = (_mean_where(law, sign, lambda v: jnp.log1p(jnp.exp(-2.0 * v))) for sign in (-1.0, 1.0))
    return jnp.where(law.var > 0, 2.0 * hinge + left + right, jnp.nan)


@of_law
def population_brier(law: ScoreLaw) -> Float[Array, "*batch"]:
    r"""Return the Brier score, summed over the two classes: :math:`2\,E\,s(-2u)^2`, :math:`u = yv \sim N(m, w)`.

    Args:
      law: the score's, any batch shape.

    Returns:
      Numbers in [0, 2] of the batch shape; NaN where the variance is not positive.

    Accuracy, over the laws of `population_ece`: 5e-10 (float64), 2e-5 (float32), 1e-12 if |mean| <= 10 and var <= 30.

    Example:
      >>> from mixjax.gaussian import ScoreLaw, population_brier
      >>> round(float(population_brier(ScoreLaw.from_moments(4.0, 5.0))), 4)
      0.0557
    """
    wrong = _mean_where(law, -1.0, lambda v: jax.nn.sigmoid(2.0 * v) ** 2)
    right = _mean_where(law, 1.0, lambda v: jax.nn.sigmoid(-2.0 * v) ** 2)
    return jnp.where(law.var > 0, 2.0 * (wrong + right), jnp.nan)


def _mean_where(law: ScoreLaw, sign: Real, loss: Callable[[jax.Array], jax.Array]) -> jax.Array:
    """Return the mean of loss(|u|) over the u of one sign, for u ~ N(m, w)."""
    return half_line_integrals(sign * law.mean, jnp.where(law.var > 0, law.var, 1.0), lambda v: (loss(v),))[0]


def reliability_curve(law: ScoreLaw, confidence: ArrayLike) -> Float[Array, "*batch points"]:
    r"""Return the accuracy at each confidence, :math:`s(\rho\,\mathrm{logit}\,c)`.

    Args:
      law: the score's, any batch shape.
      confidence: c in [0, 1], shape [points]; at 0 and 1 the limit.

    Returns:
      Shape [*batch, points]. Calibrated is the diagonal. NaN where the variance is not positive.

    Example:
      >>> from mixjax.gaussian import ScoreLaw, reliability_curve
      >>> [round(float(accuracy), 3) for accuracy in reliability_curve(ScoreLaw.from_moments(4.0, 5.0), [0.5, 0.9])]
      [0.5, 0.853]
    """
    law = checked_law(law)
    return _reliability(law, *checked(confidence=confidence))


@jax.jit
def _reliability(law: ScoreLaw, confidence: jax.Array) -> jax.Array:
    confidence = confidence.astype(law.mean.dtype).reshape(-1)
    slope = jnp.where(law.var > 0, law.slope, jnp.nan)[..., None]
    logit = jnp.log(confidence) - jnp.log1p(-confidence)
    slope, logit = aligned(slope, logit)
    return jnp.where(slope == 0, 0.5, jax.nn.sigmoid(slope * logit))
