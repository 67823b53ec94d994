"""Isotonic recalibration: against the max-min formula in fractions."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mixjax.calibration import brier_score, ece
from mixjax.recalibration import Isotonic, fit_isotonic
from tests.calibration.exact import isotonic
from tests.recalibration.samples import N, scored


def test_max_min_formula_agrees(rng):
    for _ in range(5):
        confidence, correct = scored(rng)
        fitted = fit_isotonic(confidence, correct)
        np.testing.assert_allclose(fitted(confidence), np.array(isotonic(confidence, correct), float), atol=2e-7)
        np.testing.assert_allclose(ece(fitted(confidence), correct), 0, atol=2e-7)
        before, after = (brier_score(np.stack([1 - f, f], axis=1), correct) for f in (confidence, fitted(confidence)))
        assert after <= before + 1e-6


def test_between_and_outside_the_rows():
    """A value holds until the next block begins; the first also below."""
    fitted = fit_isotonic([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    np.testing.assert_allclose(
        fitted(np.array([0.0, 0.2, 0.39, 0.4, 0.5, 0.79, 0.8, 1.0])), [0, 0, 0, 0.5, 0.5, 0.5, 1, 1]
    )


def test_weights_repeat_rows_and_a_mask_removes_them(rng):
    confidence, correct = scored(rng)
    weights, where = rng.integers(1, 4, N).astype(np.float32), rng.random(N) < 0.7
    hidden = np.where(where, confidence, np.nan), np.where(where, correct, 7)
    fitted = fit_isotonic(*hidden, weights=weights, where=where)
    expected = isotonic(confidence[where], correct[where], weights[where])
    np.testing.assert_allclose(fitted(confidence[where]), np.array(expected, float), atol=3e-7)


def test_jit_vmap_and_wrong_values(rng):
    confidence, correct = (np.stack(part) for part in zip(*[scored(rng) for _ in range(3)], strict=True))
    fitted = jax.jit(jax.vmap(fit_isotonic))(confidence, correct)
    values = jax.vmap(lambda function, f: function(f))(fitted, confidence)
    np.testing.assert_allclose(values[1], fit_isotonic(confidence[1], correct[1])(confidence[1]), atol=1e-7)
    confidence[0, 3] = 1.5
    wrong = jax.jit(jax.vmap(fit_isotonic))(confidence, correct)
    assert np.isnan(wrong.values[0]).all() and not np.isnan(wrong.values[1:]).any()
    with pytest.raises(ValueError, match=r"confidence must be in \[0, 1\], got 1.5 in row 3"):
        fit_isotonic(confidence[0], correct[0])
    confidence[0, 3] = np.nan
    assert np.isnan(fit_isotonic(confidence[0], correct[0])(confidence[1])).all()
    assert np.isnan(fit_isotonic(confidence[1], correct[1], where=np.zeros(N, bool))(0.5))
    assert np.isnan(fit_isotonic([], [])(0.5))


def test_what_it_is_applied_to():
    fitted = Isotonic(np.array([0.5, np.inf]), np.array([0.25, 0.0]))
    np.testing.assert_array_equal(fitted(np.array([[0.0, 1.0], [np.nan, 0.5]])), [[0.25, 0.25], [np.nan, 0.25]])
    with pytest.raises(ValueError, match=r"confidence must be in \[0, 1\], got -0.5 in row 1"):
        fitted([0.5, -0.5])
    assert np.isnan(jax.jit(fitted)(np.array([2.0]))).all()
