"""The fit to all pairs against scikit-learn on every pair written out, and against its limit at n = 400 and 1,600."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mixjax.gaussian import (
    class_mean,
    limit_logistic_scores,
    logistic_coefficients,
    mixed_rows,
    mixup_logistic_coefficients,
    sample_data,
)
from tests.gaussian.every_pair import every_pair


def data(rng, n=7, p=3):
    return rng.standard_normal((n, p)) + 0.3, np.array([-1.0, 1.0] * n)[:n]


def by_scikit_learn(rows, labels, shares, penalty):
    """A soft label is both labels, with chances (1 + label) / 2 and (1 - label) / 2."""
    twice = np.concatenate([rows, rows])
    hard = np.repeat([1, -1], len(rows))
    weights = np.concatenate([shares * (1 + labels) / 2, shares * (1 - labels) / 2])
    fit = LogisticRegression(C=1 / penalty, fit_intercept=False, solver="newton-cholesky", tol=1e-13, max_iter=1000)
    return fit.fit(twice, hard, sample_weight=weights).coef_[0]


@pytest.mark.few(2)
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("alpha, beta, p, penalty", [(0.4, 0.4, 3, 0.1), (1, 1, 3, 1e-3), (2, 0.5, 12, 0.05)])
def test_it_is_the_fit_to_every_pair(rng, alpha, beta, p, penalty, smoothing):
    x, y = data(rng, p=p)
    ours = mixup_logistic_coefficients(x, y, penalty=penalty, alpha=alpha, beta=beta, smoothing=smoothing)
    theirs = by_scikit_learn(*every_pair(x, (1 - smoothing) * y, alpha, beta, count=40), penalty)
    np.testing.assert_allclose(x @ np.asarray(ours), x @ theirs, rtol=1e-7, atol=1e-8)


def test_without_mixup_it_is_the_fit_to_smoothed_labels(rng):
    x, y = data(rng)
    ours = mixup_logistic_coefficients(x, y, penalty=0.1, smoothing=0.3)
    np.testing.assert_allclose(ours, logistic_coefficients(x, 0.7 * y, penalty=0.1), rtol=1e-12)


@pytest.mark.slow
def test_many_random_pairs_become_it(rng, key):
    """Of 400,000 random pairs; the coefficients within 5 of the standard errors that ten such fits have."""
    x, y = data(rng, 30, 3)

    def fitted(key):
        rows, labels = mixed_rows(key, x, y, alpha=1.0, beta=1.0, num_pairs=400_000)
        return logistic_coefficients(rows, labels, penalty=0.01)

    fits = np.array([fitted(one) for one in jax.random.split(key, 10)])
    error = fits.mean(0) - np.asarray(mixup_logistic_coefficients(x, y, penalty=0.01, alpha=1.0))
    assert (np.abs(error) < 5 * fits.std(0, ddof=1) / np.sqrt(10)).all()


SETTINGS = {  # ratio, |theta|, penalty, alpha, beta, smoothing
    "plain, separable": (1.0, 1.0, 0.01, 0.0, 0.0, 0.0),
    "plain, heavy penalty": (0.5, 1.5, 1.0, 0.0, 0.0, 0.0),
    "plain, light penalty": (2.0, 1.0, 0.001, 0.0, 0.0, 0.0),
    "smoothing": (0.2, 2.0, 0.001, 0.0, 0.0, 0.1),
    "smoothing at p = n": (1.0, 1.0, 0.001, 0.0, 0.0, 0.2),
    "uniform at p = n": (1.0, 1.0, 0.001, 1.0, 1.0, 0.0),
    "uniform, few dimensions": (0.1, 2.0, 0.01, 1.0, 1.0, 0.0),
    "uniform, many dimensions": (5.0, 1.0, 0.1, 1.0, 1.0, 0.0),
    "small alpha": (0.5, 1.0, 0.01, 0.2, 0.2, 0.0),
    "large alpha, separated classes": (0.3, 3.0, 0.01, 5.0, 5.0, 0.0),
    "asymmetric": (0.8, 1.5, 0.1, 0.5, 2.0, 0.0),
    "both": (1.5, 1.0, 0.01, 0.5, 0.5, 0.1),
    "no signal": (0.5, 0.0, 0.1, 1.0, 1.0, 0.0),
}


def moments(key, n, ratio, theta_norm, penalty, alpha, beta, smoothing):
    """<w, theta> and |w|^2 of one training set."""
    theta = class_mean(round(ratio * n), theta_norm)
    x, y = sample_data(key, n=n, theta=theta)
    w = mixup_logistic_coefficients(x, y, penalty=penalty, alpha=alpha, beta=beta, smoothing=smoothing)
    return np.asarray(w @ theta), np.asarray(w @ w)


def check_moments(key, setting, n, sets):
    """Within 4 standard errors and 2/n: false alarms in 0.6 % of settings at most (t of 7 degrees of freedom)."""
    ratio, theta_norm, penalty, alpha, beta, smoothing = SETTINGS[setting]
    found = np.array([moments(one, n, *SETTINGS[setting]) for one in jax.random.split(key, sets)])
    law = limit_logistic_scores(ratio, theta_norm, penalty=penalty, alpha=alpha, beta=beta, smoothing=smoothing)
    limit = np.array([2 * law.mean, 4 * law.var])
    error = np.abs(found.mean(0) - limit)
    assert (error <= 4 * found.std(0, ddof=1) / sets**0.5 + 2 / n * limit).all()


@pytest.mark.medium
def test_fits_of_100_rows_have_the_moments_of_the_limit(key):
    check_moments(key, "uniform, few dimensions", n=100, sets=8)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_fits_of_400_rows_have_the_moments_of_the_limit(key, setting):
    check_moments(key, setting, n=400, sets=8)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_fits_of_1600_rows_have_the_moments_of_the_limit(key, setting):
    check_moments(key, setting, n=1600, sets=4)
