"""Soft-binned error: against the definition, its limit of hard bins, and its derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax.calibration import ece, soft_ece


def literal(confidence, correct, num_bins=15, temperature=None, norm=2, weights=None):
    """Karandikar et al., Eq. 11."""
    temperature = 1 / (num_bins**2 * np.log(2)) if temperature is None else temperature
    weights = np.ones(len(confidence)) if weights is None else weights
    centers = (np.arange(num_bins) + 0.5) / num_bins
    shares = np.exp(-((confidence[:, None] - centers) ** 2) / temperature)
    shares *= (weights / shares.sum(1))[:, None]
    mass = shares.sum(0)
    gaps = np.abs(shares.T @ correct - shares.T @ confidence) / mass
    return gaps.max() if norm == np.inf else (mass / mass.sum() @ gaps**norm) ** (1 / norm)


@pytest.mark.parametrize(
    "options", [{}, {"num_bins": 5, "norm": 1}, {"temperature": 0.01, "norm": 3}, {"temperature": 1.0, "norm": np.inf}]
)
def test_the_definition_agrees(options, rng):
    confidence, correct, weights = rng.beta(3, 1, 200), rng.random(200) < 0.6, rng.random(200)
    for chosen in (options, {**options, "weights": weights}):
        expected = literal(confidence, correct, **chosen)
        np.testing.assert_allclose(soft_ece(confidence, correct, **chosen), expected, rtol=0, atol=1e-13)
        narrow = soft_ece(confidence.astype(np.float32), correct, **chosen)
        np.testing.assert_allclose(narrow, expected, rtol=0, atol=1e-6)


def test_blocks_agree(rng):
    """More rows than a block holds."""
    confidence, correct = rng.random(20_001), rng.random(20_001) < 0.6
    np.testing.assert_allclose(soft_ece(confidence, correct), literal(confidence, correct), rtol=0, atol=1e-13)


def test_cold_bins_are_hard(rng):
    """Away from the edges of bins."""
    confidence = (rng.integers(0, 15, 300) + rng.uniform(0.1, 0.9, 300)) / 15
    correct = rng.random(300) < 0.6
    for norm in (1, 2, np.inf):
        hard = ece(confidence, correct, norm=norm)
        for temperature in (1e-5, 1e-20):
            value = soft_ece(confidence, correct, norm=norm, temperature=temperature)
            np.testing.assert_allclose(value, hard, rtol=0, atol=1e-12)


def test_gradients_are_finite_differences(rng):
    confidence, correct = rng.uniform(0.01, 0.99, 9000), rng.random(9000) < 0.4
    gradient = jax.grad(soft_ece)(confidence, correct)
    for i in (0, 8191, 8999):
        step = 1e-4 * (np.arange(9000) == i)
        slope = (soft_ece(confidence + step, correct) - soft_ece(confidence - step, correct)) / 2e-4
        np.testing.assert_allclose(gradient[i], slope, rtol=1e-5)
    slope = (
        soft_ece(confidence, correct, temperature=0.0101) - soft_ece(confidence, correct, temperature=0.0099)
    ) / 2e-4
    derivative = jax.grad(lambda t: soft_ece(confidence, correct, temperature=t))(0.01)
    np.testing.assert_allclose(derivative, slope, rtol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("norm", "temperature"), [(1, None), (2, None), (2, 1e-4), (np.inf, None)])
def test_gradients_are_finite(norm, temperature, dtype):
    """At 0, 1, the edges of bins, ties, no error at all, bins of hardly any mass, and masked NaN."""
    for confidence, correct in (([0, 0, 1, 1, 0.2, 0.2], [0, 1, 1, 0, 1, 0]), ([0, 0, 1, 1, 0, 1], [0, 0, 1, 1, 0, 1])):
        rows = jnp.asarray([*confidence, np.nan], dtype), np.array([*correct, 1]), np.arange(7) < 6
        gradient = jax.grad(lambda c, y, w: soft_ece(c, y, where=w, norm=norm, temperature=temperature))(*rows)
        assert np.isfinite(gradient).all()
        assert gradient[6] == 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"temperature": 0.0}, ValueError, "temperature must be finite and positive, got 0"),
        ({"temperature": [0.1, 0.2]}, ValueError, r"temperature must be a scalar, got shape \(2,\)"),
        ({"temperature": "hot"}, TypeError, "temperature must be real numbers"),
        ({"norm": 0.5}, ValueError, "norm must be at least 1"),
        ({"num_bins": 0}, ValueError, "num_bins must be at least 1"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        soft_ece([0.5], [1], **options)


def test_a_traced_temperature_that_is_wrong_is_nan():
    assert np.isnan(jax.jit(lambda t: soft_ece([0.5], [1], temperature=t))(0.0))
