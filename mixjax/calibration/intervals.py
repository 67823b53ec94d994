r"""Confidence intervals of calibration errors, from the counts of bins: their cost does not grow with the rows.

A bootstrap sample of N rows is a multinomial draw of how many fall into each (bin, correctness), and sums of that many
draws of confidence within them. The counts are drawn exactly; the sums, of which the bins leave little to chance, as
normals of the same mean and variance. Intervals are the basic ones (B. Efron, R. J. Tibshirani, 1993, chapter 13), with
theta that of the sample,

    [estimate - q_high(theta* - theta), estimate - q_low(theta* - theta)].

The plain ECE and MCE are biased upwards by sampling noise, more so in the bootstrap world than outside: near exact
calibration their intervals cover less than they say (docs/estimators.md). The signed gap and, away from exact
calibration, the debiased squared error are unbiased and cover what they say.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from mixjax.calibration.reliability_table import check_level
from mixjax.calibration.rows.bins import Binning, Bins, Closed, NumBins, binned
from mixjax.calibration.rows.clean import Rows, as_mask
from mixjax.calibration.rows.scatter import sum_by_bin
from mixjax.numerics.arguments import check_size
from mixjax.numerics.meshes import jitted
from mixjax.numerics.threefry import single
from mixjax.typing import ArrayLike

_BLOCK = 1 << 22  # numbers that are drawn at a time


class Interval(NamedTuple):
    """An estimate with its interval and standard error.

    Example:
      >>> from mixjax.calibration import Interval
      >>> Interval(estimate=0.1, low=0.05, high=0.15, standard_error=0.02).high
      0.15
    """

    estimate: float
    low: float
    high: float
    standard_error: float


class CalibrationIntervals(NamedTuple):
    """Intervals of binned errors from the same bootstrap samples; `debiased_squared_ece` is the signed U-statistic.

    Example:
      >>> import jax
      >>> from mixjax.calibration import bootstrap_intervals
      >>> intervals = bootstrap_intervals(jax.random.key(0), [0.9, 0.6], [1, 0], replicates=9)
      >>> round(intervals.signed_gap.estimate, 3)
      0.25
    """

    ece: Interval
    rms_ece: Interval
    mce: Interval
    debiased_squared_ece: Interval
    signed_gap: Interval


def bootstrap_intervals(
    key: PRNGKeyArray,
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    num_bins: NumBins = 15,
    binning: Binning = "equal-width",
    edges: ArrayLike | None = None,
    closed: Closed = "left",
    where: ArrayLike | None = None,
    replicates: int = 2000,
    level: float = 0.95,
) -> CalibrationIntervals:
    """Return basic bootstrap intervals of ECE, ECE_2, MCE, debiased squared error and signed gap; not under `jit`.

    There is no `weights`: the bootstrap draws whole rows.

    Args:
      key: of the bootstrap; the same key gives the same intervals.
      confidence, correct, num_bins, binning, edges, closed, where: as for `ece`. Equal-mass bins are kept as they are.
      replicates: bootstrap samples, 2 at least.
      level: of the intervals, in (0, 1).

    Returns:
      Intervals; those of ECE and MCE are clipped to [0, 1]. NaN without rows.

    Raises: as `ece`, and for a level outside (0, 1), and fewer than 2 replicates.

    Example:
      >>> import jax
      >>> from mixjax.calibration import bootstrap_intervals
      >>> intervals = bootstrap_intervals(jax.random.key(0), [0.9, 0.6], [1, 0], replicates=9)
      >>> round(intervals.ece.estimate, 3)
      0.35
    """
    replicates = check_size("replicates", replicates, least=2)
    check_level(level)
    seed = np.asarray(jax.random.key_data(single(key))).tolist()
    rows = Rows.of(confidence, correct, None, where)
    bins = Bins.of(num_bins, binning, closed, edges, num_rows=len(rows.confidence))
    sums = np.asarray(rows.raise_if_invalid(_category_sums(rows, bins)), np.float64)
    values = _sampled_errors(np.random.default_rng(seed), sums[..., sums[0].any(axis=0)], replicates)
    kinds = {
        name: basic_interval(value[0], value[0], value[1:], level)
        for name, value in values.items()
        if name != "squared_ece"
    }
    kinds["debiased_squared_ece"] = basic_interval(
        values["debiased_squared_ece"][0], values["squared_ece"][0], values["debiased_squared_ece"][1:], level
    )
    for name in ("ece", "rms_ece", "mce"):
        estimate, low, high, error = kinds[name]
        kinds[name] = Interval(estimate, float(np.clip(low, 0, 1)), float(np.clip(high, 0, 1)), error)
    return CalibrationIntervals(**kinds)


@jitted(static=("bins",))
def _category_sums(rows: Rows, bins: Bins) -> jax.Array:
    """Return for each (correctness, bin) its rows, their sum of confidence, and that of squares about the mean."""
    num_bins = bins.number
    rows, index = binned(rows.clean(), bins)
    category = index + num_bins * rows.correct.astype(np.int32)
    dtype = rows.confidence.dtype
    count = sum_by_bin(category, rows.counted, 2 * num_bins).astype(dtype)
    kept = rows.counted.astype(dtype)
    total = sum_by_bin(category, kept * rows.confidence, 2 * num_bins)
    mean = total / jnp.maximum(count, 1.0)
    squares = sum_by_bin(category, kept * (rows.confidence - mean[category]) ** 2, 2 * num_bins)
    return jnp.stack([count, total, squares]).reshape(3, 2, num_bins)


def _sampled_errors(rng: np.random.Generator, sums: np.ndarray, replicates: int) -> dict[str, np.ndarray]:
    """Return the errors of the sums of bins that hold rows, followed by those of bootstrap samples."""
    block = max(1, _BLOCK // max(sums.size, 1))
    sizes = [min(block, replicates - start) for start in range(0, replicates, block)]
    parts = [_errors(sums[None]), *(_errors(_resampled(rng, sums, size)) for size in sizes)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _resampled(rng: np.random.Generator, sums: np.ndarray, replicates: int) -> np.ndarray:
    """Draw bootstrap samples of the sums, shape [replicates, 3, 2, bins]."""
    count, total, squares = sums
    if not np.isfinite(sums).all() or not count.sum():
        return np.full((replicates, *sums.shape), np.nan)
    size = int(count.sum())
    drawn = rng.multinomial(size, (count / count.sum()).ravel(), replicates).reshape(-1, *count.shape)
    share = drawn / np.maximum(count, 1)
    noise = rng.standard_normal(drawn.shape) * np.sqrt(share * squares)
    return np.stack([drawn.astype(np.float64), share * total + noise, share * squares], axis=1)


def _errors(sums: np.ndarray) -> dict[str, np.ndarray]:
    """Return the errors of [samples, 3, 2, bins] sums."""
    (wrong, right), (f_wrong, f_right), squares = (np.moveaxis(part, 1, 0) for part in np.moveaxis(sums, 1, 0))
    count, residual = wrong + right, right - f_right - f_wrong
    size = count.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.where(count > 0, np.abs(residual) / count, 0.0)
        mean_wrong, mean_right = f_wrong / np.maximum(wrong, 1), f_right / np.maximum(right, 1)
        spread = wrong * mean_wrong**2 + right * (1 - mean_right) ** 2 + squares.sum(axis=0)  # of residual squares
        unbiased = np.where(count > 1, (residual**2 - spread) / (count - 1), 0.0 * residual)  # 0, unless it is NaN
        mean_square = (count * gap**2).sum(axis=1) / size
        return {
            "ece": np.abs(residual).sum(axis=1) / size,
            "squared_ece": mean_square,
            "rms_ece": np.sqrt(mean_square),
            "mce": gap.max(axis=1, initial=0.0) + 0.0 / size,
            "debiased_squared_ece": unbiased.sum(axis=1) / size,
            "signed_gap": -residual.sum(axis=1) / size,
        }


def basic_interval(estimate: float, truth: float, drawn: np.ndarray, level: float) -> Interval:
    """Return the basic interval; `truth` is that of the bootstrap world."""
    low, high = np.quantile(drawn - truth, [0.5 * (1 - level), 0.5 * (1 + level)])
    return Interval(float(estimate), float(estimate - high), float(estimate - low), float(drawn.std(ddof=1)))


def mean_interval(values: ArrayLike, *, level: float = 0.95, where: ArrayLike | None = None) -> Interval:
    """Return the normal interval mean +- z s / sqrt(N) of independent values, as of per-row losses; not under `jit`.

    There is no `weights`: the standard error is that of N independent values.

    Args:
      values: shape [N]; computed in float64.
      level: of the interval, in (0, 1).
      where: shape [N], as in docs/conventions.md.

    Returns:
      The interval; NaN ends for fewer than two values, and all NaN without values or with NaN among them.

    Raises:
      ValueError: for a level outside (0, 1).

    Example:
      >>> from mixjax.calibration import mean_interval
      >>> [round(end, 3) for end in mean_interval([1.0, 2.0, 3.0, 6.0])]
      [3.0, 0.883, 5.117, 1.08]
    """
    from scipy.special import ndtri

    check_level(level)
    values = np.asarray(values, np.float64)
    values = (values if where is None else values[np.asarray(as_mask(where))]).ravel()
    if len(values) < 2:
        return Interval(float(values.mean()) if len(values) else float("nan"), *[float("nan")] * 3)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, error = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
    reach = float(ndtri(0.5 * (1 + level)) * error)
    return Interval(mean, mean - reach, mean + reach, error)
