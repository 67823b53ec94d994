"""The debiased squared error: against exact fractions, and without bias."""

from __future__ import annotations

from typing import get_args

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixjax.calibration import debiased_ece2, ece
from mixjax.calibration.debiased import Form
from tests.calibration.exact import debiased_square
from tests.calibration.test_binned import SAMPLES, SIZE, close

CHOICES = (
    {"num_bins": 1, "form": "kumar", "binning": "equal-width"},
    {"num_bins": 4, "form": "u-statistic", "binning": "equal-mass"},
    {"num_bins": 4, "form": "kumar", "binning": "equal-mass"},
    {"num_bins": 5, "form": "u-statistic", "binning": "equal-width", "closed": "right"},
)


@settings(deadline=None, max_examples=60)
@given(SAMPLES, st.sampled_from(CHOICES), st.permutations(range(SIZE)))
def test_exact_fractions_agree(sample, choice, order):
    """...in any order of the rows."""
    confidence, correct = (column[list(order)] for column in sample)
    squared, root = debiased_ece2(confidence, correct, **choice)
    exact = debiased_square(*sample, **choice)
    close(squared, exact)
    np.testing.assert_allclose(root, np.sqrt(max(float(squared), 0.0)), rtol=1e-6)


@pytest.mark.slow
def test_the_correction_is_that_of_the_plug_in(rng):
    """Two or more rows in every bin: the square of ECE_2, less the noise."""
    confidence, correct = rng.random(200), rng.random(200) < 0.3
    bins = np.minimum((confidence * 10).astype(int), 9)
    noise = sum(correct[bins == b].var() / (np.sum(bins == b) - 1) * np.mean(bins == b) for b in range(10))
    squared, _ = debiased_ece2(confidence, correct, num_bins=10, form="kumar")
    np.testing.assert_allclose(squared, ece(confidence, correct, num_bins=10, norm=2) ** 2 - noise, atol=1e-14)


@pytest.mark.medium
@pytest.mark.parametrize("true", [0.5, 0.8])
def test_it_has_no_bias(true, rng):
    """Confidences that vary inside one bin and accuracy `true`: 4000 samples of 20. Five standard errors fail once
    in two million times."""
    confidence = np.linspace(0.3, 0.7, 20)
    correct = rng.random((4000, 20)) < true
    estimate = jax.jit(jax.vmap(lambda y: debiased_ece2(confidence, y, num_bins=1).squared))
    squared = np.asarray(estimate(correct.astype(float)))
    assert abs(squared.mean() - (true - 0.5) ** 2) < 5 * squared.std() / np.sqrt(4000)


@pytest.mark.medium
@pytest.mark.parametrize("form", get_args(Form))
def test_few_rows_in_many_bins_have_no_bias_either(form, rng):
    """f uniform, P(correct | f) = f^2: the bins' squared error, 1/30 but for what varies within them; 20,000
    samples of 10 rows in 15 bins, of which 2 % have no two rows in a bin. Five standard errors fail once in two million
    times."""
    confidence = rng.random((20_000, 10))
    correct = rng.random((20_000, 10)) < confidence**2
    estimate = jax.jit(jax.vmap(lambda f, y: debiased_ece2(f, y, form=form).squared))
    squared = np.asarray(estimate(confidence, correct.astype(float)))
    edges = np.linspace(0, 1, 16)
    exact = 15 * np.sum(np.diff(edges**2 / 2 - edges**3 / 3) ** 2)  # mass 1/15 each, of (the integral of f - f^2)^2
    squared = squared[np.isfinite(squared)]
    assert abs(squared.mean() - exact) < 5 * squared.std() / np.sqrt(len(squared))


@pytest.mark.slow
def test_bins_of_one_row_are_left_out():
    """...of the sum and of n; without two rows in a bin there is no estimate."""
    squared, root = debiased_ece2(np.array([0.1, 0.1, 0.9]), [1, 1, 0], num_bins=2)
    np.testing.assert_allclose([squared, root], [0.81, 0.9], rtol=1e-15)
    assert np.isnan(debiased_ece2([0.3], [1])).all()


def test_every_form_is_compared_with_its_definition():
    assert {choice["form"] for choice in CHOICES} == set(get_args(Form))


def test_wrong_options_are_refused():
    with pytest.raises(ValueError, match=r"form must be one of .*, got 'plug-in'"):
        debiased_ece2([0.5], [1], form="plug-in")


@pytest.mark.slow
def test_float32_does_not_drift(rng):
    confidence, correct = rng.uniform(0.9, 1, 10**6).astype(np.float32), rng.random(10**6) < 0.8
    exact = ((correct - confidence.astype(np.float64)).mean()) ** 2
    squared, _ = debiased_ece2(confidence, correct, num_bins=1)
    assert squared.dtype == np.float32
    np.testing.assert_allclose(squared, exact - 0.16 / 10**6, atol=2e-8)


@pytest.mark.slow
def test_gradients_are_finite(rng):
    """The root is clipped at 0 for a sample that looks too good."""
    gradient = jax.jit(jax.grad(lambda c, y: debiased_ece2(c, y, num_bins=1).root))
    for correct in (np.array([1, 1, 1, 0]), np.array([1, 0, 1, 0])):
        assert np.isfinite(gradient(np.full(4, 0.5), correct)).all()
