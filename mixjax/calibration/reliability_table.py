r"""The table behind a reliability diagram: mean confidence and accuracy of each bin, with intervals.

Of n_b rows in a bin, k_b right, mean confidence fbar_b:

* Clopper and Pearson's interval holds the bin's expected accuracy with at least the level;
* the consistency band is where k_b / n_b lies with that probability if the scores are calibrated: rows drawn with
  replacement, correct with the probability that each claims, are right with probability fbar_b, so that the number
  of right ones is Bin(n_b, fbar_b) whatever the scores within the bin.

References: C. J. Clopper, E. S. Pearson (Biometrika 26, 1934); J. Brocker, L. A. Smith (Weather and Forecasting 22,
2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from mixjax.calibration.rows.bins import DEFAULT_BINS, Binning, Bins, Closed, NumBins, binned
from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.scatter import sum_by_bin
from mixjax.numerics.arguments import float_dtype, shown
from mixjax.numerics.meshes import jitted
from mixjax.numerics.options import check_real
from mixjax.numerics.pytree import pytree
from mixjax.typing import ArrayLike, Real


@pytree
@dataclass(frozen=True)
class Reliability:
    """The table of a reliability diagram: one entry per bin, in order of confidence; NaN for the mean of an empty bin.

    Example:
      >>> from mixjax import reliability
      >>> reliability([0.9, 0.6], [1, 0], num_bins=2).accuracy.tolist()
      [nan, 0.5]
    """

    count: Float[Array, " bins"]  # rows, or their total weight
    confidence: Float[Array, " bins"]  # mean
    accuracy: Float[Array, " bins"]  # mean correctness
    lowest: Float[Array, " bins"]  # confidence in the bin
    highest: Float[Array, " bins"]

    def intervals(self, level: Real = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return Clopper and Pearson's intervals of the accuracies, (low, high); (0, 1) for an empty bin.

        Rows have no weights; not under `jit`. NaN for a table of NaN.
        """
        return clopper_pearson(*self._successes(), level=level)

    def consistency_band(self, level: Real = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return (low, high) that hold the accuracies of calibrated scores but for (1 - level)/2 beyond each end.

        Rows have no weights; not under `jit`. NaN for an empty bin.
        """
        from scipy.stats import binom

        check_level(level)
        _, count = self._successes()
        confidence, tail = np.asarray(self.confidence, np.float64), 0.5 * (1 - level)
        with np.errstate(invalid="ignore", divide="ignore"):
            low, high = (binom.ppf(q, count, np.clip(confidence, 0, 1)) / count for q in (tail, 1 - tail))
        return low, high

    def _successes(self) -> tuple[np.ndarray, np.ndarray]:
        count = np.asarray(self.count, np.float64)
        if (count > np.floor(count)).any():
            raise ValueError("intervals are for whole numbers of rows, not for weights")
        accuracy = np.where(count > 0, np.asarray(self.accuracy, np.float64), 0.0)
        return np.round(accuracy * count), count


def reliability(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    num_bins: NumBins = DEFAULT_BINS,
    binning: Binning = "equal-width",
    edges: ArrayLike | None = None,
    closed: Closed = "left",
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Reliability:
    """Return count, mean confidence and accuracy of each bin, with the bins of `ece`.

    Args:
      confidence, correct, num_bins, binning, edges, closed, weights, where: as for `ece`, with the same errors.

    Returns:
      Arrays of shape [num_bins]; `ece` is sum(count * |accuracy - confidence|) / sum(count) of them. Everything is NaN
      if a row that counts has NaN and, under `jit`, for wrong values.

    Example:
      >>> from mixjax import reliability
      >>> reliability([0.9, 0.6], [1, 0], num_bins=2).count.tolist()
      [0.0, 2.0]
    """
    rows = Rows.of(confidence, correct, weights, where)
    bins = Bins.of(num_bins, binning, closed, edges, num_rows=len(rows.confidence))
    rows.raise_if_invalid(_any_wrong(rows))
    return _reliability(rows, bins)


@jitted()
def _any_wrong(rows: Rows) -> jax.Array:
    """Return NaN if there is a wrong row; the means of empty bins are NaN for a better reason."""
    return jnp.max(rows.clean().confidence, initial=0.0)


@jitted(static=("bins",))
def _reliability(rows: Rows, bins: Bins) -> Reliability:
    unit, num_bins = rows.unit, bins.number
    rows, index = binned(rows.clean(), bins)
    dtype = rows.confidence.dtype
    count = sum_by_bin(index, rows.counted, num_bins).astype(dtype)
    weight = rows.counted.astype(dtype)
    mean = sum_by_bin(index, weight * rows.confidence, num_bins) / count
    gap = sum_by_bin(index, rows.residual, num_bins) / count
    counts = weight > 0
    lowest = jnp.full(num_bins, jnp.inf, dtype).at[index].min(jnp.where(counts, rows.confidence, jnp.inf))
    highest = jnp.full(num_bins, -jnp.inf, dtype).at[index].max(jnp.where(counts, rows.confidence, -jnp.inf))
    empty = jnp.where(count > 0, 0.0, jnp.nan).astype(dtype)
    wrong = 0.0 * jnp.sum(rows.residual)  # NaN if one is
    return Reliability(*(part + wrong for part in (count * unit, mean, mean + gap, lowest + empty, highest + empty)))


def clopper_pearson(successes: ArrayLike, count: ArrayLike, *, level: Real = 0.95) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the exact interval (low, high) of a probability from `successes` out of `count`; not under `jit`.

    The ends are the (1 - level)/2 quantile of Beta(k, n - k + 1) and the (1 + level)/2 quantile of Beta(k + 1, n - k).

    Args:
      successes, count: k in [0, n] and n, of shapes that broadcast.
      level: in (0, 1); the interval covers with at least this probability.

    Returns:
      low, which is 0 for k = 0, and high, which is 1 for k = n; NaN where one of them is.

    Raises:
      ValueError: for a level outside (0, 1), successes outside [0, count], and numbers that are not whole.
      TypeError: for what is no number.

    Example:
      >>> from mixjax.calibration import clopper_pearson
      >>> [round(float(end), 3) for end in clopper_pearson(3, 10)]
      [0.067, 0.652]
    """
    from scipy.special import betaincinv

    check_level(level)
    float_dtype(successes=successes, count=count)  # refuses what is no number
    k, n = np.broadcast_arrays(np.asarray(successes, np.float64), np.asarray(count, np.float64))
    wrong = (k < 0) | (k > n) | (k > np.floor(k)) | (n > np.floor(n))
    if wrong.any():
        first = f"{shown(k[wrong].flat[0])} of {shown(n[wrong].flat[0])}"
        raise ValueError(f"successes and count must be whole numbers, 0 <= successes <= count, got {first}")
    tail = 0.5 * (1 - level)
    low = np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1), n - k + 1, tail))
    high = np.where(k == n, 1.0, betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail))
    return low, high


def check_level(level: Real) -> None:
    """Raise TypeError or ValueError for a level that is not a number in (0, 1)."""
    check_real("level", level)
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level}")
