"""MMCE: against its double sum, and its derivatives."""

from __future__ import annotations

from functools import partial

import jax
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


@pytest.mark.medium
@settings(deadline=None, max_examples=60)
@given(SAMPLES, st.none() | WEIGHTS)
def test_the_double_sum_agrees(sample, weights):
    """Ties, 0 and 1 among them."""
    confidence, correct = sample
    expected = double_sum(confidence.astype(np.float64), correct, weights)
    np.testing.assert_allclose(mmce(confidence, correct, weights=weights), expected, rtol=2e-6, atol=1e-12)


slopes = jax.jit(jax.grad(mmce))


@pytest.mark.slow
@settings(deadline=None, max_examples=20)
@given(SAMPLES, st.permutations(range(SIZE)))
def test_order_does_not_matter(sample, order):
    """...not to a bit, nor for the derivatives."""
    confidence, correct = sample
    order, correct = list(order), correct.astype(np.float32)
    assert mmce(confidence[order], correct[order]) == mmce(confidence, correct)
    again = slopes(confidence[order], correct[order])
    np.testing.assert_allclose(again, np.asarray(slopes(confidence, correct))[order], rtol=0, atol=1e-6)


@pytest.mark.slow
def test_bandwidths_are_data(rng, compilations):
    """Of 2000 rows, which are in several stretches; the default is 0.4, and no other value compiles again."""
    confidence, correct = rng.beta(5, 1, 2000).astype(np.float32), rng.random(2000) < 0.8
    exact = partial(double_sum, confidence.astype(np.float64), correct)
    np.testing.assert_allclose(mmce(confidence, correct), exact(bandwidth=0.4), rtol=1e-5)
    programs = []
    for nu in (0.4, 1e-3, 10.0):
        np.testing.assert_allclose(mmce(confidence, correct, bandwidth=nu), exact(bandwidth=nu), rtol=1e-5)
        programs.append(len(compilations))
    assert programs[0] == programs[-1]


@pytest.mark.slow
def test_float32_does_not_drift(rng):
    """300,000 calibrated rows, whose error is that of noise, beside float64."""
    confidence = rng.random(300_000).astype(np.float32)
    correct = rng.random(300_000) < confidence
    np.testing.assert_allclose(mmce(confidence, correct), mmce(confidence.astype(np.float64), correct), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "right"), [
    (10_000, 3_001), pytest.param(1_000_000, 300_001, marks=pytest.mark.slow),
])  # fmt: skip
def test_float32_does_not_drift_in_a_tie(size, right):
    """Of one score, where residuals cancel, the error is that of the mean."""
    confidence, correct = np.full(size, 0.3, np.float32), np.arange(size) < right
    expected = abs(right / size - float(np.float32(0.3)))
    np.testing.assert_allclose(mmce(confidence, correct), expected, rtol=1e-6, atol=3e-8)
    slope = np.asarray(slopes(confidence, correct.astype(np.float32)))
    np.testing.assert_allclose(slope.sum(), -np.sign(right / size - confidence[0]), rtol=0, atol=1e-4)


@pytest.mark.slow
def test_gradients_are_finite_differences(rng):
    """Rows 0 and 1 are a tie, which has the mean of its slopes."""
    confidence, correct, weights = rng.random(30), rng.random(30) < 0.5, rng.random(30)
    confidence[1] = confidence[0]
    loss = lambda c, w: mmce(c, correct, weights=w)  # noqa: E731
    gradient = jax.jit(jax.grad(loss, (0, 1)))(confidence, weights)
    for i in (0, 7, 14, 29):
        step = 1e-6 * (np.arange(30) == i)
        by_confidence = loss(confidence + step, weights) - loss(confidence - step, weights)
        by_weight = loss(confidence, weights + step) - loss(confidence, weights - step)
        np.testing.assert_allclose(gradient[0][i], by_confidence / 2e-6, rtol=0, atol=1e-6 if i == 0 else 1e-8)
        np.testing.assert_allclose(gradient[1][i], by_weight / 2e-6, rtol=0, atol=1e-8)


@pytest.mark.slow
def test_gradients_are_finite():
    masked = jax.jit(jax.value_and_grad(lambda c, y, w: mmce(c, y, where=w)))
    for confidence, correct in (([0, 0, 1, 1], [0, 1, 1, 0]), ([0, 0, 1, 1], [0, 0, 1, 1]), ([0.5] * 4, [0, 1, 0, 1])):
        rows = np.array([*confidence, np.nan], np.float32), np.array([*correct, 1]), np.arange(5) < 4
        value, gradient = masked(*rows)
        assert np.isfinite(gradient).all()
        assert gradient[4] == 0
        assert (value == 0) == (correct != [0, 1, 1, 0])  # a tie that is calibrated is no error


@pytest.mark.parametrize(
    ("bandwidth", "error"), [(0, ValueError), (np.inf, ValueError), (1e-300, ValueError), ("wide", TypeError)]
)
def test_wrong_bandwidths_are_refused(bandwidth, error):
    with pytest.raises(error, match="bandwidth must be"):
        mmce(np.float32([0.5]), [1], bandwidth=bandwidth)
