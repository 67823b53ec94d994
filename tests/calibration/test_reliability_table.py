"""The table of a reliability diagram, and its intervals."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

from mixjax.calibration.reliability_table import Reliability, clopper_pearson, reliability
from tests.calibration.exact import binned_error

CONFIDENCE = np.array([0.05, 0.15, 0.15, 0.95, 1.0])
CORRECT = np.array([0, 1, 0, 1, 1])


def test_the_table_of_a_few_rows():
    table = reliability(CONFIDENCE, CORRECT, num_bins=5)
    np.testing.assert_array_equal(table.count, [3, 0, 0, 0, 2])
    np.testing.assert_allclose(table.confidence, [0.35 / 3, *[np.nan] * 3, 0.975])
    np.testing.assert_allclose(table.accuracy, [1 / 3, *[np.nan] * 3, 1.0])
    np.testing.assert_allclose(table.lowest, [0.05, *[np.nan] * 3, 0.95])
    np.testing.assert_allclose(table.highest, [0.15, *[np.nan] * 3, 1.0])


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("binning", ["equal-width", "equal-mass"])
def test_it_is_what_the_errors_are_made_of(rng, binning):
    confidence, correct = rng.random(40).astype(np.float32), rng.random(40) < 0.6
    weights, where = rng.integers(1, 5, 40).astype(np.float32), rng.random(40) < 0.9
    table = reliability(np.where(where, confidence, np.nan), correct, binning=binning, weights=weights, where=where)
    table = Reliability(*map(np.asarray, vars(table).values()))
    gap, kept = np.abs(table.accuracy - table.confidence), (confidence[where], correct[where])
    exact = [binned_error(*kept, num_bins=15, binning=binning, weights=weights[where], norm=p) for p in (1, np.inf)]
    np.testing.assert_allclose(np.nansum(table.count * gap) / table.count.sum(), exact[0], atol=3e-7)
    np.testing.assert_allclose(np.nanmax(gap), exact[1], atol=3e-7)
    np.testing.assert_allclose(table.count.sum(), weights[where].sum())
    held = table.count > 0
    assert (table.lowest[held][1:] >= table.highest[held][:-1]).all()


@pytest.mark.medium
def test_wrong_rows():
    options = {"num_bins": 5}
    for wrong in (2.0, np.nan):
        broken = np.where(np.arange(5) == 1, wrong, CONFIDENCE)
        assert np.isnan(jax.jit(lambda c: reliability(c, CORRECT, **options).count)(broken)).all()
    with pytest.raises(ValueError, match="confidence must be in"):
        reliability(np.where(np.arange(5) == 1, 2.0, CONFIDENCE), CORRECT, **options)
    assert (np.asarray(reliability([], []).count) == 0).all()
    with pytest.raises(ValueError, match="not for weights"):
        Reliability(*[np.full(2, 0.5)] * 5).intervals()


@pytest.mark.parametrize(("successes", "count"), [(0, 10), (10, 10), (3, 10), (1, 1), (0, 1), (499_000, 10**6)])
def test_clopper_pearson_is_scipys(successes, count):
    expected = stats.binomtest(successes, count).proportion_ci(0.95, method="exact")
    np.testing.assert_allclose(clopper_pearson(successes, count), tuple(expected), rtol=1e-10)


@pytest.mark.parametrize("n", [1, 5, 40])
def test_clopper_pearson_covers_at_every_probability(n):
    """Summed over the binomial law: no sampling."""
    k = np.arange(n + 1)
    low, high = clopper_pearson(k, n)
    for p in np.linspace(0, 1, 201):
        assert stats.binom.pmf(k, n, p)[(low <= p) & (p <= high)].sum() >= 0.95 - 1e-12
    assert clopper_pearson(0, 0) == (0.0, 1.0)


@pytest.mark.medium
def test_the_consistency_band_holds_calibrated_scores(rng):
    """Each bin of 4000 samples of 200 calibrated rows; the band may be wider than asked for, counts being whole."""
    confidence = rng.beta(3, 2, 200)
    low, high = reliability(confidence, np.zeros(200), num_bins=5).consistency_band()
    inside = []
    for _ in range(4000):
        accuracy = reliability_of(confidence, rng.random(200) < confidence)
        inside.append((low - 1e-9 <= accuracy) & (accuracy <= high + 1e-9))
    covered = np.mean(inside, axis=0)
    assert (covered > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 4000)).all()  # false alarm below 2e-4
    assert (low < high).all()


def reliability_of(confidence, correct):
    """Accuracies in NumPy."""
    index = np.minimum((confidence * 5).astype(int), 4)
    return np.bincount(index, correct, 5) / np.bincount(index, minlength=5)


def test_clopper_pearson_of_nan_is_nan():
    """...in the entries that have one, and in a table of NaN."""
    ends = np.array(clopper_pearson([np.nan, 3, 3], [10, np.nan, 10]))
    np.testing.assert_array_equal(np.isnan(ends), [[True, True, False]] * 2)
    assert np.isnan(Reliability(*[np.full(2, np.nan)] * 5).intervals()).all()


@pytest.mark.parametrize(
    ("successes", "count", "error", "message"),
    [
        ("1", 10, TypeError, "successes must be real numbers, got str"),
        (1, np.array(["10"]), TypeError, "count must be real numbers, got dtype <U2"),
        (2.5, 10, ValueError, "whole numbers, 0 <= successes <= count, got 2.5 of 10"),
        (1, [10, 10.5], ValueError, "got 1 of 10.5"),
        ([3, 11], 10, ValueError, "got 11 of 10"),
        (-1, 10, ValueError, "got -1 of 10"),
    ],
)
def test_what_clopper_pearson_refuses(successes, count, error, message):
    with pytest.raises(error, match=message):
        clopper_pearson(successes, count)
