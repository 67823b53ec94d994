"""MMCE: against its double sum, and its derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixjax.calibration import mmce
from tests.calibration.test_binned import SAMPLES, SIZE, WEIGHTS


def double_sum(confidence, correct, weights=None, bandwidth=0.4):
    weights = np.ones(len(confidence)) if weights is None else np.asarray(weights, np.float64)
    residual = weights * (np.asarray(correct, np.float64) - confidence)
    kernel = np.exp(-np.abs(confidence[:, None] - confidence[None]) / bandwidth)
    return np.sqrt(residual @ kernel @ residual) / weights.sum()


@settings(deadline=None, max_examples=60)
@given(SAMPLES, st.none() | WEIGHTS)
def test_the_double_sum_agrees(sample, weights):
    """Ties, 0 and 1 among them."""
    confidence, correct = sample
    expected = double_sum(confidence.astype(np.float64), correct, weights)
    np.testing.assert_allclose(mmce(confidence, correct, weights=weights), expected, rtol=2e-6, atol=1e-12)


@settings(deadline=None, max_examples=20)
@given(SAMPLES, st.permutations(range(SIZE)))
def test_order_does_not_matter(sample, order):
    """...not to a bit, nor for the derivatives."""
    confidence, correct = sample
    shuffled = mmce(confidence[list(order)], correct[list(order)])
    assert shuffled == mmce(confidence, correct)
    gradient = jax.grad(mmce)(confidence, correct)
    again = jax.grad(mmce)(confidence[list(order)], correct[list(order)])
    np.testing.assert_allclose(again, gradient[np.array(order)], rtol=0, atol=1e-6)


@pytest.mark.parametrize("bandwidth", [1e-3, 0.4, 10.0])
def test_bandwidths(bandwidth, rng):
    confidence, correct = rng.beta(5, 1, 2000), rng.random(2000) < 0.8
    expected = double_sum(confidence, correct, bandwidth=bandwidth)
    np.testing.assert_allclose(mmce(confidence, correct, bandwidth=bandwidth), expected, rtol=1e-12)
    narrow = confidence.astype(np.float32)
    expected = double_sum(narrow.astype(np.float64), correct, bandwidth=bandwidth)
    np.testing.assert_allclose(mmce(narrow, correct, bandwidth=bandwidth), expected, rtol=1e-5)


def test_float32_does_not_drift(rng):
    """300,000 calibrated rows, whose error is that of noise, beside float64."""
    confidence = rng.random(300_000).astype(np.float32)
    correct = rng.random(300_000) < confidence
    np.testing.assert_allclose(mmce(confidence, correct), mmce(confidence.astype(np.float64), correct), rtol=1e-6)


@pytest.mark.parametrize(("size", "right"), [(10_000, 3_001), (1_000_000, 300_001)])
def test_float32_does_not_drift_in_a_tie(size, right):
    """Of one score, where residuals cancel, the error is that of the mean."""
    confidence, correct = np.full(size, 0.3, np.float32), np.arange(size) < right
    expected = abs(right / size - float(np.float32(0.3)))
    np.testing.assert_allclose(mmce(confidence, correct), expected, rtol=1e-6, atol=3e-8)
    slope = jax.grad(mmce)(jnp.asarray(confidence), correct)
    np.testing.assert_allclose(slope.sum(), -np.sign(right / size - confidence[0]), rtol=0, atol=1e-4)


def test_gradients_are_finite_differences(rng):
    confidence, correct, weights = rng.random(30), rng.random(30) < 0.5, rng.random(30)
    for argument in (0, 1):
        loss = lambda c, w: mmce(c, correct, weights=w)  # noqa: E731
        gradient = jax.grad(loss, argument)(confidence, weights)
        for i in range(0, 30, 7):
            step = 1e-6 * (np.arange(30) == i)
            steps = (step, 0 * step) if argument == 0 else (0 * step, step)
            up = loss(confidence + steps[0], weights + steps[1])
            down = loss(confidence - steps[0], weights - steps[1])
            np.testing.assert_allclose(gradient[i], (up - down) / 2e-6, rtol=0, atol=1e-8)


def test_a_tie_has_the_mean_of_its_slopes():
    confidence, correct = np.array([0.3, 0.3, 0.8]), np.array([1, 0, 1])
    step = np.array([1e-6, 0, 0])
    slope = (mmce(confidence + step, correct) - mmce(confidence - step, correct)) / 2e-6
    np.testing.assert_allclose(jax.grad(mmce)(confidence, correct)[0], slope, rtol=0, atol=1e-6)


def test_gradients_are_finite():
    for confidence, correct in (([0, 0, 1, 1], [0, 1, 1, 0]), ([0, 0, 1, 1], [0, 0, 1, 1]), ([0.5] * 4, [0, 1, 0, 1])):
        rows = jnp.asarray([*confidence, np.nan], np.float32), np.array([*correct, 1]), np.arange(5) < 4
        gradient = jax.grad(lambda c, y, w: mmce(c, y, where=w))(*rows)
        assert np.isfinite(gradient).all()
        assert gradient[4] == 0
    assert mmce([0.0, 1.0], [0, 1]) == 0


@pytest.mark.parametrize(
    ("bandwidth", "error"), [(0, ValueError), (-1.0, ValueError), (np.inf, ValueError), ("wide", TypeError)]
)
def test_wrong_bandwidths_are_refused(bandwidth, error):
    with pytest.raises(error, match="bandwidth must be"):
        mmce([0.5], [1], bandwidth=bandwidth)
