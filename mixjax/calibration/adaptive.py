r"""Errors class by class with a mean over classes: ACE and TACE.

With all N scores of a class k cut into ranges of equal mass (ties are never split),

    ACE = (1/K) sum_k mean_r |acc(r, k) - conf(r, k)|,

and TACE uses only scores above a threshold. Every range that holds rows counts the same, and a class without any score
above the threshold counts 0. J. Nixon, M. W. Dusenberry, L. Zhang, G. Jerfel, D. Tran (CVPR workshops 2019). Elsewhere
ACE is also the name of an average over equal-width bins, and of the equal-mass ECE of top labels.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from mixjax.calibration.rows.bins import DEFAULT_BINS, Bins, NumBins, bin_sums
from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.predictions import Predictions
from mixjax.numerics.meshes import jitted
from mixjax.numerics.options import check_real
from mixjax.typing import ArrayLike, Real


def ace(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    num_bins: NumBins = DEFAULT_BINS,
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Float[Array, ""]:
    """Return the adaptive calibration error (ACE) of class probabilities, the mean gap of equal-mass ranges.

    Args:
      probs, labels, num_bins, weights, where: as for `tace`.

    Returns:
      A number in [0, 1]; NaN without rows.

    Raises: as `top_label_ece`.

    Example:
      >>> from mixjax.calibration import ace
      >>> round(float(ace([[0.25, 0.75], [0.5, 0.5]], [1, 0])), 3)
      0.375
    """
    predictions = Predictions.of(probs, labels, weights, where)
    bins = Bins.of(num_bins, "equal-mass", num_rows=len(predictions.probs))
    return predictions.raise_if_invalid(_ace(predictions, bins, None))


def tace(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    num_bins: NumBins = DEFAULT_BINS,
    threshold: Real = 0.01,
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Float[Array, ""]:
    """Return the thresholded adaptive calibration error (TACE): `ace` of the probabilities above a threshold.

    Args:
      probs, labels, weights, where: probabilities [N, K] and classes [N], as for `top_label_ece`.
      num_bins: ranges of a class, R. Static.
      threshold: in [0, 1); a score counts if it is above this number, rounded to the dtype of `probs`. 0 leaves out
        exact zeros, which `ace` counts. Static.

    Returns:
      A number in [0, 1]; NaN without rows.

    Raises: as `top_label_ece`, and for a threshold outside [0, 1).

    Example:
      >>> from mixjax import tace
      >>> round(float(tace([[0.25, 0.75], [0.5, 0.5]], [1, 0])), 3)
      0.375
    """
    check_real("threshold", threshold)
    if not 0 <= threshold < 1:
        raise ValueError(f"threshold must be in [0, 1), got {threshold}")
    predictions = Predictions.of(probs, labels, weights, where)
    bins = Bins.of(num_bins, "equal-mass", num_rows=len(predictions.probs))
    return predictions.raise_if_invalid(_ace(predictions, bins, float(threshold)))


@jitted(static=("bins", "threshold"))
def _ace(predictions: Predictions, bins: Bins, threshold: Real | None) -> jax.Array:
    return jnp.mean(predictions.over_classes(lambda rows: _mean_gap(rows.clean(), bins, threshold)))


def _mean_gap(rows: Rows, bins: Bins, threshold: Real | None) -> jax.Array:
    """Return the mean gap of the ranges of one class that hold rows: 0 if all are below the threshold, NaN if none."""
    any_rows = jnp.any(rows.counted > 0)
    if threshold is not None:
        above = ~(rows.confidence <= threshold)  # NaN stays
        rows = Rows(*rows[:3], above if rows.where is None else above & rows.where).clean()
    sums = bin_sums(rows, bins)
    mass = sums.mass.astype(sums.residual.dtype)
    gaps = sums.residual * jnp.sign(sums.residual) / jnp.where(mass > 0, mass, 1.0)
    ranges = jnp.sum(mass > 0, dtype=np.int32)
    gap = jnp.sum(gaps) / jnp.maximum(ranges, 1).astype(gaps.dtype)
    return jnp.where(any_rows, gap, jnp.nan)
