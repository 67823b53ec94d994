r"""Means over random divisions of the same rows, and ratios at which they change sign, with standard errors.

Divisions share rows, so that their spread / sqrt(D) says how well the mean over *all divisions of these rows* is known,
and far too little of what other rows would have given. With q test rows to each row that is not for testing, and the
variance s^2 over divisions, the variance of the mean is taken as

    s^2 (1/D + q)

(C. Nadeau, Y. Bengio, Inference for the Generalization Error, Machine Learning 2003), here with q = 1/2.
"""

from __future__ import annotations

import numpy as np

TEST_SHARE = 0.5  # test rows to each of the others: a third of the rows to two thirds


def mean_and_error(parts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and standard error of parts [divisions, ...], two divisions or more."""
    count = len(parts)
    return parts.mean(axis=0), parts.std(axis=0, ddof=1) * np.sqrt(1.0 / count + TEST_SHARE)


def crossing(ratios: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the largest ratio at which values [ratios, ...] fall from above 0, interpolated in log(ratio).

    NaN where they never do. NaN values are left out; ratios increase, and of those that repeat the first counts.
    """
    first = np.concatenate([[True], np.diff(ratios) > 0])
    flat = values.reshape(len(ratios), -1)[first]
    found = [_crossing(np.log(ratios[first]), column) for column in flat.T]
    return np.exp(found).reshape(values.shape[1:])


def _crossing(logarithms: np.ndarray, values: np.ndarray) -> float:
    kept = np.isfinite(values)
    logarithms, values = logarithms[kept], values[kept]
    falls = np.flatnonzero((values[:-1] > 0) & (values[1:] <= 0))
    if not len(falls):
        return float("nan")
    k = falls[-1]
    return logarithms[k] + (logarithms[k + 1] - logarithms[k]) * values[k] / (values[k] - values[k + 1])


def crossing_and_error(ratios: np.ndarray, parts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the crossing of the mean of parts [divisions, ratios, ...], and its standard error by the jackknife.

    The error is NaN where leaving one division out leaves no crossing.
    """
    count, total = len(parts), parts.sum(axis=0)
    without = np.array([crossing(ratios, (total - part) / (count - 1)) for part in parts])
    variance = (count - 1) * without.var(axis=0)  # of a sample of one division
    return crossing(ratios, total / count), np.sqrt(variance * (1.0 + count * TEST_SHARE))
