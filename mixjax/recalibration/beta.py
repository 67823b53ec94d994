r"""Beta calibration of a confidence: s(a log p - b log(1 - p) + c), with a and b not negative, s the logistic function.

These are the log odds of two classes whose scores follow Beta laws. The identity is one of the maps (a = b = 1, c = 0),
as it is not in Platt scaling of p. The negative log likelihood is convex in (a, b, c). So it is least, over a >= 0 and
b >= 0, where each of the two is either free or held at 0 with a derivative that is not negative (W. Karush; H. W. Kuhn,
A. W. Tucker). All four choices are tried, and one that ends so is the fit. There is one if and only if some wrong row
has a higher confidence than some right one: otherwise a threshold separates them.

Reference: M. Kull, T. Silva Filho, P. Flach, "Beta calibration" (AISTATS 2017).
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from mixjax.calibration.rows.clean import Rows, as_shares
from mixjax.calibration.rows.sums import total
from mixjax.numerics.arguments import as_floats
from mixjax.numerics.meshes import jitted
from mixjax.numerics.newton import Expansion, Minimum, minimize, standardized
from mixjax.numerics.pytree import pytree
from mixjax.recalibration.labeled import FitResult, raise_if_outside
from mixjax.recalibration.platt import expansion
from mixjax.typing import ArrayLike

_REASONS = (
    "beta calibration has no best fit: all confidences are equal",
    "beta calibration has no best fit: no wrong row has a higher confidence than a right one, so that a threshold "
    "separates them, or there are none of one kind",
    "beta calibration did not converge",
)
_FREE = np.array([[1, 1, 1], [0, 1, 1], [1, 0, 1], [0, 0, 1]], bool)  # a, b, c: not held at 0


@pytree
@dataclass(frozen=True, eq=False)
class BetaCalibration:
    """The map sigmoid(a log p - b log(1 - p) + c), which does not fall.

    Attributes:
      a, b: scalars, not negative; fitted ones are the letters of the paper.
      c: a scalar.

    Example:
      >>> import jax.numpy as jnp
      >>> from mixjax.recalibration import BetaCalibration
      >>> identity = BetaCalibration(a=jnp.array(1.0), b=jnp.array(1.0), c=jnp.array(0.0))
      >>> round(float(identity(0.3)), 3)
      0.3
    """

    a: Float[Array, ""]
    b: Float[Array, ""]
    c: Float[Array, ""]

    def __call__(self, confidence: ArrayLike) -> Float[Array, "*batch"]:
        """Return calibrated confidences in the shape and dtype (float32 at least) of `confidence`.

        0 and 1 count as eps and 1 - eps of the dtype, as in the fit. A confidence outside [0, 1] raises ValueError, and
        is NaN under `jit`.
        """
        (confidence,) = as_floats(confidence=confidence)
        parameters = tuple(jnp.asarray(value, confidence.dtype) for value in (self.a, self.b, self.c))
        return raise_if_outside(confidence, _apply(confidence, parameters))


def fit_beta_calibration(
    confidence: ArrayLike, correct: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> BetaCalibration:
    """Fit the a, b and c that make correctness most likely, with a and b not negative.

    Args:
      confidence: in [0, 1], shape [N]; of a binary classifier the probability of the positive class. What is below the
        eps of the dtype (1.2e-7 in float32) counts as eps, and what is above 1 - eps as that.
      correct: 0 or 1 (or boolean), shape [N].
      weights, where: as in docs/conventions.md.

    Returns:
      A function of confidences, and a pytree. NaN as in `mixjax.recalibration`.

    Raises:
      ValueError, TypeError: as `ece`; ValueError also if all confidences are equal, and if no wrong row has a higher
        confidence than a right one.
      RuntimeError: if the iteration does not converge, with the norm of the gradient.

    Accuracy: 1e-9 of the log odds in float64, 1e-4 in float32: tests/recalibration/test_beta.py.

    Example:
      >>> from mixjax.recalibration import fit_beta_calibration
      >>> fitted = fit_beta_calibration([0.2, 0.4, 0.6, 0.7, 0.9], [0, 1, 0, 1, 1])
      >>> print(f"{fitted.a:.3f} {fitted.b:.3f} {fitted.c:.3f}")
      1.200 1.403 0.037
    """
    rows = Rows.of(confidence, correct, weights, where)
    result = _fit(rows)
    rows.raise_if_invalid(result.parameters)
    return BetaCalibration(*result.parameters_or_reason(rows, _REASONS))


@jitted(rows=True)
def _apply(confidence: jax.Array, parameters: tuple[jax.Array, ...]) -> jax.Array:
    a, b, c = parameters
    log_p, minus_log_rest = _logarithms(as_shares(confidence))
    return jax.nn.sigmoid(a * log_p + b * minus_log_rest + c)


def _logarithms(p: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return log p and -log(1 - p), of 0 and 1 as of the numbers next to them on the scale of 1."""
    eps = float(jnp.finfo(p.dtype).eps)
    p = jnp.clip(p, eps, 1.0 - eps)
    return jnp.log(p), -jnp.log1p(-p)


@jitted()
def _fit(rows: Rows) -> FitResult:
    rows = rows.clean()
    mass = total(rows.counted).astype(rows.confidence.dtype)
    share = rows.counted.astype(rows.confidence.dtype) / mass
    lost = jnp.any(jnp.isnan(rows.confidence)) | ~(mass > 0)
    logarithms = standardized(jnp.stack(_logarithms(rows.confidence), axis=1), share)
    columns = jnp.concatenate([logarithms.values.T, jnp.ones_like(share)[None]])
    minimum = _minimum_with_bounds(columns, rows.correct, share)
    a, b = minimum.point[:2] / logarithms.scale
    c = minimum.point[2] - a * logarithms.shift[0] - b * logarithms.shift[1]
    problems = (jnp.all(logarithms.constant), _separated(rows), ~minimum.converged)
    return FitResult.of((a, b, c), problems, minimum.gradient_norm, lost)


def _separated(rows: Rows) -> jax.Array:
    """Return whether no wrong row has a higher confidence than a right one."""
    counts, right = rows.counted > 0, rows.correct == 1
    highest = jnp.max(jnp.where(counts & ~right, rows.confidence, -jnp.inf), initial=-jnp.inf)
    return highest <= jnp.min(jnp.where(counts & right, rows.confidence, jnp.inf), initial=jnp.inf)


def _minimum_with_bounds(columns: Float[Array, "3 N"], correct: jax.Array, share: jax.Array) -> Minimum:
    """Return the minimum over all c, a >= 0 and b >= 0."""
    data = (columns, correct, share)
    constant = lax.stop_gradient(data)
    start = jnp.zeros_like(jnp.sum(columns, axis=1))
    rounding = 32 * float(jnp.finfo(share.dtype).eps)

    def end_of(free: jax.Array) -> tuple[jax.Array, jax.Array]:
        minimum = minimize(_held, start, (*constant, free))
        slope = expansion(minimum.point, *constant).gradient
        is_least = jnp.where(free, minimum.point >= 0, slope >= -rounding)[:2]
        return minimum.point, minimum.converged & jnp.all(is_least)

    points, is_least = jax.vmap(end_of)(jnp.asarray(_FREE))
    best = jnp.argmax(is_least)
    minimum = minimize(_held, points[best], (*data, jnp.asarray(_FREE)[best]))  # stays there, and has its derivatives
    point = minimum.point.at[:2].max(0.0)
    return minimum._replace(point=point, converged=minimum.converged & is_least[best])


def _held(point: jax.Array, columns: jax.Array, correct: jax.Array, share: jax.Array, free: jax.Array) -> Expansion:
    """Return the expansion in the free parameters; the others stay where they are."""
    there = expansion(point, columns, correct, share)
    hessian = jnp.where(free[:, None] & free[None], there.hessian, jnp.eye(len(point), dtype=point.dtype))
    return Expansion(there.value, jnp.where(free, there.gradient, 0.0), hessian)
