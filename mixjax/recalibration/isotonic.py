"""Isotonic regression as a map of confidences: the step function of `calibration.corp`, kept and applied to new rows.

CORP's decomposition of the Brier score compares with this map: on the rows that it was fitted to, their miscalibration
is gone. Reference: B. Zadrozny, C. Elkan (KDD 2002).
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mixjax.calibration.corp import isotonic_fit
from mixjax.calibration.rows.clean import Rows, as_shares
from mixjax.calibration.rows.order import sorted_rows
from mixjax.numerics.arguments import as_floats
from mixjax.numerics.meshes import jitted
from mixjax.numerics.pytree import pytree
from mixjax.recalibration.labeled import raise_if_outside
from mixjax.typing import ArrayLike

__all__ = ["Isotonic", "fit_isotonic"]


@pytree
@dataclass(frozen=True, eq=False)
class Isotonic:
    """A step function that does not fall.

    Attributes:
      thresholds: ascending, shape [N]; `values[j]` holds from `thresholds[j]` on, and `values[0]` also below. Unused
        entries come last and have the threshold inf.
      values: calibrated confidences in [0, 1], shape [N].

    Example:
      >>> from mixjax.recalibration import fit_isotonic
      >>> print(fit_isotonic([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1]).thresholds)
      [0.2 0.4 0.8 inf]
    """

    thresholds: Float[Array, " N"]
    values: Float[Array, " N"]

    def __call__(self, confidence: ArrayLike) -> Float[Array, "*batch"]:
        """Return calibrated confidences in the shape and dtype (float32 at least) of `confidence`.

        A confidence outside [0, 1] raises ValueError, and is NaN under `jit`.
        """
        (confidence,) = as_floats(confidence=confidence)
        thresholds, values = (jnp.asarray(part, confidence.dtype) for part in (self.thresholds, self.values))
        return raise_if_outside(confidence, _apply(confidence, thresholds, values))


def fit_isotonic(
    confidence: ArrayLike, correct: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> Isotonic:
    """Fit the non-decreasing function of confidence that is nearest to correctness in (weighted) least squares.

    Between the confidences of the rows it is a step function; scikit-learn's interpolates.

    Args:
      confidence: in [0, 1], shape [N]; of a binary classifier the probability of the positive class.
      correct: 0 or 1 (or boolean), shape [N].
      weights, where: as in docs/conventions.md.

    Returns:
      A function of confidences, and a pytree. NaN as in `mixjax.recalibration`.

    Raises:
      ValueError, TypeError: as `ece`.

    Example:
      >>> from mixjax.recalibration import fit_isotonic
      >>> print(fit_isotonic([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])([0.1, 0.5, 0.9]))
      [0.  0.5 1. ]
    """
    rows = Rows.of(confidence, correct, weights, where)
    return Isotonic(*rows.raise_if_invalid(_fit(rows)))


@jitted(rows=True)
def _apply(confidence: jax.Array, thresholds: jax.Array, values: jax.Array) -> jax.Array:
    confidence = as_shares(confidence)
    if not len(thresholds):
        return jnp.full_like(confidence, jnp.nan)
    index = jnp.searchsorted(thresholds, confidence, side="right") - 1
    return jnp.where(jnp.isnan(confidence), jnp.nan, values[jnp.maximum(index, 0)])


@jitted()
def _fit(rows: Rows) -> tuple[jax.Array, jax.Array]:
    rows = rows.clean()
    counted = rows.counted > 0
    function = isotonic_fit(sorted_rows(rows))
    sound = jnp.any(counted) & ~jnp.any(jnp.isnan(rows.confidence))
    return function.thresholds, jnp.where(sound, function.values, jnp.nan)
