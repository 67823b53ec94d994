r"""The largest calibration gap of a linear score under the Gaussian model, and the score at which it is.

Paper: the definition of the MCE (Section 5), for the model of Definition 3.1. A score v is right with probability
s(2 rho |v|) where the classifier claims s(2 |v|), with rho = m/w of its `ScoreLaw`: the gap is
|tanh(rho v) - tanh v| / 2, and MCE = sup_v of it depends on rho alone.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mixjax.gaussian.law import ScoreLaw, of_law
from mixjax.numerics.elementary import one_minus_exp, polynomial


@of_law
def population_mce(law: ScoreLaw) -> Float[Array, "*batch"]:
    r"""Return the MCE of a law, :math:`\sup_v |s(2\rho v) - s(2v)|`, a function of :math:`\rho` alone.

    With :math:`r = \min(\rho, 1/\rho)` the supremum is :math:`\tfrac12(\tanh x - \tanh rx)` at the x with
    :math:`\mathrm{sech}^2 x = r\,\mathrm{sech}^2 rx`.

    Args:
      law: the score's, any batch shape.

    Returns:
      A probability of the batch shape: 0 where `law.gap` is 0, 1/2 where the mean is 0 (not attained),
      1 where the mean is negative, NaN where the variance is not positive.

    Accuracy: float64 within 1e-14, float32 within 2e-7. Reference: Section 5.

    Example:
      >>> from mixjax.gaussian import ScoreLaw, population_mce
      >>> round(float(population_mce(ScoreLaw.from_moments(4.0, 5.0))), 4)
      0.0498
    """
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
    """Return (tanh x - tanh rx) / 2 = sinh((1-r)x) / (2 cosh x cosh rx) without cancellation."""
    decay, excess = jnp.exp(-2.0 * r * x), one_minus_exp(2.0 * one_minus_r * x)
    return decay * excess / ((1.0 + decay) * (1.0 + decay * (1.0 - excess)))


# x - s/2 as a function of s = -log r: 0.7717 (where 2x tanh x = 1) at s = 0, log 2 at infinity. Rational
# approximation of error 1.7e-4 on all of s >= 0; the value at x is second order in it.
_WIDEST_NUMERATOR = (0.771696913205141, 0.23395081161387193, 0.1653866400948271, 0.004796578130414096,
                     0.024103109506873232)  # fmt: skip
_WIDEST_DENOMINATOR = (1.0, 0.45065135599389744, 0.21806230579631738, 0.00800894650018031, 0.03476349928651286)


def widest_point(r: jax.Array, one_minus_r: jax.Array) -> jax.Array:
    """Find the x at which tanh x - tanh rx is largest: by formula in float32, polished by Newton in float64."""
    s = jnp.minimum(-jnp.log(r), 300.0)
    x = 0.5 * s + polynomial(s, _WIDEST_NUMERATOR) / polynomial(s, _WIDEST_DENOMINATOR)
    if x.dtype == jnp.float32:
        return x
    delta = jnp.maximum(one_minus_r, 1e-30)
    for _ in range(2):
        decay, excess = jnp.exp(-2.0 * r * x), one_minus_exp(2.0 * delta * x)
        log_cosh_ratio = jnp.log1p(-decay * excess / (1.0 + decay)) / delta + x  # log(cosh x / cosh rx) / (1-r)
        residual = log_cosh_ratio + 0.5 * _log_over_excess(r, delta)
        tanh_rx = one_minus_exp(2.0 * r * x) / (1.0 + decay)
        x = x - residual / (2.0 * _half_tanh_difference(x, r, delta) / delta + tanh_rx)
    return x


def _log_over_excess(r: jax.Array, delta: jax.Array) -> jax.Array:
    """Return log(r) / (1 - r)."""
    return jnp.where(delta < 0.5, jnp.log1p(-jnp.minimum(delta, 0.5)), jnp.log(r)) / delta
