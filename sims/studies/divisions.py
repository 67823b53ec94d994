r"""Means over random divisions of rows, and ratios at which they change sign, with standard errors.

Where there are several independent *row sets*, each divided again and again, the mean of each is one number, and the
error is that of independent numbers. Of images there is one row set. Its divisions share rows, so that their spread /
sqrt(D) says how well the mean over *all divisions of these rows* is known, and far too little of what other rows would
have given. With q test rows to each row that is not for testing, and the variance s^2 over divisions, the variance of
the mean is taken as

    s^2 (1/D + q)

(C. Nadeau, Y. Bengio, Inference for the Generalization Error, Machine Learning 2003), here with q = 1/2. The study of
real images compares it, on its controls, with the spread over row sets.

Everywhere `parts` has the shape [row sets, divisions, ...].
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from mixjax.numerics.crossings import crossings

TEST_SHARE = 0.5  # test rows to each of the others: a third of the rows to two thirds


def mean_and_error(parts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of parts and its standard error: over row sets, or over the divisions of the only one."""
    sets = len(parts)
    if sets == 1:
        return parts[0].mean(axis=0), claimed_errors(parts)[0]
    return parts.mean(axis=(0, 1)), parts.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(sets)


def claimed_errors(parts: np.ndarray) -> np.ndarray:
    """Return the standard error of the mean of each row set, as claimed from its divisions alone."""
    error: np.ndarray = parts.std(axis=1, ddof=1) * np.sqrt(1.0 / parts.shape[1] + TEST_SHARE)
    return error


def claimed_to_found(parts: np.ndarray) -> float:
    """Return the errors claimed from single row sets as multiples of the spread over row sets, the median of all.

    Errors are averaged as variances. NaN where there is one row set.
    """
    if len(parts) == 1:
        return float("nan")
    claimed, found = (claimed_errors(parts) ** 2).mean(axis=0), parts.mean(axis=1).var(axis=0, ddof=1)
    return float(np.sqrt(np.nanmedian(claimed / found)))


def half_width(sets: int, divisions: int) -> float:
    """Return half the width of a 95 % interval in standard errors: Student's t of the numbers that make the error."""
    return float(stdtrit((divisions if sets == 1 else sets) - 1, 0.975))


def crossing(ratios: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the largest ratio at which values [ratios, ...] fall from above 0, interpolated in log(ratio).

    NaN where they never do. NaN values are left out; ratios increase, and of those that repeat the first counts.
    """
    first = np.concatenate([[True], np.diff(ratios) > 0])
    flat = values.reshape(len(ratios), -1)[first]
    found = [_crossing(np.log(ratios[first]), column) for column in flat.T]
    return np.exp(found).reshape(values.shape[1:])


def _crossing(logarithms: np.ndarray, values: np.ndarray) -> float:
    found, falls = crossings(logarithms, values)
    return float(found[falls][-1]) if falls.any() else float("nan")


def crossing_and_error(ratios: np.ndarray, parts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the crossing of the mean of parts [row sets, divisions, ratios, ...], and its error by the jackknife.

    Left out are row sets, one at a time, or the divisions of the only one. The error is NaN where leaving one out
    leaves no crossing.
    """
    alone = len(parts) == 1
    parts = parts[0] if alone else parts.mean(axis=1)
    count, total = len(parts), parts.sum(axis=0)
    without = np.array([crossing(ratios, (total - part) / (count - 1)) for part in parts])
    variance = (count - 1) * without.var(axis=0) * (1.0 + count * TEST_SHARE if alone else 1.0)
    return crossing(ratios, total / count), np.sqrt(variance)
