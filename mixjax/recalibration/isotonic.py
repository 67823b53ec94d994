"""Isotonic regression as a map of confidences: the step function of `calibration.corp`, kept and applied to new rows.

Reference: B. Zadrozny, C. Elkan (KDD 2002). It is the calibration that CORP's decomposition of the Brier score
compares with: on the rows that it was fitted to, their miscalibration is gone.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from mixjax.calibration.corp import isotonic_fit
from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.order import sorted_rows
from mixjax.numerics.arguments import as_floats
from mixjax.recalibration.labeled import refuse_outside

__all__ = ["Isotonic", "fit_isotonic"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Isotonic:
    """A step function that does not fall.

    Attributes:
      thresholds: ascending; `values[j]` holds from `thresholds[j]` on, and `values[0]` also below. Entries that are not
        used come last and have the threshold inf.
      values: in [0, 1].
    """

    thresholds: Float[Array, " N"]
    values: Float[Array, " N"]

    def __call__(self, confidence: ArrayLike) -> Float[Array, "*batch"]:
        """Confidences of the shape and dtype of `confidence` (float32 at least).

        Raises:
          ValueError: for a confidence outside [0, 1], which under `jit` gives NaN.
        """
        (confidence,) = as_floats(confidence=confidence)
        thresholds, values = (jnp.asarray(part, confidence.dtype) for part in (self.thresholds, self.values))
        return refuse_outside(confidence, _apply(confidence, thresholds, values))


def fit_isotonic(
    confidence: ArrayLike, correct: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> Isotonic:
    """The non-decreasing function of confidence that is next to correctness in (weighted) least squares.

    Args:
      confidence: in [0, 1], shape [N]; of a binary classifier the probability of the positive class.
      correct: 0 or 1 (or boolean), shape [N].
      weights: of the rows, finite and not negative, shape [N]; a weight of 2 is the row twice.
      where: rows that count, boolean, shape [N]; the others may hold anything.

    Returns:
      A function of confidences, and a pytree. Its values are NaN for NaN in a row that counts and where no row does;
      under `jit` also for the wrong values that raise outside of it.

    Raises:
      ValueError, TypeError: as `ece`.
    """
    rows = Rows.of(confidence, correct, weights, where)
    return Isotonic(*rows.answer(_fit(rows)))


@jax.jit
def _apply(confidence: jax.Array, thresholds: jax.Array, values: jax.Array) -> jax.Array:
    right = (confidence >= 0) & (confidence <= 1)
    if not len(thresholds):
        return jnp.full_like(confidence, jnp.nan)
    index = jnp.searchsorted(thresholds, confidence, side="right") - 1
    return jnp.where(right, values[jnp.maximum(index, 0)], jnp.nan)


@jax.jit
def _fit(rows: Rows) -> tuple[jax.Array, jax.Array]:
    rows = rows.clean()
    counted = rows.counted > 0
    function = isotonic_fit(sorted_rows(rows))
    sound = jnp.any(counted) & ~jnp.any(jnp.isnan(rows.confidence))
    return function.thresholds, jnp.where(sound, function.values, jnp.nan)
