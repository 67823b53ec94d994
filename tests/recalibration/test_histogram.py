"""Histogram binning: the accuracy of each bin, from its definition."""

from __future__ import annotations

from fractions import Fraction

import jax
import numpy as np
import pytest

from mixjax.calibration import ece
from mixjax.recalibration import fit_histogram_binning
from tests.calibration.exact import mass_bin, width_bin
from tests.recalibration.samples import N, scored

OPTIONS = (
    {"num_bins": 7, "binning": "equal-width", "closed": "left"},
    {"num_bins": 10, "binning": "equal-width", "closed": "right"},
    {"num_bins": 7, "binning": "equal-mass"},
    {"num_bins": 1, "binning": "equal-width"},
)


def accuracies(confidence, correct, weights, *, num_bins, binning, closed="left"):
    """Of the bin of each row."""
    scores, masses = [Fraction(float(f)) for f in confidence], [Fraction(float(w)) for w in weights]
    if binning == "equal-width":
        bins = np.array([width_bin(f, num_bins, closed, np.float32) for f in scores])
    else:
        bins = np.array([mass_bin(f, scores, masses, num_bins) for f in scores])
    return np.array([np.average(correct[bins == b], weights=weights[bins == b]) for b in bins])


@pytest.mark.parametrize("options", OPTIONS)
def test_the_accuracy_of_the_bin(options, rng):
    for _ in range(5):
        confidence, correct = scored(rng)
        weights, where = rng.integers(1, 4, N).astype(np.float32), rng.random(N) < 0.7
        hidden = np.where(where, confidence, np.nan), np.where(where, correct, 7)
        fitted = fit_histogram_binning(*hidden, weights=weights, where=where, **options)
        expected = accuracies(confidence[where], correct[where], weights[where], **options)
        np.testing.assert_allclose(fitted(confidence)[where], expected, atol=3e-7)
        np.testing.assert_allclose(ece(fitted(confidence), correct, weights=weights, where=where), 0, atol=3e-7)


def test_a_bin_without_rows_leaves_confidences_as_they_are():
    fitted = fit_histogram_binning(np.array([0.1, 0.2, 0.9]), [0, 1, 1], num_bins=3)
    np.testing.assert_allclose(fitted(np.array([0.0, 0.33, 0.4, 0.6, 0.7])), [0.5, 0.5, 0.4, 0.6, 1.0])
    np.testing.assert_array_equal(fitted.count, [2, 0, 1])


def test_equal_mass_bins_go_on_to_the_next():
    """Also over the bins that ties leave without rows."""
    fitted = fit_histogram_binning(np.array([0.4] * 9 + [0.8]), [0] * 6 + [1] * 4, num_bins=5, binning="equal-mass")
    np.testing.assert_allclose(fitted(np.array([0.0, 0.4, 0.79, 0.8, 1.0])), [1 / 3, 1 / 3, 1 / 3, 1, 1])


def test_jit_vmap_and_wrong_values(rng):
    confidence, correct = (np.stack(part) for part in zip(*[scored(rng) for _ in range(3)], strict=True))
    for binning in ("equal-width", "equal-mass"):

        def fit(confidence, correct, binning=binning):
            return fit_histogram_binning(confidence, correct, num_bins=7, binning=binning)

        batched = jax.jit(jax.vmap(fit))
        values = jax.vmap(lambda function, f: function(f))(batched(confidence, correct), confidence)
        np.testing.assert_allclose(values[1], fit(confidence[1], correct[1])(confidence[1]), atol=1e-7)
        wrong = batched(np.where(np.arange(3)[:, None] == 0, 1.5, confidence).astype(np.float32), correct)
        assert np.isnan(wrong.accuracy[0]).all() and np.isnan(wrong.count[0]).all() and (wrong.count[1:] >= 0).all()
        assert np.isnan(fit(np.where(np.arange(N) == 2, np.nan, confidence[0]), correct[0])(0.5))
        assert np.isnan(fit([], [])(0.5))
    with pytest.raises(ValueError, match=r"confidence must be in \[0, 1\], got 1.5 in row 0"):
        fit(np.full(N, 1.5), correct[0])
    with pytest.raises(ValueError, match="num_bins must be at least 1, got 0"):
        fit_histogram_binning([0.5], [1], num_bins=0)
    fitted = fit(confidence[0], correct[0])
    with pytest.raises(ValueError, match=r"confidence must be in \[0, 1\], got 2 in row 1"):
        fitted([0.5, 2.0])
    assert np.isnan(jax.jit(fitted)(np.array([2.0]))).all()
