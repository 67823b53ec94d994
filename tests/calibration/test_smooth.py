"""Smooth calibration error: against direct sums of Gaussians, and what its definition promises."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.optimize import brentq

from mixjax.calibration import smooth_ece
from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.smooth import _spectrum, _spread


def direct_spread(confidence, correct, sigma, weights=1.0, points=10_000):
    """smECE_sigma from the definition: mirror images of each row, midpoint rule."""
    t = (np.arange(points)[:, None] + 0.5) / points
    r = np.zeros(points)
    for shift in (-2, 0, 2):
        for sign in (1, -1):
            r += np.exp(-0.5 * ((t - sign * confidence - shift) / sigma) ** 2) @ (weights * (correct - confidence))
    return np.abs(r).mean() / (sigma * np.sqrt(2 * np.pi) * np.mean(weights) * len(confidence))


def check(confidence, correct, **options):
    """The spread falls and sigma grows, so a value is as far from the fixed point as these are apart, or nearer."""
    value = float(smooth_ece(confidence, correct, **options))
    direct = direct_spread(np.asarray(confidence, np.float64), correct, value, **options)
    np.testing.assert_allclose(value, direct, rtol=0, atol=1e-6)


SAMPLES = {  # size, confidences, the probability of being right
    "calibrated": (200, lambda rng, n: rng.random(n), lambda f: f),
    "overconfident": (200, lambda rng, n: rng.beta(5, 1.2, n), lambda f: 0.8 * f),
    "crossing": (200, lambda rng, n: rng.random(n), lambda f: 0.5 + 0 * f),
    "saturated": (200, lambda rng, n: np.round(rng.beta(2, 0.3, n), 2), lambda f: 0.9 * f),
    "few": (3, lambda rng, n: rng.random(n), lambda f: f),
}


@pytest.mark.medium
@pytest.mark.few(2)
@pytest.mark.parametrize("name", SAMPLES)
def test_direct_sums_agree(name, rng):
    size, draw, chance = SAMPLES[name]
    confidence = draw(rng, size)
    correct = (rng.random(size) < chance(confidence)).astype(float)
    check(confidence.astype(np.float32), correct)


@pytest.mark.slow
def test_float64_and_weights_agree(rng):
    check(rng.random(100), rng.random(100) < 0.5, weights=rng.random(100))


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("confidence", [0.0, 1e-5, 0.3, 0.5, 0.999, 1.0])
def test_one_confidence_is_its_mean_residual(confidence):
    value = smooth_ece(np.full(10, confidence), np.arange(10) < 3)
    np.testing.assert_allclose(value, abs(0.3 - confidence), rtol=0, atol=1e-13)


def test_small_errors():
    """...down to none, with widths far below a cell."""
    ends = np.arange(10) % 2
    assert smooth_ece(ends.astype(float), ends) == 0
    for gap in (1e-12, 1e-8, 1e-5, 1e-3):
        np.testing.assert_allclose(smooth_ece(np.full(10, 1 - gap), np.ones(10)), gap, rtol=1e-3)
    narrow = smooth_ece([0.5, 0.5 + 1e-7] * 5, [1, 0] * 5)  # half the derivative of a Gaussian
    np.testing.assert_allclose(narrow, np.sqrt(1e-7 / (2 * np.sqrt(2 * np.pi))), rtol=0, atol=2e-5)


@pytest.mark.slow
def test_it_does_not_increase_with_sigma(rng):
    confidence = rng.random(200)
    spectrum = jax.jit(_spectrum)(Rows.of(confidence, rng.random(200) < confidence))
    spread = jax.jit(_spread)
    spreads = [float(spread(spectrum, sigma)) for sigma in (0.0, *np.geomspace(1e-6, 1, 60))]
    assert (np.diff(spreads) <= 1e-15).all()
    np.testing.assert_allclose(spreads[-1], abs(float(spectrum[0].real)) / 2, rtol=1e-2)


@pytest.mark.slow
def test_it_is_the_fixed_point(rng):
    """...that another solver finds, for noise of every size."""
    for size in (10, 1000, 300_000):
        confidence = rng.random(size)
        correct = rng.random(size) < confidence
        spectrum = _spectrum(Rows.of(confidence, correct))
        spread = jax.jit(lambda s, a=spectrum: _spread(a, s) - s)
        np.testing.assert_allclose(smooth_ece(confidence, correct), brentq(spread, 1e-9, 1, xtol=1e-14), atol=1e-12)


@pytest.mark.medium
def test_second_derivatives_raise_and_an_error_of_zero_has_the_derivative_zero():
    confidence, correct = np.array([0.0, 1.0]), np.array([0, 1])
    np.testing.assert_array_equal(jax.jit(jax.grad(smooth_ece))(confidence, correct), [0, 0])
    with pytest.raises(NotImplementedError, match="smooth_ece has first derivatives only, no second ones"):
        jax.hessian(smooth_ece)(confidence, correct)


@pytest.mark.slow
def test_gradients_are_those_of_the_fixed_point(rng):
    confidence = np.concatenate([rng.uniform(0.01, 0.99, 8), [0.25, 0.25]])
    correct, slopes = np.arange(10) % 3 == 0, jax.jit(jax.grad(smooth_ece))
    gradient = slopes(confidence, correct)
    for i in range(0, 10, 3):
        step = 1e-7 * (np.arange(10) == i)
        slope = (smooth_ece(confidence + step, correct) - smooth_ece(confidence - step, correct)) / 2e-7
        np.testing.assert_allclose(gradient[i], slope, rtol=0, atol=1e-6)
    for edges in ([0.0, 1.0], [0.5, 0.5]):
        assert np.isfinite(slopes(np.array(edges * 5), np.arange(10) % 2 == 0)).all()
