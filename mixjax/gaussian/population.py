r"""Calibration of a linear score under the Gaussian model, exact: no data, no bins.

Paper: the definitions of ECE (Section 2) and MCE (Section 5), for the model of Definition 3.1.
Everything is a function of the two numbers of a `ScoreLaw` (m, w); with rho = m/w and the
logistic s, a score v is right with probability s(2 rho |v|) where the classifier claims s(2 |v|):

    gap(v) = |s(2 rho v) - s(2v)|,    ECE_r = (E gap(v)^r)^(1/r),    MCE = sup_v gap(v),    v ~ N(m, w).

Folding v at 0 and collecting exponents, with d = w - m and kappa = |1 - rho| = |d|/w,

    E gap^r = e^{2 min(d, 0)} * integral over v >= 0 of N(v; c, w) B(v) gap(v)^{r-1} dv,
    c = -m - 2 min(d, 0),    B(v) = (1 - e^{-2 kappa v}) / (1 + e^{-2v}),

which neither cancels nor overflows for any m, positive or negative.
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
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from mixjax._arguments import aligned, as_floats, check
from mixjax.gaussian.quadrature import half_line_integrals
from mixjax.gaussian.score_law import ScoreLaw

__all__ = [
    "CalibrationErrors",
    "population_accuracy",
    "population_brier",
    "population_ece",
    "population_errors",
    "population_mce",
    "population_nll",
    "population_signed_gap",
    "reliability_curve",
]


Function = Callable[[jax.Array], jax.Array]


class CalibrationErrors(NamedTuple):
    """ECE_1, the root of ECE_2, and MCE, each of the batch shape of the laws."""

    ece: Float[Array, "*batch"]
    ece2: Float[Array, "*batch"]
    mce: Float[Array, "*batch"]


def population_ece(law: ScoreLaw, *, norm: float = 1) -> Float[Array, "*batch"]:
    r"""Expected calibration error :math:`(E\,|s(2\rho v) - s(2v)|^r)^{1/r}`; for r = inf the MCE.

    Args:
      law: of the score, any batch shape.
      norm: r, at least 1; static. The paper's ECE is r = 1, its ECE_2 is r = 2 (the root is returned).

    Returns:
      A probability in [0, 1] of the batch shape; 0 exactly where `law.gap` is 0, NaN where the
      variance is not positive.

    Raises:
      ValueError: if `norm` is below 1.

    Accuracy: float64 within 1e-12, absolute and relative (1e-7 for fractional r);
    float32 within 5e-6 of both (measured over
    variances from 1e-4 to 1e4, pinned by tests/gaussian/test_population.py). Source: Section 2.
    """
    if not norm >= 1:
        raise ValueError(f"norm must be at least 1, got {norm}")
    if np.isinf(norm):
        return population_mce(law)
    law = _checked(law)
    return _root(_gap_moments(law, jnp.abs(law.gap), (norm,))[0], norm)


def population_errors(law: ScoreLaw) -> CalibrationErrors:
    """ECE, ECE_2 and MCE in one pass, at less than the cost of computing each; see `population_ece`."""
    law = _checked(law)
    ece, square = _gap_moments(law, jnp.abs(law.gap), (1, 2))
    return CalibrationErrors(ece, _root(square, 2), population_mce(law))


def _root(moment: jax.Array, norm: float) -> jax.Array:
    """moment^(1/r), whose derivative at 0 is taken as 0."""
    positive = moment > 0
    return jnp.where(positive, jnp.where(positive, moment, 1.0) ** (1.0 / norm), moment)


@partial(jax.jit, static_argnames="norms")
def _gap_moments(law: ScoreLaw, size: jax.Array, norms: tuple[float, ...]) -> tuple[jax.Array, ...]:
    """E gap(v)^r for each r; `size` is |law.gap|, with the derivative that is wanted at 0."""
    under = jnp.minimum(law.gap, 0.0)
    var, centre = law.var, -law.mean - 2.0 * under
    positive = var > 0
    var = jnp.where(positive, var, 1.0)
    kappa, slope = size / var, law.mean / var

    def integrand(v: jax.Array) -> tuple[jax.Array, ...]:
        excess = _one_minus_exp(2.0 * kappa * v)
        ratio = excess / (1.0 + jnp.exp(-2.0 * v))
        if norms == (1,):
            return (ratio,)
        gap = ratio / (jnp.exp(2.0 * jnp.minimum(slope, 1.0) * v) + jnp.where(under < 0, 1.0 - excess, 1.0))
        return tuple(ratio * gap ** (r - 1) if r != 1 else ratio for r in norms)

    moments = half_line_integrals(centre, var, integrand)
    scale = jnp.where(positive, jnp.exp(2.0 * under), jnp.nan)
    return tuple(scale * moment for moment in moments)


def _one_minus_exp(x: jax.Array) -> jax.Array:
    """1 - exp(-x) for x >= 0, to full relative precision; in float32 faster than expm1."""
    if x.dtype == jnp.float64:
        return -jnp.expm1(-x)
    series = x * (1.0 - x * (0.5 - x * (1 / 6 - x / 24)))
    return jnp.where(x < 0.03, series, 1.0 - jnp.exp(-x))


def population_mce(law: ScoreLaw) -> Float[Array, "*batch"]:
    r"""Maximum calibration error :math:`\sup_v |s(2\rho v) - s(2v)|`, a function of :math:`\rho` alone.

    With :math:`r = \min(\rho, 1/\rho)` the supremum is :math:`\tfrac12(\tanh x - \tanh rx)` at the x with
    :math:`\mathrm{sech}^2 x = r\,\mathrm{sech}^2 rx`.

    Args:
      law: of the score, any batch shape.

    Returns:
      A probability of the batch shape: 0 where `law.gap` is 0, 1/2 where the mean is 0 (not attained),
      1 where the mean is negative, NaN where the variance is not positive.

    Accuracy: float64 within 1e-14, float32 within 2e-7. Source: Section 5.
    """
    law = _checked(law)
    var = law.var
    usual = (law.mean > 0) & (var > 0)
    larger = jnp.where(usual, jnp.maximum(law.mean, var), 1.0)
    r = jnp.where(usual, jnp.minimum(law.mean, var), 1.0) / larger
    one_minus_r = jnp.where(usual, jnp.abs(law.gap), 0.0) / larger
    x = widest_point(r, one_minus_r)
    value = _half_tanh_difference(x, r, one_minus_r)
    wrong_way = jnp.where(law.mean < 0, 1.0, 0.5).astype(var.dtype)
    return jnp.where(var > 0, jnp.where(usual, value, wrong_way), jnp.nan)


def _half_tanh_difference(x: jax.Array, r: jax.Array, one_minus_r: jax.Array) -> jax.Array:
    """(tanh x - tanh rx) / 2 = sinh((1-r)x) / (2 cosh x cosh rx) without cancellation."""
    decay, excess = jnp.exp(-2.0 * r * x), _one_minus_exp(2.0 * one_minus_r * x)
    return decay * excess / ((1.0 + decay) * (1.0 + decay * (1.0 - excess)))


# x - s/2 as a function of s = -log r: 0.7717 (where 2x tanh x = 1) at s = 0, log 2 at infinity. Rational
# approximation of error 1.7e-4 on all of s >= 0; the value at x is second order in it.
_WIDEST_NUMERATOR = (
    0.771696913205141,
    0.23395081161387193,
    0.1653866400948271,
    0.004796578130414096,
    0.024103109506873232,
)
_WIDEST_DENOMINATOR = (1.0, 0.45065135599389744, 0.21806230579631738, 0.00800894650018031, 0.03476349928651286)


def widest_point(r: jax.Array, one_minus_r: jax.Array) -> jax.Array:
    """The x at which tanh x - tanh rx is largest: by formula in float32, polished by Newton in float64."""
    s = jnp.minimum(-jnp.log(r), 300.0)
    x = 0.5 * s + jnp.polyval(jnp.asarray(_WIDEST_NUMERATOR[::-1], s.dtype), s) / jnp.polyval(
        jnp.asarray(_WIDEST_DENOMINATOR[::-1], s.dtype), s
    )
    if x.dtype == jnp.float32:
        return x
    delta = jnp.maximum(one_minus_r, 1e-30)
    for _ in range(2):
        decay, excess = jnp.exp(-2.0 * r * x), _one_minus_exp(2.0 * delta * x)
        log_cosh_ratio = jnp.log1p(-decay * excess / (1.0 + decay)) / delta + x  # log(cosh x / cosh rx) / (1-r)
        residual = log_cosh_ratio + 0.5 * _log_over_excess(r, delta)
        tanh_rx = _one_minus_exp(2.0 * r * x) / (1.0 + decay)
        x = x - residual / (2.0 * _half_tanh_difference(x, r, delta) / delta + tanh_rx)
    return x


def _log_over_excess(r: jax.Array, delta: jax.Array) -> jax.Array:
    """log(r) / (1 - r)."""
    return jnp.where(delta < 0.5, jnp.log1p(-jnp.minimum(delta, 0.5)), jnp.log(r)) / delta


def population_accuracy(law: ScoreLaw) -> Float[Array, "*batch"]:
    r"""P(sgn v = y) = :math:`\Phi(m/\sqrt w)`; NaN where the variance is not positive."""
    law = _checked(law)
    var = law.var
    return jnp.where(var > 0, ndtr(law.mean / jnp.sqrt(jnp.where(var > 0, var, 1.0))), jnp.nan)


def population_signed_gap(law: ScoreLaw) -> Float[Array, "*batch"]:
    r"""Mean confidence minus accuracy: :math:`E\,s(2|v|) - P(\mathrm{sgn}\,v = y) = \mathrm{sign}(1-\rho)\,ECE_1`.

    Positive where the classifier claims too much. NaN where the variance is not positive.
    """
    law = _checked(law)
    sign = jnp.where(law.gap < 0, -1.0, 1.0).astype(law.gap.dtype)  # of 0 too: the signed gap is smooth there
    return sign * _gap_moments(law, sign * law.gap, (1,))[0]


def population_nll(law: ScoreLaw) -> Float[Array, "*batch"]:
    r"""Negative log likelihood :math:`E \log(1 + e^{-2u})`, :math:`u = yv \sim N(m, w)`, in nats.

    NaN where the variance is not positive. Accuracy: within 1e-12 (float64), 5e-6 (float32) relative.
    """
    law = _checked(law)
    deviation = jnp.sqrt(jnp.where(law.var > 0, law.var, 1.0))
    z = law.mean / deviation  # E 2 max(-u, 0) is known; log(1 + e^{-2|u|}) remains
    hinge = deviation * jnp.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi) - law.mean * ndtr(-z)
    left, right = _folded(law, _softplus_tail, _softplus_tail)
    return jnp.where(law.var > 0, 2.0 * hinge + left + right, jnp.nan)


def population_brier(law: ScoreLaw) -> Float[Array, "*batch"]:
    r"""Brier score summed over the two classes, :math:`2\,E\,s(-2u)^2`, :math:`u = yv \sim N(m, w)`; in [0, 2].

    NaN where the variance is not positive. Accuracy: within 1e-12 (float64), 2e-6 (float32).
    """
    law = _checked(law)
    wrong, right = _folded(law, _wrong_square, _right_square)
    return jnp.where(law.var > 0, 2.0 * (wrong + right), jnp.nan)


def _softplus_tail(v: jax.Array) -> jax.Array:
    return jnp.log1p(jnp.exp(-2.0 * v))


def _wrong_square(v: jax.Array) -> jax.Array:
    return jax.nn.sigmoid(2.0 * v) ** 2


def _right_square(v: jax.Array) -> jax.Array:
    return jax.nn.sigmoid(-2.0 * v) ** 2


@partial(jax.jit, static_argnames=("negative", "positive"))
def _folded(law: ScoreLaw, negative: Function, positive: Function) -> tuple[jax.Array, jax.Array]:
    """E negative(|u|) over u < 0 and E positive(u) over u > 0, for u ~ N(m, w)."""
    var = jnp.where(law.var > 0, law.var, 1.0)
    (left,) = half_line_integrals(-law.mean, var, lambda v: (negative(v),))
    (right,) = half_line_integrals(law.mean, var, lambda v: (positive(v),))
    return left, right


def reliability_curve(law: ScoreLaw, confidence: ArrayLike) -> Float[Array, "*batch points"]:
    r"""The accuracy at each confidence: :math:`s(\rho\,\mathrm{logit}\,c)`.

    Args:
      law: of the score, any batch shape.
      confidence: c in [0, 1], shape [points]; at 0 and 1 the limit.

    Returns:
      Shape [*batch, points]. Calibrated is the diagonal. NaN where the variance is not positive.
    """
    law = _checked(law)
    check("confidence", confidence, lambda c: (c >= 0) & (c <= 1), "in [0, 1]")
    (confidence,) = as_floats(confidence=confidence)
    confidence = confidence.astype(law.mean.dtype).reshape(-1)
    slope = jnp.where(law.var > 0, law.slope, jnp.nan)[..., None]
    logit = jnp.log(confidence) - jnp.log1p(-confidence)
    slope, logit = aligned(slope, logit)
    return jnp.where(slope == 0, 0.5, jax.nn.sigmoid(slope * logit))


def _checked(law: ScoreLaw) -> ScoreLaw:
    """The law in one floating dtype and one shape."""
    if not isinstance(law, ScoreLaw):
        raise TypeError(f"law must be a ScoreLaw, got {type(law).__name__}")
    mean, gap = as_floats(mean=law.mean, gap=law.gap)
    return ScoreLaw(*jnp.broadcast_arrays(*aligned(mean, gap)))
