r"""Confidence intervals of calibration errors, from the counts of bins: their cost does not grow with the rows.

Intervals are the basic ones (B. Efron, R. J. Tibshirani, 1993, chapter 13), with theta that of the sample,

    [estimate - q_high(theta* - theta), estimate - q_low(theta* - theta)].

A sample in which every row is right has no bootstrap sample with a wrong row, and one with few has too few. The signed
gap therefore has the quantiles of its posterior (`mixjax.calibration.rows.resampling`), in which the share of right
rows is Beta(right + 1/2, wrong + 1/2), as Jeffreys' is. With fewer than 10 right or wrong rows the other intervals are
the hull of the basic one and of the posterior's.

The plain ECE and MCE are biased upwards by sampling noise, more so in the bootstrap world than outside: near exact
calibration their intervals cover less than they say (docs/estimators.md). The signed gap and, away from exact
calibration, the debiased squared error are unbiased and cover what they say.
"""

from __future__ import annotations

from typing import NamedTuple, SupportsFloat

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from mixjax.calibration.reliability_table import check_level
from mixjax.calibration.rows.bins import DEFAULT_BINS, Binning, Bins, Closed, NumBins
from mixjax.calibration.rows.clean import Rows, as_mask
from mixjax.calibration.rows.resampling import (
    bootstrap_counts,
    category_sums,
    errors_of,
    posterior_counts,
    sampled_errors,
    with_half_rows,
)
from mixjax.numerics.options import check_size
from mixjax.numerics.threefry import single
from mixjax.typing import ArrayLike, Real

FEW = 10  # right or wrong rows, below which the bootstrap alone says too little


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
    num_bins: NumBins = DEFAULT_BINS,
    binning: Binning = "equal-width",
    edges: ArrayLike | None = None,
    closed: Closed = "left",
    where: ArrayLike | None = None,
    replicates: int = 2000,
    level: Real = 0.95,
) -> CalibrationIntervals:
    """Return bootstrap intervals of ECE, ECE_2, MCE, debiased squared error and signed gap; not under `jit`.

    `weights` are not supported: the bootstrap draws whole rows. The interval of the signed gap comes from a posterior,
    and stays wide where nearly all rows are right or wrong. The others are basic bootstrap intervals, which are widened
    where fewer than 10 rows are right or wrong.

    Args:
      key: of the bootstrap; the same key gives the same intervals.
      confidence, correct, num_bins, binning, edges, closed, where: as for `ece`. Equal-mass bins are held fixed.
      replicates: bootstrap samples, 2 at least.
      level: of the intervals, in (0, 1).

    Returns:
      Intervals, each around its estimate; those of ECE, ECE_2 and MCE lie in [0, 1]. NaN without rows.

    Raises: as `ece`, and for a level outside (0, 1), and fewer than 2 replicates.

    Accuracy: from 30 rows on, 95 % intervals of the signed gap contain the truth in 92 to 98 % of samples, even where
    one row in a hundred is wrong (docs/estimators.md, tests/calibration/test_intervals.py).

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
    sums = np.asarray(rows.raise_if_invalid(category_sums(rows, bins)), np.float64)
    return _intervals(np.random.default_rng(seed), sums[..., sums[0].any(axis=0)], replicates, level)


def _intervals(rng: np.random.Generator, sums: np.ndarray, replicates: int, level: float) -> CalibrationIntervals:
    """Return the intervals of the sums of bins that hold rows."""
    estimates = {name: value[0] for name, value in errors_of(sums[None]).items()}
    worlds = estimates | {"debiased_squared_ece": estimates["squared_ece"]}
    samples = sampled_errors(rng, sums, replicates, bootstrap_counts)
    populations = sampled_errors(rng, with_half_rows(sums), replicates, posterior_counts)
    few = sums[0].sum(axis=1).min() < FEW
    found = {}
    for name in CalibrationIntervals._fields:
        posterior = posterior_interval(estimates[name], populations[name], level)
        basic = basic_interval(estimates[name], worlds[name], samples[name], level)
        if name == "signed_gap":
            found[name] = posterior
        else:
            found[name] = _hull(posterior, basic) if few else basic
        if name in ("ece", "rms_ece", "mce"):
            low, high = np.clip(found[name][1:3], 0, 1)
            found[name] = found[name]._replace(low=float(low), high=float(high))
    return CalibrationIntervals(**found)


def basic_interval(estimate: float, truth: float, drawn: np.ndarray, level: Real) -> Interval:
    """Return the basic interval, extended to its estimate; `truth` is that of the bootstrap world."""
    low, high = np.quantile(drawn - truth, [0.5 * (1 - level), 0.5 * (1 + level)])
    return _around(estimate, estimate - high, estimate - low, drawn)


def posterior_interval(estimate: float, drawn: np.ndarray, level: float) -> Interval:
    """Return the quantiles of populations, extended to the estimate, which stands for those without an error."""
    drawn = np.where(np.isnan(drawn), estimate, drawn)
    low, high = np.quantile(drawn, [0.5 * (1 - level), 0.5 * (1 + level)])
    return _around(estimate, low, high, drawn)


def _around(estimate: float, low: float, high: float, drawn: np.ndarray) -> Interval:
    """Return the interval from low to high, extended to its estimate."""
    low, high = np.minimum(low, estimate), np.maximum(high, estimate)
    return Interval(float(estimate), float(low), float(high), float(drawn.std(ddof=1)))


def _hull(first: Interval, second: Interval) -> Interval:
    """Return the interval that holds both, with the standard error of the first."""
    low, high = np.minimum(first.low, second.low), np.maximum(first.high, second.high)
    return first._replace(low=float(low), high=float(high))


def mean_interval(values: ArrayLike, *, level: Real = 0.95, where: ArrayLike | None = None) -> Interval:
    """Return the normal interval mean +- z s / sqrt(N) of independent values, such as losses of rows; not under `jit`.

    `weights` are not supported: the standard error is that of N independent values. The interval is too narrow where a
    few values decide the mean, and shrinks to a point where all values are equal, such as the losses of rows that are
    all right alike.

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
    check_level(level)
    values = np.asarray(values, np.float64)
    values = (values if where is None else values[np.asarray(as_mask(where))]).ravel()
    if len(values) < 2:
        return Interval(float(values.mean()) if len(values) else float("nan"), *[float("nan")] * 3)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, error = values.mean(), values.std(ddof=1) / np.sqrt(len(values))
    return normal_interval(mean, error, level)


def normal_interval(estimate: SupportsFloat, error: SupportsFloat, level: Real) -> Interval:
    """Return estimate +- z times its standard error."""
    from scipy.special import ndtri

    estimate, error = float(estimate), float(error)
    reach = float(ndtri(0.5 * (1 + level)) * error)
    return Interval(estimate, estimate - reach, estimate + reach, error)
