"""The CORP curve: isotonic regression at each confidence, and the band of calibrated scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression
from scipy.stats import binom

from mixjax.calibration import corp_curve


@pytest.mark.medium
def test_the_curve_is_the_isotonic_fit_of_the_means(rng):
    """...at each confidence of the rows that count."""
    confidence, where = rng.choice([0.1, 0.4, 0.5, 0.7, 0.9], 60), rng.random(60) < 0.7
    correct = rng.random(60) < confidence
    curve = corp_curve(np.where(where, confidence, np.nan), correct, where=where)
    points, index, count = np.unique(confidence[where], return_inverse=True, return_counts=True)
    fit = isotonic_regression(np.bincount(index, correct[where]) / count, weights=count).x
    np.testing.assert_allclose(curve.confidence, points)
    np.testing.assert_allclose(curve.accuracy, fit, atol=1e-12)
    np.testing.assert_array_equal(curve.count, count)


@pytest.mark.medium
def test_the_band_of_one_confidence_is_binomial(key):
    """With the quantiles of the number of right rows; of 4,000 draws they are off by one row at most."""
    curve = corp_curve(np.full(50, 0.3), np.arange(50) < 15)
    _, low, high = curve.consistency_band(key, 0.9, replicates=4000)
    assert abs(low[0] * 50 - binom.ppf(0.05, 50, 0.3)) <= 1
    assert abs(high[0] * 50 - binom.ppf(0.95, 50, 0.3)) <= 1


@pytest.mark.medium
def test_the_band_is_that_of_rows_drawn_one_by_one(key, rng):
    """Ends are quantiles of 2,000 literal curves, within 5 standard errors: false-alarm rate 1e-4 of all points."""
    confidence = np.round(rng.beta(3, 2, 80), 2)
    points, low, high = corp_curve(confidence, rng.random(80) < 0.5).consistency_band(key, 0.8, replicates=2000)
    curves = np.empty((2000, len(points)))
    for curve in curves:
        drawn = np.sort(rng.choice(confidence, 80))
        fit = corp_fit(drawn, rng.random(80) < drawn)
        curve[:] = fit[np.maximum(np.searchsorted(drawn, points, side="right") - 1, 0)]
    error = np.sqrt(2 * 0.1 * 0.9 / 2000)
    for end, share in ((low, 0.1), (high, 0.9)):  # the law of a curve has atoms: at 0, at 1, and at small fractions
        assert ((curves < end - 1e-9).mean(axis=0) < share + 5 * error).all()
        assert ((curves <= end + 1e-9).mean(axis=0) > share - 5 * error).all()


def corp_fit(confidence, correct):
    """The isotonic fit of sorted rows, equal at equal confidences."""
    _, index, count = np.unique(confidence, return_inverse=True, return_counts=True)
    return isotonic_regression(np.bincount(index, correct) / count, weights=count).x[index]


@pytest.mark.medium
def test_a_band_of_many_rows_is_shown_at_1001_points(rng, key):
    """Pooled beyond 10,000; it holds the diagonal, and is narrow."""
    for size in (3000, 25_000):
        confidence = rng.random(size)
        points, low, high = corp_curve(confidence, rng.random(size) < confidence).consistency_band(key, replicates=40)
        assert points.shape == low.shape == high.shape == (1001,)
        np.testing.assert_allclose(points, np.quantile(confidence, np.linspace(0, 1, 1001)), atol=1e-3)
        assert ((low < points) & (points < high)).mean() > 0.95
        assert (high - low).max() < 6 * size ** (-1 / 3)


@pytest.mark.parametrize("rows", [([], []), ([0.5, np.nan], [1, 0])], ids=["no rows", "NaN"])
def test_no_curve(rows):
    with pytest.raises(ValueError, match="a curve needs rows, and no NaN among them"):
        corp_curve(*rows)
