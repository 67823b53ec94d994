"""Calibration errors in exact fractions, written from the definitions: the independent answer of the tests."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np


def nearest(value: Fraction, dtype: type) -> Fraction:
    """The floating-point number next to a fraction in [0, 1], as a fraction."""
    guess = np.array(float(value), dtype)
    candidates = (np.nextafter(guess, dtype(-1)), guess, np.nextafter(guess, dtype(2)))
    return min((Fraction(float(c)) for c in candidates), key=lambda c: abs(c - value))


def width_bin(f: Fraction, num_bins: int, closed: str, dtype: type) -> int:
    """[k/M, (k+1)/M), the last closed; or (k/M, (k+1)/M], the first closed."""
    inner = [nearest(Fraction(k, num_bins), dtype) for k in range(1, num_bins)]
    return sum(f >= edge if closed == "left" else f > edge for edge in inner)


def mass_bin(f: Fraction, scores: Sequence[Fraction], masses: Sequence[Fraction], num_bins: int) -> int:
    """floor(M * mass of smaller scores / mass of all)."""
    smaller = sum((w for s, w in zip(scores, masses, strict=True) if s < f), Fraction(0))
    return min(num_bins - 1, num_bins * smaller // sum(masses))


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
    scores = [Fraction(float(f)) for f in confidence]
    masses = [Fraction(1)] * len(scores) if weights is None else [Fraction(float(w)) for w in weights]
    mass, residual = [Fraction(0)] * num_bins, [Fraction(0)] * num_bins
    for f, y, w in zip(scores, correct, masses, strict=True):
        if binning == "equal-width":
            b = width_bin(f, num_bins, closed, confidence.dtype.type)
        else:
            b = mass_bin(f, scores, masses, num_bins)
        mass[b] += w
        residual[b] += w * (int(y) - f)
    gaps = [(m / sum(mass), abs(r / m)) for m, r in zip(mass, residual, strict=True) if m]
    if norm == np.inf:
        return float(max(gap for _, gap in gaps))
    return float(sum(share * gap**norm for share, gap in gaps)) ** (1 / norm)
