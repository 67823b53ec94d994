r"""Binned calibration errors: ECE, MCE and every L_p, of confidences, of top labels, and class by class.

With n_b rows in bin b, of mean correctness and mean confidence ybar_b and fbar_b,

    ECE_p = (sum_b (n_b / n) |ybar_b - fbar_b|^p)^(1/p),    MCE = ECE_inf = max_b |ybar_b - fbar_b|.

Paper: estimates of the ECE of Section 2 and the MCE of Section 5. References: M. P. Naeini, G. F. Cooper, M. Hauskrecht
(AAAI 2015); C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger (ICML 2017); M. Kull et al. (NeurIPS 2019, class-wise).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from mixjax.calibration.rows.bins import DEFAULT_BINS, Binning, Bins, BinSums, Closed, NumBins, bin_sums
from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.predictions import Predictions
from mixjax.numerics.elementary import root
from mixjax.numerics.meshes import jitted
from mixjax.numerics.options import check_norm
from mixjax.typing import ArrayLike, Real


def ece(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    num_bins: NumBins = DEFAULT_BINS,
    binning: Binning = "equal-width",
    edges: ArrayLike | None = None,
    norm: Real = 1,
    closed: Closed = "left",
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Float[Array, ""]:
    r"""Return the binned calibration error :math:`(\sum_b \frac{n_b}{n} |\bar y_b - \bar f_b|^p)^{1/p}`.

    For p = 1 bins average differences away, so its population value is at most the error of the scores themselves.
    Sampling noise raises it: calibrated scores have sqrt(2/pi) sum_b sqrt(n_b v_b) / N, with v_b the mean of f (1 - f)
    in a bin, which is at most 0.4 sqrt(num_bins / N).

    Args:
      confidence: probabilities in [0, 1], shape [N]; rows of other shapes are pooled.
      correct: 0 or 1 (or boolean), of the same shape: whether the claim came true. For the binary calibration error,
        pass the probabilities of the positive class as confidences and the labels as correctness.
      num_bins: M >= 1, or "cube_root" for the largest M with M^3 <= N, the order of M that is best as N grows
        (F. Futami, M. Fujisawa, NeurIPS 2024); static. Empty bins count for nothing.
      binning: "equal-width": edges k/M; "equal-mass": bins of N/M rows that never split ties. Static.
      edges: your own bins instead of `num_bins`: numbers that ascend from 0 to 1. Static.
      norm: p >= 1, `inf` for the MCE; the root is taken. Static.
      closed: which end of a bin belongs to it, unless bins are of equal mass; 0 and 1 always count. Static.
      weights, where: same shape as `confidence`; see docs/conventions.md.

    Returns:
      A probability in [0, 1] of the dtype of the confidences (float32 at least). NaN if a row that counts has NaN, or
      if no row counts; under `jit` also for the wrong values that raise an error outside it.

    Raises:
      ValueError: for wrong shapes, options, or values (with the first offending row).
      TypeError: for wrong dtypes.

    Accuracy: 1e-6 absolute in float32, at 1e8 rows too. For one error per set of rows, use `jax.vmap(ece)`.

    Example:
      >>> from mixjax import ece
      >>> round(float(ece([0.9, 0.6], [1, 0])), 3)
      0.35
    """
    check_norm(norm)
    rows = Rows.of(confidence, correct, weights, where)
    bins = Bins.of(num_bins, binning, closed, edges, num_rows=len(rows.confidence))
    return rows.raise_if_invalid(_ece(rows, bins, float(norm)))


def mce(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    num_bins: NumBins = DEFAULT_BINS,
    binning: Binning = "equal-width",
    edges: ArrayLike | None = None,
    closed: Closed = "left",
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Float[Array, ""]:
    r"""Return the maximum calibration error :math:`\max_b |\bar y_b - \bar f_b|` over the bins that hold rows.

    Args, Returns, Raises: as `ece` with norm `inf`.

    Example:
      >>> from mixjax import mce
      >>> round(float(mce([0.9, 0.6], [1, 0])), 3)
      0.6
    """
    bins: dict[str, Any] = {"num_bins": num_bins, "binning": binning, "edges": edges, "closed": closed}
    return ece(confidence, correct, norm=np.inf, weights=weights, where=where, **bins)


@jitted(static=("bins", "norm"))
def _ece(rows: Rows, bins: Bins, norm: Real) -> jax.Array:
    return error_of(bin_sums(rows, bins), norm)


def error_of(sums: BinSums, norm: Real) -> jax.Array:
    """Return ECE_p of the sums of bins, along the last axis; NaN where nothing was counted."""
    mass, total = (part.astype(sums.residual.dtype) for part in (sums.mass, sums.total))
    residual = sums.residual * jnp.sign(sums.residual)  # its size, with the derivative 0 at 0
    if norm == 1:
        return jnp.sum(residual, axis=-1) / total
    gap = residual / jnp.where(mass > 0, mass, 1.0)  # residuals of empty bins are 0
    return power_mean(gap, mass, total, norm)


def power_mean(gap: jax.Array, mass: jax.Array, total: jax.Array, norm: Real) -> jax.Array:
    """Return (sum(mass * gap^p) / total)^(1/p) along the last axis, the largest gap for p = inf; NaN for no total."""
    largest = jnp.max(gap, axis=-1)
    if norm == np.inf:
        return largest + 0.0 / total
    norm = min(norm, 1e30)  # which float32 holds, and which is as good as infinity
    unit = lax.stop_gradient(jnp.where(largest > 0, largest, 1.0))  # so that no power underflows
    return unit * root(jnp.sum(mass * (gap / unit[..., None]) ** norm, axis=-1) / total, norm)


def top_label_ece(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    num_bins: NumBins = DEFAULT_BINS,
    binning: Binning = "equal-width",
    edges: ArrayLike | None = None,
    norm: Real = 1,
    closed: Closed = "left",
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Float[Array, ""]:
    """Return the ECE of the probability of the predicted class, the first of the largest.

    From logits it is `ece(*scores.top_label_from_logits(logits, labels))`.

    Args:
      probs: shape [N, K] or [..., K], rows sum to 1 (within 1e-4, or 1e-2 of numbers of half precision, converted ones
        too).
      labels: whole numbers in [0, K), of the shape of `probs` without its last axis.
      num_bins, binning, edges, norm, closed, weights, where: as for `ece`.

    Returns:
      As `ece`.

    Raises: as `ece`, and for rows that do not sum to 1, and labels that are not in [0, K).

    Example:
      >>> from mixjax import top_label_ece
      >>> round(float(top_label_ece([[0.25, 0.75], [0.5, 0.5]], [1, 0])), 3)
      0.375
    """
    check_norm(norm)
    predictions = Predictions.of(probs, labels, weights, where)
    bins = Bins.of(num_bins, binning, closed, edges, num_rows=len(predictions.probs))
    return predictions.raise_if_invalid(_top_label_ece(predictions, bins, float(norm)))


@jitted(static=("bins", "norm"))
def _top_label_ece(predictions: Predictions, bins: Bins, norm: Real) -> jax.Array:
    return _ece(predictions.top_label(), bins, norm)


def classwise_ece(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    num_bins: NumBins = DEFAULT_BINS,
    binning: Binning = "equal-width",
    edges: ArrayLike | None = None,
    norm: Real = 1,
    closed: Closed = "left",
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Float[Array, ""]:
    """Return the mean over the K classes of the ECE of (probs[:, k], labels == k).

    With equal widths this is the SCE of Nixon et al. Probabilities of exactly 0 stay in the mean.

    Args, Returns, Raises: as `top_label_ece`.

    Example:
      >>> from mixjax import classwise_ece
      >>> round(float(classwise_ece([[0.25, 0.75], [0.5, 0.5]], [1, 0])), 3)
      0.375
    """
    check_norm(norm)
    predictions = Predictions.of(probs, labels, weights, where)
    bins = Bins.of(num_bins, binning, closed, edges, num_rows=len(predictions.probs))
    return predictions.raise_if_invalid(_classwise_ece(predictions, bins, float(norm)))


@jitted(static=("bins", "norm"))
def _classwise_ece(predictions: Predictions, bins: Bins, norm: Real) -> jax.Array:
    return jnp.mean(predictions.over_classes(lambda rows: _ece(rows, bins, norm)))
