"""Isotonic recalibration: against the max-min formula in fractions."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax.recalibration import Isotonic, fit_isotonic
from tests.calibration.exact import isotonic
from tests.recalibration.samples import N, few, options_of_few, scored

WEIGHTS, EVERY = np.ones(N, np.float32), np.ones(N, bool)  # given always, so that there is one program


@pytest.mark.medium
def test_max_min_formula_agrees(rng):
    for _ in range(3):
        confidence, correct = scored(rng)
        fitted = np.asarray(fit_isotonic(confidence, correct, weights=WEIGHTS, where=EVERY)(confidence))
        np.testing.assert_allclose(fitted, np.array(isotonic(confidence, correct), float), atol=2e-7)


@pytest.mark.medium
def test_between_and_outside_the_rows():
    """A value holds until the next block begins; the first also below."""
    fitted = fit_isotonic(*few([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1]), **options_of_few(4))
    values = fitted(few([0.0, 0.2, 0.39, 0.4, 0.5, 0.79, 0.8, 1.0], [0])[0])[:8]
    np.testing.assert_allclose(values, [0, 0, 0, 0.5, 0.5, 0.5, 1, 1])


def test_scikit_learn_agrees_at_the_rows_and_interpolates_between():
    """...as docs/conventions.md says."""
    isotonic_regression = pytest.importorskip("sklearn.isotonic").IsotonicRegression
    confidence, correct = np.array([0, 0.1, 0.2, 0.3]), np.array([0, 1, 0, 1])
    theirs = isotonic_regression(out_of_bounds="clip").fit(confidence, correct).predict
    ours = fit_isotonic(*few(confidence, correct), **options_of_few(4))
    np.testing.assert_allclose(ours(few(confidence, [0])[0])[:4], theirs(confidence))
    assert (float(ours(few([0.05], [0])[0])[0]), theirs([0.05])) == (0, pytest.approx(0.25))


@pytest.mark.medium
def test_scikit_learn_agrees_between_the_rows_too(rng):
    """With `interpolate`: ties, weights, masked rows, and beyond the first and the last."""
    isotonic_regression = pytest.importorskip("sklearn.isotonic").IsotonicRegression
    confidence, correct = scored(rng)
    confidence = 0.125 + 0.75 * confidence
    weights, where = rng.integers(1, 4, N).astype(np.float32), rng.random(N) < 0.5
    theirs = isotonic_regression(out_of_bounds="clip").fit(confidence[where], correct[where], weights[where]).predict
    hidden = np.where(where, confidence, np.nan), np.where(where, correct, 7)
    ours = fit_isotonic(*hidden, interpolate=True, weights=weights, where=where)
    grid = np.linspace(0, 1, N, dtype=np.float32)
    np.testing.assert_allclose(ours(grid), theirs(grid), atol=1e-6)
    np.testing.assert_allclose(ours(grid[:, None]), theirs(grid)[:, None], atol=1e-6)
    nothing = fit_isotonic(*hidden, interpolate=True, weights=weights, where=~EVERY)
    assert np.isnan(nothing(grid)).all()
    assert np.isnan(ours(np.full(N, np.nan, np.float32))).all()
    assert np.isnan(fit_isotonic([], [], interpolate=True)(0.5))
    with pytest.raises(TypeError, match="interpolate must be a bool, got int"):
        fit_isotonic([0.5], [1], interpolate=1)


def test_weights_repeat_rows_and_a_mask_removes_them(rng):
    confidence, correct = scored(rng)
    weights, where = rng.integers(1, 4, N).astype(np.float32), rng.random(N) < 0.7
    hidden = np.where(where, confidence, np.nan), np.where(where, correct, 7)
    fitted = np.asarray(fit_isotonic(*hidden, weights=weights, where=where)(confidence))[where]
    expected = isotonic(confidence[where], correct[where], weights[where])
    np.testing.assert_allclose(fitted, np.array(expected, float), atol=3e-7)


@pytest.mark.medium
def test_what_it_is_applied_to():
    fitted = Isotonic(np.array([0.5, np.inf]), np.array([0.25, 0.0]))
    np.testing.assert_array_equal(fitted(np.array([[0.0, 1.0], [np.nan, 0.5]])), [[0.25, 0.25], [np.nan, 0.25]])
