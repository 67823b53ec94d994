"""Losses of the rows of a file, and intervals of their means.

The normal interval of a mean says too little where a few rows decide it, and is a point where all rows are right alike.
With fewer than 10 right or wrong rows the share of right ones is drawn from Jeffreys' posterior, as for the signed gap
(`mixjax.calibration.intervals`), and the mean of either kind from the normal law of its rows and of half a typical one.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mixjax.calibration.intervals import FEW, Interval, mean_interval, posterior_interval
from mixjax.report.reading import FilePredictions

_DRAWS = 20_000


def losses(file: FilePredictions) -> dict[str, np.ndarray]:
    """Return NLL and Brier score of each row in float64, whose means are `nll` and `brier_score`.

    In a file of kind "binary" the confidence is the probability that the row comes true, and the Brier score counts it
    once.
    """
    if file.kind == "binary":
        f, y = file.scores.astype(np.float64), file.labels
        return {"NLL": _minus_log(np.where(y == 1, f, 1 - f)), "Brier score": (f - y) ** 2}
    chosen = np.arange(len(file)), file.labels
    given = file.scores.astype(np.float64)
    if file.kind == "logits":
        with np.errstate(over="ignore"):  # a difference of -inf is a probability of 0
            shifted = given - given.max(axis=1, keepdims=True)
        log_total = np.log(np.exp(shifted).sum(axis=1))
        nll = log_total - shifted[chosen]
        given = np.exp(shifted - log_total[:, None])
    else:
        nll = _minus_log(given[chosen])
    outcome = np.zeros_like(given)
    outcome[chosen] = 1
    return {"NLL": nll, "Brier score": ((given - outcome) ** 2).sum(axis=1)}


def loss_intervals(file: FilePredictions, correct: np.ndarray, seed: int, level: float) -> dict[str, Interval]:
    """Return the interval of the mean of each loss, cut to the range that the mean can have.

    `seed` is that of the draws where few rows are right or wrong.
    """
    right, found = int(correct.sum()), losses(file)
    if min(right, len(file) - right) >= FEW:
        intervals = {name: interval_of_mean(values, level) for name, values in found.items()}
    else:
        typical = _typical_losses(file)
        intervals = {
            name: _interval_of_few(values, correct == 1, typical[name], seed, level) for name, values in found.items()
        }
    most = {"NLL": np.inf, "Brier score": 1.0 if file.kind == "binary" else 2.0}
    return {name: _cut(each, most[name]) for name, each in intervals.items()}


def _cut(interval: Interval, most: float) -> Interval:
    low, high = np.clip([interval.low, interval.high], 0.0, most)
    return interval._replace(low=float(low), high=float(high))


def interval_of_mean(values: np.ndarray, level: float) -> Interval:
    """Return `mean_interval`, or for infinite losses the mean alone."""
    if np.isfinite(values).all():
        return mean_interval(values, level=level)
    return Interval(float("nan") if np.isnan(values).any() else float("inf"), *[float("nan")] * 3)


def _typical_losses(file: FilePredictions) -> dict[str, tuple[float, float]]:
    """Return the medians of the losses that rows would have if they were wrong, with their second class, and right."""
    if file.kind == "binary":
        outcomes = np.zeros_like(file.labels), np.ones_like(file.labels)
    else:
        first, second = np.argpartition(-file.scores, 1, axis=1)[:, :2].T
        outcomes = second, first
    found = [losses(dataclasses.replace(file, labels=labels)) for labels in outcomes]
    return {name: (float(np.median(found[0][name])), float(np.median(found[1][name]))) for name in found[0]}


def _interval_of_few(
    values: np.ndarray, right: np.ndarray, typical: tuple[float, float], seed: int, level: float
) -> Interval:
    """Return the posterior interval of a mean of losses, or for infinite ones the mean alone."""
    if not (np.isfinite(values).all() and np.isfinite(typical).all()):
        return interval_of_mean(np.append(values, np.inf), level)._replace(estimate=float(values.mean()))
    rng = np.random.default_rng(seed)
    share = rng.beta(right.sum() + 0.5, (~right).sum() + 0.5, _DRAWS)
    mean, square = np.zeros(_DRAWS), np.zeros(_DRAWS)
    for part, rows, half in ((1 - share, values[~right], typical[0]), (share, values[right], typical[1])):
        weights = np.append(np.ones(len(rows)), 0.5)
        rows = np.append(rows, half)
        center = np.average(rows, weights=weights)
        mean += part * center
        square += part * np.average((rows - center) ** 2, weights=weights)
    drawn = mean + np.sqrt(square / len(values)) * rng.standard_normal(_DRAWS)
    return posterior_interval(float(values.mean()), drawn, level)


def _minus_log(values: np.ndarray) -> np.ndarray:
    """Return -log of probabilities; half precision may round one to above 1."""
    with np.errstate(divide="ignore"):
        return -np.log(np.minimum(values, 1.0))
