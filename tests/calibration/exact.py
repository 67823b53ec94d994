"""Calibration errors in exact fractions, written from the definitions: the independent answer of the tests."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np


def nearest(value: Fraction, dtype: type) -> Fraction:
    """The floating-point number next to a fraction in [0, 1], as a fraction."""
    guess = np.array(float(value), dtype)
    candidates = (np.nextafter(guess, dtype(-1)), guess, np.nextafter(guess, dtype(2)))
    return min((Fraction(float(c)) for c in candidates), key=lambda c: abs(c - value))


@cache
def inner_edges(num_bins: int, dtype: type) -> list[Fraction]:
    """k/M for k = 1..M-1, as the numbers of a dtype that are nearest."""
    return [nearest(Fraction(k, num_bins), dtype) for k in range(1, num_bins)]


def fractions(values: np.ndarray | None, size: int = 0) -> list[Fraction]:
    """Floats as they are, or ones."""
    return [Fraction(1)] * size if values is None else [Fraction(float(value)) for value in values]


def bins_of(
    confidence: np.ndarray, weights: np.ndarray | None, num_bins: int, binning: str, closed: str = "left"
) -> np.ndarray:
    """The bin of each score.

    Of equal width: [k/M, (k+1)/M), the last closed; or (k/M, (k+1)/M], the first closed. Of equal mass: floor(M * mass
    of smaller scores / mass of all).
    """
    scores, masses = fractions(confidence), fractions(weights, len(confidence))
    if binning == "equal-width":
        edges = inner_edges(num_bins, confidence.dtype.type)
        return np.array([sum(f >= edge if closed == "left" else f > edge for edge in edges) for f in scores])
    smaller = [sum((w for s, w in zip(scores, masses, strict=True) if s < f), Fraction(0)) for f in scores]
    return np.array([min(num_bins - 1, num_bins * mass // sum(masses)) for mass in smaller])


def binned_error(
    confidence: np.ndarray,
    correct: np.ndarray,
    *,
    num_bins: int,
    binning: str = "equal-width",
    norm: float = 1,
    closed: str = "left",
    weights: np.ndarray | None = None,
) -> float:
    """ECE_p of float confidences."""
    mass, residual = [Fraction(0)] * num_bins, [Fraction(0)] * num_bins
    bins = bins_of(confidence, weights, num_bins, binning, closed)
    for b, f, y, w in zip(bins, fractions(confidence), correct, fractions(weights, len(correct)), strict=True):
        mass[b] += w
        residual[b] += w * (int(y) - f)
    gaps = [(m / sum(mass), abs(r / m)) for m, r in zip(mass, residual, strict=True) if m]
    if norm == np.inf:
        return float(max(gap for _, gap in gaps))
    return float(sum(share * gap**norm for share, gap in gaps)) ** (1 / norm)


def debiased_square(
    confidence: np.ndarray, correct: np.ndarray, *, num_bins: int, form: str, binning: str, closed: str = "left"
) -> float:
    """The debiased squared error: both forms as their papers write them."""
    bins = bins_of(confidence, None, num_bins, binning, closed)
    scores, n, square = fractions(confidence), 0, Fraction(0)
    for b in range(num_bins):
        rows = np.flatnonzero(bins == b)
        size = len(rows)
        if size < 2:
            continue
        n += size
        residuals = [int(correct[i]) - scores[i] for i in rows]
        if form == "u-statistic":
            pairs = sum(r * s for j, r in enumerate(residuals) for k, s in enumerate(residuals) if j != k)
            square += Fraction(pairs) / (size - 1)
        elif form == "kumar":
            right = Fraction(sum(int(correct[i]) for i in rows), size)
            square += size * ((sum(residuals) / size) ** 2 - right * (1 - right) / (size - 1))
        else:
            raise ValueError(form)
    return float(square / n) if n else float("nan")


def sweep(confidence: np.ndarray, correct: np.ndarray, norm: float) -> tuple[int, float]:
    """(b*, the error over so many bins), trying every number of bins in turn."""
    best = 0
    for num_bins in range(1, len(confidence) + 1):
        bins = bins_of(confidence, None, num_bins, "equal-mass")
        held = [[int(y) for y, k in zip(correct, bins, strict=True) if k == b] for b in range(num_bins)]
        heights = [Fraction(sum(rows), len(rows)) for rows in held if rows]
        if any(a > b for a, b in pairwise(heights)):
            break
        best = num_bins
    return best, binned_error(confidence, correct, num_bins=best, binning="equal-mass", norm=norm)


def isotonic(confidence: np.ndarray, correct: np.ndarray, weights: np.ndarray | None = None) -> list[Fraction]:
    """The fit at each row, by the max-min formula: max over a <= f of the min over b >= f of the mean from a to b."""
    masses = fractions(weights, len(confidence))
    values = sorted(set(confidence.tolist()))
    mass = [sum(w for f, w in zip(confidence, masses, strict=True) if f == v) for v in values]
    right = [sum(w for f, y, w in zip(confidence, correct, masses, strict=True) if f == v and y) for v in values]

    @cache
    def mean(a: int, b: int) -> Fraction:
        return Fraction(sum(right[a : b + 1])) / sum(mass[a : b + 1])

    last = range(len(values))
    fitted = {values[g]: max(min(mean(a, b) for b in last[g:]) for a in last[: g + 1]) for g in last}
    return [fitted[f] for f in confidence.tolist()]


def adaptive_error(
    probs: np.ndarray, labels: np.ndarray, *, num_bins: int, threshold: float = -1.0, weights: np.ndarray | None = None
) -> float:
    """ACE, or TACE: the mean over classes of the mean gap of the ranges that hold rows; 0 for a class without any."""
    errors = []
    for k in range(probs.shape[1]):
        rows = np.flatnonzero(probs[:, k] > probs.dtype.type(threshold))
        kept = None if weights is None else weights[rows]
        bins = bins_of(probs[rows, k], kept, num_bins, "equal-mass")
        scores, masses, gaps = fractions(probs[rows, k]), fractions(kept, len(rows)), []
        for here in (np.flatnonzero(bins == b) for b in np.unique(bins)):
            residual = sum(masses[j] * (int(labels[rows[j]] == k) - scores[j]) for j in here)
            gaps.append(abs(residual) / sum(masses[j] for j in here))
        errors.append(sum(gaps, Fraction(0)) / max(1, len(gaps)))
    return float(sum(errors, Fraction(0)) / len(errors))
