"""Histogram binning: the accuracy of each bin, from its definition."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax.recalibration import fit_histogram_binning
from tests.calibration.exact import bins_of
from tests.recalibration.samples import N, few, options_of_few, scored

OPTIONS = (
    {"num_bins": 7, "binning": "equal-width", "closed": "left"},
    {"num_bins": 10, "binning": "equal-width", "closed": "right"},
    {"num_bins": 7, "binning": "equal-mass"},
    pytest.param({"num_bins": 1, "binning": "equal-width"}, marks=pytest.mark.slow),
)


def accuracies(confidence, correct, weights, **options):
    """Of the bin of each row."""
    bins = bins_of(confidence, weights, **options)
    return np.array([np.average(correct[bins == b], weights=weights[bins == b]) for b in bins])


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("options", OPTIONS)
def test_the_accuracy_of_the_bin(options, rng):
    for _ in range(3):
        confidence, correct = scored(rng)
        weights, where = rng.integers(1, 4, N).astype(np.float32), rng.random(N) < 0.7
        hidden = np.where(where, confidence, np.nan), np.where(where, correct, 7)
        fitted = fit_histogram_binning(*hidden, weights=weights, where=where, **options)
        expected = accuracies(confidence[where], correct[where], weights[where], **options)
        np.testing.assert_allclose(np.asarray(fitted(confidence))[where], expected, atol=3e-7)


@pytest.mark.medium
def test_a_bin_without_rows_leaves_confidences_as_they_are():
    fitted = fit_histogram_binning(*few([0.15, 0.2, 0.9], [0, 1, 1]), **options_of_few(3), **OPTIONS[0])
    values = fitted(few([0.0, 0.16, 0.28, 0.4, 0.86], [0])[0])[:5]
    np.testing.assert_allclose(values, [0.0, 0.5, 0.5, 0.4, 1.0], rtol=1e-6)
    np.testing.assert_array_equal(fitted.count, [0, 2, 0, 0, 0, 0, 1])


@pytest.mark.medium
def test_equal_mass_bins_go_on_to_the_next():
    """Also over the bins that ties leave without rows."""
    rows = few([0.4] * 9 + [0.8], [0] * 6 + [1] * 4)
    fitted = fit_histogram_binning(*rows, **options_of_few(10), **OPTIONS[2])
    values = fitted(few([0.0, 0.4, 0.79, 0.8, 1.0], [0])[0])[:5]
    np.testing.assert_allclose(values, [1 / 3, 1 / 3, 1 / 3, 1, 1], rtol=1e-6)
