"""Soft-binned error: against the definition, its limit of hard bins, and its derivatives."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mixjax.calibration import soft_ece
from tests.calibration.exact import binned_error


def literal(confidence, correct, num_bins=15, temperature=None, norm=1, weights=None):
    """Karandikar et al., Eq. 11."""
    temperature = 1 / (num_bins**2 * np.log(2)) if temperature is None else temperature
    weights = np.ones(len(confidence)) if weights is None else weights
    centers = (np.arange(num_bins) + 0.5) / num_bins
    shares = np.exp(-((confidence[:, None] - centers) ** 2) / temperature)
    shares *= (weights / shares.sum(1))[:, None]
    mass = shares.sum(0)
    gaps = np.abs(shares.T @ correct - shares.T @ confidence) / mass
    return gaps.max() if norm == np.inf else (mass / mass.sum() @ gaps**norm) ** (1 / norm)


@pytest.mark.medium
@pytest.mark.few(2)
@pytest.mark.parametrize("options", [
    {}, {"num_bins": 5, "norm": 2}, pytest.param({"temperature": 0.01, "norm": 3}, marks=pytest.mark.slow),
    {"temperature": 1.0, "norm": np.inf},
])  # fmt: skip
def test_the_definition_agrees(options, rng):
    confidence, correct, weights = rng.beta(3, 1, 200).astype(np.float32), rng.random(200) < 0.6, rng.random(200)
    expected = literal(confidence.astype(np.float64), correct, weights=weights, **options)
    value = soft_ece(confidence, correct, weights=weights.astype(np.float32), **options)
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-6)


def test_blocks_agree(rng):
    """More rows than a block holds."""
    confidence, correct = rng.random(9000), rng.random(9000) < 0.6
    np.testing.assert_allclose(soft_ece(confidence, correct), literal(confidence, correct), rtol=0, atol=1e-13)


@pytest.mark.medium
def test_cold_bins_are_hard(rng):
    """Away from the edges of bins."""
    confidence = (rng.integers(0, 15, 300) + rng.uniform(0.1, 0.9, 300)) / 15
    correct = rng.random(300) < 0.6
    hard = binned_error(confidence, correct, num_bins=15, norm=2)
    for temperature in (1e-5, 1e-20):
        value = soft_ece(confidence, correct, norm=2, temperature=temperature)
        np.testing.assert_allclose(value, hard, rtol=0, atol=1e-12)
    for temperature in (1e-15, 1e-30):  # where programs that are optimized compute two roundings of a distance
        value = soft_ece(confidence.astype(np.float32), correct, norm=2, temperature=temperature)
        np.testing.assert_allclose(value, hard, rtol=0, atol=1e-6)


@pytest.mark.slow
def test_gradients_are_finite_differences(rng):
    confidence, correct = rng.uniform(0.01, 0.99, 9000), rng.random(9000) < 0.4
    loss = jax.jit(lambda c, t: soft_ece(c, correct, norm=2, temperature=t))
    by_confidence, by_temperature = jax.jit(jax.grad(loss, (0, 1)))(confidence, 0.01)
    for i in (0, 8191, 8999):
        step = 1e-4 * (np.arange(9000) == i)
        slope = (loss(confidence + step, 0.01) - loss(confidence - step, 0.01)) / 2e-4
        np.testing.assert_allclose(by_confidence[i], slope, rtol=1e-5)
    slope = (loss(confidence, 0.0101) - loss(confidence, 0.0099)) / 2e-4
    np.testing.assert_allclose(by_temperature, slope, rtol=1e-3)


@pytest.mark.few(1)
@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_gradients_are_finite(norm, dtype):
    """At 0, 1, the edges of bins, ties, no error at all, bins of hardly any mass, and masked NaN."""
    gradient_of = jax.jit(jax.grad(lambda c, y, w, t: soft_ece(c, y, where=w, norm=norm, temperature=t)))
    for confidence, correct in (([0, 0, 1, 1, 0.2, 0.2], [0, 1, 1, 0, 1, 0]), ([0, 0, 1, 1, 0, 1], [0, 0, 1, 1, 0, 1])):
        rows = np.array([*confidence, np.nan], dtype), np.array([*correct, 1]), np.arange(7) < 6
        for temperature in (0.0064, 1e-4):
            gradient = gradient_of(*rows, temperature)
            assert np.isfinite(gradient).all()
            assert gradient[6] == 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"temperature": 0.0}, ValueError, "temperature must be finite and positive, got 0"),
        ({"temperature": [0.1, 0.2]}, ValueError, r"temperature must be a scalar, got shape \(2,\)"),
        ({"temperature": "hot"}, TypeError, "temperature must be real numbers"),
        ({"num_bins": 0}, ValueError, "num_bins must be at least 1"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        soft_ece([0.5], [1], **options)


@pytest.mark.medium
def test_a_traced_temperature_that_is_wrong_is_nan():
    assert np.isnan(jax.jit(lambda t: soft_ece([0.5], [1], temperature=t))(0.0))
