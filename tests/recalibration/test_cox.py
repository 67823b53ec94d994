"""Calibration slope and intercept: against SciPy and Fisher's information, and the coverage of the intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import root
from scipy.special import expit
from scipy.stats import norm

from mixjax.recalibration import calibration_slope
from tests.recalibration.samples import N, binary


def literal(design, offset, labels, level):
    """(estimate, low, high, standard error) of each coefficient, by the score equations and the inverse information."""
    found = root(
        lambda point: design.T @ (expit(design @ point + offset) - labels), np.zeros(design.shape[1]), tol=1e-13
    )
    p = expit(design @ found.x + offset)
    error = np.sqrt(np.diag(np.linalg.inv(design.T @ (design * (p * (1 - p))[:, None]))))
    reach = norm.ppf(0.5 + level / 2) * error
    return np.stack([found.x, found.x - reach, found.x + reach, error], axis=1)


@pytest.mark.medium
@pytest.mark.parametrize(("scale", "bias"), [(0.6, -0.5), (-0.8, 0.0), (1.0, 2.0)])
def test_against_the_score_equations(rng, scale, bias):
    """...of the rows that count."""
    logits, labels = binary(rng, scale=scale, bias=bias)
    where = rng.random(N) < 0.8
    found = calibration_slope(np.where(where, logits, np.nan), np.where(where, labels, 9), where=where, level=0.9)
    z, y = logits[where], labels[where]
    ones = np.ones_like(z)
    joint = literal(np.stack([z, ones], axis=1), 0.0, y, 0.9)
    np.testing.assert_allclose([found.slope, found.intercept], joint, rtol=1e-8)
    np.testing.assert_allclose([found.in_the_large], literal(ones[:, None], z, y, 0.9), rtol=1e-8)


@pytest.mark.slow
def test_coverage(rng):
    """Of 1,000 samples of 200 rows, within 4 standard errors (0.028) of 95 %: false-alarm rate 6e-5 each."""
    held = []
    for _ in range(1000):
        found = calibration_slope(*binary(rng, scale=0.7, bias=-0.3, size=200))
        held.append([end.low <= truth <= end.high for end, truth in ((found.slope, 0.7), (found.intercept, -0.3))])
    np.testing.assert_allclose(np.mean(held, axis=0), 0.95, atol=4 * np.sqrt(0.95 * 0.05 / 1000))


WHERE = np.arange(N) < 4


@pytest.mark.parametrize(
    ("logits", "labels", "message"),
    [
        ([1, 1, 1, 1], [0, 1, 0, 1], "no calibration slope: all logits are equal"),
        ([1, 2, 3, 4], [0, 0, 1, 1], "no calibration slope: a threshold"),
        ([1, 2, 3, 4], [1, 1, 1, 1], "or there is one of them"),
        ([1, 2, 3, np.inf], [0, 1, 0, 1], "logits must be finite, got inf in row 3"),
        ([1, 2, 3, 4], [0, 1, 0, 2], "labels must be 0 or 1, got 2 in row 3"),
    ],
)
def test_no_slope(logits, labels, message):
    padded = (np.pad(np.array(part, float), (0, N - 4)) for part in (logits, labels))
    with pytest.raises(ValueError, match=message):
        calibration_slope(*padded, where=WHERE)


def test_nan_and_no_rows_are_nan():
    logits, labels = np.pad([1.0, 2.0, np.nan, 4.0], (0, N - 4)), np.arange(N) % 2
    for where in (WHERE, np.zeros(N, bool)):
        assert np.isnan(calibration_slope(logits, labels, where=where)).all()
