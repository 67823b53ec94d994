"""Isotonic regression as a map of confidences: the fit of `calibration.corp`, kept and applied to new rows.

The fit is known at the confidences of the rows. Between two of them it is that of the lower one, or on the line between
them.

CORP's decomposition of the Brier score compares with this map: on the rows that it was fitted to, their miscalibration
is gone. Reference: B. Zadrozny, C. Elkan (KDD 2002).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from mixjax.calibration.corp import isotonic_fit
from mixjax.calibration.rows.clean import Rows, as_shares
from mixjax.calibration.rows.order import sorted_rows
from mixjax.numerics.arguments import as_floats
from mixjax.numerics.meshes import jitted
from mixjax.numerics.pytree import pytree
from mixjax.recalibration.labeled import raise_if_outside
from mixjax.typing import ArrayLike


@pytree
@dataclass(frozen=True, eq=False)
class Isotonic:
    """A function that does not fall: a step function, or with `interpolate` lines between points.

    Attributes:
      thresholds: ascending, shape [N]; `values[j]` holds from `thresholds[j]` on, and `values[0]` also below. Unused
        entries come last and have the threshold inf. With `interpolate` all confidences of the rows, the last one
        repeated.
      values: calibrated confidences in [0, 1], shape [N].
      interpolate: True for lines between the points (thresholds, values), static; constant beyond the first and last.

    Example:
      >>> from mixjax.recalibration import fit_isotonic
      >>> print(fit_isotonic([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1]).thresholds)
      [0.2 0.4 0.8 inf]
    """

    thresholds: Float[Array, " N"]
    values: Float[Array, " N"]
    interpolate: bool = field(default=False, metadata={"static": True})

    def __call__(self, confidence: ArrayLike) -> Float[Array, "*batch"]:
        """Return calibrated confidences in the shape and dtype (float32 at least) of `confidence`.

        A confidence outside [0, 1] raises ValueError, and is NaN under `jit`.
        """
        (confidence,) = as_floats(confidence=confidence)
        thresholds, values = (jnp.asarray(part, confidence.dtype) for part in (self.thresholds, self.values))
        return raise_if_outside(confidence, _apply(confidence, thresholds, values, interpolate=self.interpolate))


def fit_isotonic(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    interpolate: bool = False,
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Isotonic:
    """Fit the non-decreasing function of confidence that is nearest to correctness in (weighted) least squares.

    Args:
      confidence: in [0, 1], shape [N]; of a binary classifier the probability of the positive class.
      correct: 0 or 1 (or boolean), shape [N].
      interpolate: False for a step between the confidences of the rows, whose values are shares of right rows; True for
        a line, as scikit-learn's. Static.
      weights, where: as in docs/conventions.md.

    Returns:
      A function of confidences, and a pytree. NaN as in `mixjax.recalibration`.

    Raises:
      ValueError, TypeError: as `ece`; TypeError for an `interpolate` other than a bool.

    Example:
      >>> from mixjax.recalibration import fit_isotonic
      >>> print(fit_isotonic([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])([0.1, 0.5, 0.9]))
      [0.  0.5 1. ]
    """
    if not isinstance(interpolate, bool):
        raise TypeError(f"interpolate must be a bool, got {type(interpolate).__name__}")
    rows = Rows.of(confidence, correct, weights, where)
    thresholds, values = rows.raise_if_invalid(_fit(rows, interpolate=interpolate))
    return Isotonic(thresholds, values, interpolate)


@jitted(rows=True, static=("interpolate",))
def _apply(confidence: jax.Array, thresholds: jax.Array, values: jax.Array, interpolate: bool) -> jax.Array:
    confidence = as_shares(confidence)
    if not len(thresholds):
        return jnp.full_like(confidence, jnp.nan)
    if interpolate:
        value = jnp.interp(confidence, thresholds, values)
    else:
        value = values[jnp.maximum(jnp.searchsorted(thresholds, confidence, side="right") - 1, 0)]
    return jnp.where(jnp.isnan(confidence), jnp.nan, value)


@jitted(static=("interpolate",))
def _fit(rows: Rows, interpolate: bool) -> tuple[jax.Array, jax.Array]:
    rows = rows.clean()
    counted = rows.counted > 0
    ordered = sorted_rows(rows)
    function = isotonic_fit(ordered)
    thresholds, values = function.thresholds, function.values
    if interpolate and len(thresholds):  # masked rows are last
        known = jnp.minimum(lax.iota(np.int32, len(thresholds)), jnp.sum(counted, dtype=np.int32) - 1)
        thresholds, values = ordered.confidence[known], function.per_row[known]
    sound = jnp.any(counted) & ~jnp.any(jnp.isnan(rows.confidence))
    return thresholds, jnp.where(sound, values, jnp.nan)
