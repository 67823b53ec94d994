"""Exact calibration of a linear score with a bias where the classes have unequal sizes: no data, no bins.

Not in the paper. With P(y = +1) = pi, L = log(pi / (1 - pi)), and a score v whose law given y is N(y m, w), the
classifier claims P(y = +1) = s(2v + b); b = 0 is the paper's, b = L knows the sizes of the classes. The truth is
s(2 rho v + L), rho = m/w. Two errors, one for each class and one for the predicted class:

    class-wise: E |s(2 rho v + L) - s(2v + b)|
    top-label:  integral over c > 0 of |right(c) s(-c) - wrong(c) s(c)| dc,

where right and wrong are the densities of |2v + b| with a right and a wrong prediction. They are equal where pi = 1/2
and b = 0. At b = 0 the top-label error is that of balanced classes for every pi, since it depends on y v ~ N(m, w)
alone.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax.scipy.stats import norm
from jaxtyping import Array, Float

from mixjax.gaussian.beyond.class_ece import ClassKind
from mixjax.gaussian.law import ScoreLaw, checked_law
from mixjax.gaussian.limits import increasing_root
from mixjax.gaussian.rules import LARGEST_NORMAL, panels
from mixjax.numerics.arguments import aligned, checked
from mixjax.numerics.options import check_option
from mixjax.typing import ArrayLike, Real

_NODES = 24  # of each panel


def imbalanced_ece(
    law: ScoreLaw, *, positive_rate: ArrayLike, bias: ArrayLike = 0.0, kind: ClassKind = "top-label"
) -> Float[Array, "*batch"]:
    r"""Compute the ECE of the claim :math:`P(y = +1) = s(2v + b)` where :math:`P(y = +1) = \pi`.

    Args:
      law: the law of the score given its class, any batch shape.
      positive_rate: pi in (0, 1).
      bias: b, any real numbers; log(pi / (1 - pi)) if class sizes are known.
      kind: static. "top-label", of the predicted class, is the paper's; "class-wise" is the mean over both classes of
        the errors of the claims about them, which are equal.

    Returns:
      Probabilities of the broadcast shape. NaN where the variance is not positive.

    Raises:
      ValueError: for another kind.

    Accuracy, |mean| <= 10, 1e-3 <= var <= 30 and |bias| <= 10 (tests/gaussian/beyond/test_imbalanced_ece.py):
    absolute 1e-6 in float64 and 1e-5 in float32.

    Example:
      >>> from mixjax.gaussian import ScoreLaw, imbalanced_ece
      >>> round(float(imbalanced_ece(ScoreLaw.from_moments(1.0, 2.0), positive_rate=0.8, bias=1.386)), 3)
      0.063
    """
    check_option("kind", kind, ClassKind)
    law = checked_law(law)
    rate, bias = (value.astype(law.mean.dtype) for value in checked(positive_rate=positive_rate, bias=bias))
    mean, gap, rate, bias = jnp.broadcast_arrays(*aligned(law.mean, law.gap, rate, bias))
    return _imbalanced_ece(ScoreLaw(mean, gap), rate, bias, kind)


@partial(jax.jit, static_argnames="kind")
def _imbalanced_ece(law: ScoreLaw, rate: jax.Array, bias: jax.Array, kind: ClassKind) -> jax.Array:
    positive = law.var > 0
    var = jnp.where(positive, law.var, 1.0)
    parts = (law.mean, law.gap, var, rate, bias)
    error = (_class_wise_ece if kind == "class-wise" else _top_label_ece)(*(part[..., None] for part in parts))
    return jnp.where(positive, error, jnp.nan)


def _class_wise_ece(mean: jax.Array, gap: jax.Array, var: jax.Array, rate: jax.Array, bias: jax.Array) -> jax.Array:
    """Integrate over v, split where the gap changes sign, at both logistic curves' middles and around both peaks."""
    rho, log_odds, deviation = mean / var, jnp.log(rate) - jnp.log1p(-rate), jnp.sqrt(var)
    spread = LARGEST_NORMAL[var.dtype] * deviation
    reach = jnp.abs(mean) + spread
    crossing = _quotient(0.5 * (log_odds - bias) * var, gap)
    breaks = [crossing, -0.5 * bias, _quotient(-0.5 * log_odds, rho)]
    breaks += [sign * jnp.abs(mean) + side * spread for sign in (-1.0, 1.0) for side in (-1.0, 0.0, 1.0)]
    v, dv = panels(breaks, -reach, reach, _NODES)
    truth, claim = 2.0 * rho * v + log_odds, 2.0 * v + bias
    difference = -jnp.abs(log_odds - bias - 2.0 * gap / var * v)
    size = jax.nn.sigmoid(jnp.maximum(truth, claim)) * jax.nn.sigmoid(-jnp.minimum(truth, claim))
    density = rate * norm.pdf(v, mean, deviation) + (1.0 - rate) * norm.pdf(v, -mean, deviation)
    return jnp.sum(dv * density * size * -jnp.expm1(difference), axis=-1)


def _top_label_ece(mean: jax.Array, gap: jax.Array, var: jax.Array, rate: jax.Array, bias: jax.Array) -> jax.Array:
    """Integrate over c = |2v + b|, split where the gap changes sign and around the peaks of the density."""
    spread = 2.0 * LARGEST_NORMAL[var.dtype] * jnp.sqrt(var)
    end = 2.0 * jnp.abs(mean) + spread + jnp.abs(bias)
    root = _sign_change(mean, gap, var, rate, bias, end)
    peaks = [jnp.abs(2.0 * mean + bias), jnp.abs(2.0 * mean - bias)]
    breaks = [root, *(peak + side * spread for peak in peaks for side in (-1.0, 0.0, 1.0))]
    c, dc = panels(breaks, jnp.zeros_like(end), end, _NODES)
    right, wrong = (jnp.exp(density) for density in _log_densities(c, mean, var, rate, bias))
    return jnp.sum(dc * jnp.abs(right * jax.nn.sigmoid(-c) - wrong * jax.nn.sigmoid(c)), axis=-1)


def _log_densities(
    c: jax.Array, mean: jax.Array, var: jax.Array, rate: jax.Array, bias: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return the log densities of |2v + b| = c with a right and with a wrong prediction."""

    def log_mixture(sign: Real) -> jax.Array:
        """Mix y = +1 and -1, with 2v + b = y c (right) or -y c (wrong): y v - m is normal, and dv = dc / 2."""
        log_density = [norm.logpdf(0.5 * (sign * c - side * bias), mean, jnp.sqrt(var)) for side in (1.0, -1.0)]
        return jnp.logaddexp(jnp.log(0.5 * rate) + log_density[0], jnp.log(0.5 * (1.0 - rate)) + log_density[1])

    return log_mixture(1.0), log_mixture(-1.0)


def _sign_change(
    mean: jax.Array, gap: jax.Array, var: jax.Array, rate: jax.Array, bias: jax.Array, end: jax.Array
) -> jax.Array:
    """Find the c > 0 at which log(right / wrong) - c, which is 0 at c = 0, is 0 again.

    It is odd, and (rho - 1) c plus a logarithm of a quotient of linear functions of exp(b c / (2w)), so that it turns
    once at most for c > 0: where cosh(b c / (2w)) = [b (A - B) / (2 (w - m)) - A - B] / (2 pi (1 - pi)), with
    A = pi^2 exp(-rho b) and B = (1 - pi)^2 exp(rho b).
    """
    a, b = rate**2 * jnp.exp(-mean / var * bias), (1.0 - rate) ** 2 * jnp.exp(mean / var * bias)
    cosh = (_quotient(0.5 * bias * (a - b), gap) - a - b) / (2.0 * rate * (1.0 - rate))
    turning = _quotient(2.0 * var * jnp.arccosh(jnp.maximum(cosh, 1.0)), jnp.abs(bias))
    low = jnp.clip(jnp.nan_to_num(turning), 0.0, end)

    def excess(c: jax.Array) -> jax.Array:
        right, wrong = _log_densities(c, mean, var, rate, bias)
        return right - wrong - c

    direction = jnp.sign(excess(end) - excess(low))
    return increasing_root(lambda c: direction * excess(c), low, end)


def _quotient(over: jax.Array, under: jax.Array) -> jax.Array:
    """Divide, with 0 for an infinite quotient: a position for a break that is not needed."""
    return jnp.where(under == 0, 0.0, over / jnp.where(under == 0, 1.0, under))
