r"""Errors class by class with a mean over classes: SCE, ACE and TACE.

With all N scores of a class k cut into ranges of equal mass (ties are never split),

    ACE = (1/K) sum_k mean_r |acc(r, k) - conf(r, k)|,

and TACE uses only scores above a threshold. Every range counts the same. The reference writes 1/(K R) for the means;
here a range that ties, or a lack of rows, leave empty is not a range and R is the number of the others. A class
without any score above the threshold has no error, and stays in the mean over classes.

Reference: J. Nixon, M. W. Dusenberry, L. Zhang, G. Jerfel, D. Tran (CVPR workshops 2019). Elsewhere ACE is also the
name of an average over equal-width bins, and of the equal-mass ECE of top labels.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from mixjax.calibration.binned import classwise_ece
from mixjax.calibration.rows.bins import Closed, bin_sums, check_bins
from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.predictions import Predictions
from mixjax.numerics.arguments import check_real

__all__ = ["ace", "sce", "tace"]


def sce(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    num_bins: int = 15,
    closed: Closed = "left",
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Float[Array, ""]:
    r"""Static calibration error :math:`\frac1K \sum_k \sum_b \frac{n_{bk}}{N} |acc(b,k) - conf(b,k)|`.

    `classwise_ece` of equal-width bins, under its other name.
    """
    return classwise_ece(probs, labels, num_bins=num_bins, closed=closed, weights=weights, where=where)


def ace(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    num_bins: int = 15,
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Float[Array, ""]:
    """Adaptive calibration error, formula above; arguments, result and errors as for `tace`."""
    num_bins = check_bins(num_bins)
    predictions = Predictions.of(probs, labels, weights, where)
    return predictions.answer(_ace(predictions, num_bins, None))


def tace(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    num_bins: int = 15,
    threshold: float = 0.01,
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Float[Array, ""]:
    """Thresholded adaptive calibration error: `ace` of the scores above a threshold.

    Args:
      probs: shape [N, K], rows sum to 1 (within 1e-4, or 1e-2 in half precision).
      labels: whole numbers in [0, K), shape [N].
      num_bins: ranges of a class, R. Static.
      threshold: in [0, 1); a score counts if it is above this number, rounded to the dtype of `probs`. 0 leaves out
        exact zeros, which `ace` counts. Static.
      weights: of the rows, finite and not negative, shape [N]; a weight of 2 is the row twice.
      where: rows that count, boolean, shape [N]; the others may hold anything.

    Returns:
      In [0, 1], of the dtype of `probs`. NaN for NaN in a row that counts and where no row does; under `jit` also
      for the wrong values that raise outside of it.

    Raises:
      ValueError: for wrong shapes, options, or values (with the first offending row).
      TypeError: for wrong dtypes.
    """
    num_bins = check_bins(num_bins)
    check_real("threshold", threshold)
    if not 0 <= threshold < 1:
        raise ValueError(f"threshold must be in [0, 1), got {threshold}")
    predictions = Predictions.of(probs, labels, weights, where)
    return predictions.answer(_ace(predictions, num_bins, float(threshold)))


@partial(jax.jit, static_argnames=("num_bins", "threshold"))
def _ace(predictions: Predictions, num_bins: int, threshold: float | None) -> jax.Array:
    return jnp.mean(predictions.over_classes(lambda rows: _mean_gap(rows.clean(), num_bins, threshold)))


def _mean_gap(rows: Rows, num_bins: int, threshold: float | None) -> jax.Array:
    """Over the ranges of one class that hold rows; 0 where all are below the threshold, NaN where there are none."""
    any_rows = jnp.any(rows.counted > 0)
    if threshold is not None:
        above = ~(rows.confidence <= threshold)  # NaN stays
        rows = Rows(*rows[:3], above if rows.where is None else above & rows.where).clean()
    sums = bin_sums(rows, num_bins, "equal-mass", "left")
    mass = sums.mass.astype(sums.residual.dtype)
    gaps = sums.residual * jnp.sign(sums.residual) / jnp.where(mass > 0, mass, 1.0)
    ranges = jnp.sum(mass > 0, dtype=np.int32)
    gap = jnp.sum(gaps) / jnp.maximum(ranges, 1).astype(gaps.dtype)
    return jnp.where(any_rows, gap, jnp.nan)
