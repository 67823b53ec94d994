"""The ridge with Mixup against scikit-learn on every pair written out, and its limit against quadrature and large n."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate
from sklearn.covariance import empirical_covariance
from sklearn.linear_model import Ridge

from mixjax.gaussian import (
    class_mean,
    limit_ridge_scores,
    limit_scores,
    mixup_weight,
    ridge_coefficients,
    ridge_estimator,
    sample_data,
    score_law,
    weighted_estimator,
)
from tests.gaussian.every_pair import every_pair


def data(rng, n=7, p=4):
    return rng.standard_normal((n, p)) + 0.5, rng.choice([-1.0, 1.0], n)


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("alpha, beta, p, penalty", [(0.2, 0.2, 4, 0.1), (1, 1, 4, 3.0), (2, 0.5, 12, 0.05)])
def test_coefficients_are_the_ridge_of_all_pairs(rng, alpha, beta, p, penalty):
    x, y = data(rng, p=p)
    rows, labels, shares = every_pair(x, y, alpha, beta)
    fit = Ridge(alpha=penalty, fit_intercept=False, solver="svd").fit(rows, labels, sample_weight=shares)
    ours = ridge_coefficients(x, y, mixup_weight(alpha, beta), penalty=penalty)
    np.testing.assert_allclose(ours, fit.coef_, rtol=0, atol=1e-12)


@pytest.mark.medium
def test_coefficients_without_mixup_are_the_ridge(rng):
    x, y = data(rng)
    fit = Ridge(alpha=0.3 * 7, fit_intercept=False, solver="svd").fit(x, y)
    np.testing.assert_allclose(ridge_coefficients(x, y, 0, penalty=0.3), fit.coef_, rtol=0, atol=1e-13)


@pytest.mark.medium
@pytest.mark.parametrize("t", [0, 0.3])
def test_the_estimator_is_a_discriminant_with_a_shrunk_covariance(rng, t):
    """By scikit-learn's covariance of y x without Mixup, and by the scaled coefficients at every t."""
    x, y = data(rng)
    ours = ridge_estimator(x, y, t, penalty=0.3)
    coefficients = ridge_coefficients(x, y, t, penalty=0.3)
    scale = 1.3 / (1 - coefficients @ weighted_estimator(x, y, t))
    np.testing.assert_allclose(ours, scale * coefficients, rtol=1e-11)
    if t == 0:
        signed = y[:, None] * x
        shrunk = (empirical_covariance(signed) + 0.3 * np.eye(4)) / 1.3
        np.testing.assert_allclose(ours, np.linalg.solve(shrunk, signed.mean(axis=0)), rtol=1e-11)


@pytest.mark.medium
def test_a_large_penalty_is_the_papers_estimator(rng):
    x, y = data(rng)
    for t in (0.0, 0.3):
        np.testing.assert_allclose(ridge_estimator(x, y, t, penalty=1e9), weighted_estimator(x, y, t), rtol=1e-7)


def spectrum(ratio, power, shift):
    """The mean of (x + shift)^-power over the law of Marchenko and Pastur, by its density and its atom at 0."""
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2

    def at(angle):  # x = low + (high - low) (1 - cos angle) / 2
        x = low + (high - low) * (1 - np.cos(angle)) / 2
        return ((high - low) * np.sin(angle) / 2) ** 2 / (2 * np.pi * ratio * x) / (x + shift) ** power

    return integrate.quad(at, 0, np.pi, epsabs=1e-13)[0] + max(0.0, 1 - 1 / ratio) / shift**power


def test_limit_is_the_integral_over_the_spectrum():
    """In the columns: p/n; c = 0 is calibrated without Mixup, and a large penalty gives the paper's estimator."""
    ratio, t = np.array([0.0, 0.01, 0.5, 0.9, 2.0, 30.0]), np.array([[0.0], [0.3], [0.45], [0.3]])
    penalty, square = np.array([[0.05], [1.0], [10.0], [1e8]]), 1.7**2
    law = limit_ridge_scores(ratio, 1.7, t, penalty=penalty)
    np.testing.assert_allclose((law.mean[0, 0], law.var[0, 0]), square, rtol=1e-12)
    paper = limit_scores(ratio, 1.7, 0.3)
    np.testing.assert_allclose((law.mean[3], law.var[3]), (paper.mean, paper.var), rtol=1e-6)
    shift = penalty[:3] / (1 - t[:3])
    first, second = (np.array([[spectrum(c, power, nu) for c in ratio[1:]] for nu in shift[:, 0]]) for power in (1, 2))
    scale = (1 + penalty[:3]) / (1 + t[:3] * (square + ratio[1:]) * first)
    np.testing.assert_allclose(law.mean[:3, 1:], scale * square * first, rtol=1e-8)
    np.testing.assert_allclose(law.var[:3, 1:], scale**2 * (square + ratio[1:]) * second, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [0.3, 2.0])
def test_literal_fits_tend_to_the_limit(key, ratio):
    """Means over 30 training sets of n = 200 within 5 standard errors and 2 % of the limit: false alarm 6e-7 a check.

    The bias of a mean is of order 1/n: 1.1 % +- 0.2 % of the variance at ratio 2 and t = 1/3.
    """
    theta = class_mean(int(200 * ratio), 1.5)

    def laws(key):
        x, y = sample_data(key, n=200, theta=theta)
        return jax.lax.map(lambda t: score_law(ridge_estimator(x, y, t, penalty=0.5), theta), jnp.array([0.0, 1 / 3]))

    drawn = jax.jit(partial(jax.lax.map, laws))(jax.random.split(key, 30))
    limit = limit_ridge_scores(ratio, 1.5, np.array([0.0, 1 / 3]), penalty=0.5)
    for found, wanted in ((drawn.mean, limit.mean), (drawn.var, limit.var)):
        error = np.abs(np.mean(found, axis=0) - wanted)
        assert (error < 5 * np.std(found, axis=0, ddof=1) / np.sqrt(30) + 0.02 * wanted).all()


@pytest.mark.slow
def test_float32_stays_float32(rng):
    x, y = (part.astype(np.float32) for part in data(rng))
    ours = ridge_estimator(x, y, np.float32(0.3), penalty=0.1)
    assert ours.dtype == np.float32
    exact = ridge_estimator(x.astype(float), y.astype(float), 0.3, penalty=0.1)
    np.testing.assert_allclose(ours, exact, rtol=0, atol=1e-4 * np.abs(exact).max())
    law = limit_ridge_scores(np.float32(0.5), np.float32(1), np.float32(0.3), penalty=0.1)
    assert law.mean.dtype == law.gap.dtype == np.float32
