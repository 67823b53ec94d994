"""The law of a score: against literal scores of test points, and with a gap that does not cancel."""

from __future__ import annotations

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax.gaussian.law import ScoreLaw, score_law


@pytest.mark.medium
def test_moments_of_literal_scores(rng):
    """v = theta_hat' x / sigma^2 at x ~ N(theta, sigma^2 I): mean within 5 and variance within 6 standard errors."""
    theta_hat, theta, sigma = rng.standard_normal(7), rng.standard_normal(7), 1.7
    v = (theta + sigma * rng.standard_normal((400_000, 7))) @ theta_hat / sigma**2
    law = score_law(theta_hat, theta, sigma=sigma)
    assert abs(v.mean() - law.mean) < 5 * v.std() / np.sqrt(v.size)
    assert abs(v.var() / law.var - 1) < 6 * np.sqrt(2 / v.size)


def test_by_exact_arithmetic(rng):
    """In rational numbers; a float sum of 5 products is right to 5 units of the sum of their sizes."""
    theta_hat, theta = rng.standard_normal((2, 5))
    law = score_law(theta_hat, theta, sigma=0.5)
    exact_hat, exact = ([Fraction(x) for x in vector] for vector in (theta_hat, theta))
    mean = 4 * sum(a * b for a, b in zip(exact_hat, exact, strict=True))
    var = 4 * sum(a * a for a in exact_hat)
    size = 4 * np.sum(theta_hat**2 + np.abs(theta_hat * theta))
    for actual, expected in ((law.mean, mean), (law.var, var), (law.gap, var - mean)):
        np.testing.assert_allclose(float(actual), float(expected), rtol=0, atol=5 * np.finfo(float).eps * size)
    np.testing.assert_allclose(law.slope, float(mean / var), rtol=1e-14)


@pytest.mark.parametrize("error", [1e-2, 1e-4])
def test_the_gap_does_not_cancel_in_float32(error):
    """theta_hat = theta (1 + error): gap = error (1 + error) |theta|^2, to the digits of theta_hat - theta."""
    theta = np.full(100, 0.5, np.float32)
    theta_hat = (theta * np.float32(1 + error)).astype(np.float32)
    expected = np.sum(theta_hat.astype(float) * (theta_hat.astype(float) - theta))
    law = score_law(theta_hat, theta)
    assert law.gap.dtype == np.float32
    np.testing.assert_allclose(float(law.gap), expected, rtol=1e-6)


@pytest.mark.medium
def test_batches(rng):
    theta_hat, theta, sigma = rng.standard_normal((3, 4, 5)), rng.standard_normal((4, 5)), np.array([0.5, 1, 2, 3])
    laws = score_law(theta_hat, theta, sigma=sigma)
    assert laws.mean.shape == laws.gap.shape == laws.var.shape == laws.slope.shape == (3, 4)
    for i, j in np.ndindex(3, 4):
        alone = score_law(theta_hat[i, j], theta[j], sigma=sigma[j])
        np.testing.assert_allclose((laws.mean[i, j], laws.gap[i, j]), alone, rtol=1e-14)
    one_theta = score_law(theta_hat, theta[0])
    np.testing.assert_allclose(one_theta.mean, theta_hat @ theta[0], rtol=1e-13)


def test_from_moments():
    law = ScoreLaw.from_moments([[1.0], [2.0]], [3.0, 0.5, 1.0])
    np.testing.assert_array_equal(law.mean, [[1, 1, 1], [2, 2, 2]])
    np.testing.assert_array_equal(law.gap, [[2, -0.5, 0], [1, -1.5, -1]])
    np.testing.assert_array_equal(law.var, [[3, 0.5, 1], [3, 0.5, 1]])
    assert ScoreLaw.from_moments(1, np.float32(2)).gap.dtype == np.float32
    assert ScoreLaw.from_moments(1, 2).gap.dtype == np.float64


def test_jit_and_gradient():
    """d mean / d theta_hat = theta, d var / d theta_hat = 2 theta_hat."""
    theta_hat, theta = jnp.array([1.0, 2.0]), jnp.array([3.0, -1.0])
    gradient = jax.jit(jax.grad(lambda x: score_law(x, theta).var + 10 * score_law(x, theta).mean))(theta_hat)
    np.testing.assert_allclose(gradient, 2 * theta_hat + 10 * theta, rtol=1e-15)


@pytest.mark.parametrize(
    "theta_hat, theta", [(np.ones(3), np.ones(2)), (np.ones((2, 3)), np.ones(2)), (1.0, np.ones(1))]
)
def test_last_axes_must_agree(theta_hat, theta):
    with pytest.raises(ValueError, match=r"theta_hat and theta must end in the same p, got \("):
        score_law(theta_hat, theta)
