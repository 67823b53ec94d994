"""The logistic fit against scikit-learn and SciPy, on hard and on soft labels, separable or not."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize
from sklearn.linear_model import LogisticRegression

from mixjax.gaussian import class_mean, logistic_coefficients, mixup_logistic_coefficients, sample_data


def data(rng, n=60, p=5, signal=1.0):
    y = rng.choice([-1.0, 1.0], n)
    return y[:, None] * signal / np.sqrt(p) + rng.standard_normal((n, p)), y


def by_scipy(x, y, penalty):
    """The minimum of the definition, by a trust region with exact derivatives."""

    def loss(w):
        logits = x @ w
        return np.mean(np.logaddexp(0, logits) - (1 + y) / 2 * logits) + penalty / 2 * w @ w

    def gradient(w):
        return x.T @ (1 / (1 + np.exp(-x @ w)) - (1 + y) / 2) / len(y) + penalty * w

    def hessian(w):
        chance = 1 / (1 + np.exp(-x @ w))
        return (x.T * chance * (1 - chance)) @ x / len(y) + penalty * np.eye(x.shape[1])

    options = {"gtol": 1e-12, "maxiter": 1000}
    return optimize.minimize(loss, np.zeros(x.shape[1]), jac=gradient, hess=hessian, method="trust-exact",
                             options=options).x  # fmt: skip


CASES = {  # n, p, signal, penalty; each shape compiles
    "few dimensions": (60, 5, 1.0, 0.1),
    "weak penalty": (60, 5, 1.0, 1e-4),
    "separable": (60, 5, 6.0, 1e-3),
    "more dimensions than rows": (20, 30, 1.0, 1e-3),
    "nearly no penalty, separable": (20, 30, 3.0, 1e-6),
}


@pytest.mark.medium
@pytest.mark.few(2)
@pytest.mark.parametrize("case", CASES)
def test_hard_labels_as_scikit_learn(rng, case):
    n, p, signal, penalty = CASES[case]
    x, y = data(rng, n, p, signal)
    fit = LogisticRegression(C=1 / (penalty * n), fit_intercept=False, solver="newton-cholesky", tol=1e-13,
                             max_iter=1000).fit(x, y)  # fmt: skip
    ours = logistic_coefficients(x, y, penalty=penalty)
    np.testing.assert_allclose(x @ ours, x @ fit.coef_[0], rtol=1e-6, atol=1e-7)


@pytest.mark.medium
@pytest.mark.few(2)
@pytest.mark.parametrize("case", CASES)
def test_soft_labels_as_scipy(rng, case):
    """As near as strong convexity says from what is left of the two gradients, of which ours is rounding."""
    n, p, signal, penalty = CASES[case]
    x, y = data(rng, n, p, signal)
    y = y * rng.random(n)
    ours, theirs = np.asarray(logistic_coefficients(x, y, penalty=penalty)), by_scipy(x, y, penalty)
    slopes = [x.T @ (1 / (1 + np.exp(-x @ w)) - (1 + y) / 2) / len(y) + penalty * w for w in (ours, theirs)]
    assert np.linalg.norm(slopes[0]) < 1e-12
    apart = (1e-14 + sum(map(np.linalg.norm, slopes))) / penalty
    assert np.linalg.norm(ours - theirs) < apart


@pytest.mark.slow
def test_many_points_give_theta(key):
    """w / 2 within 5 standard errors of theta, from 200,000 points, of which each has the Fisher information."""
    theta = np.asarray(class_mean(3, 1.5))
    x, y = (np.asarray(part) for part in sample_data(key, n=200_000, theta=theta))
    chance = 1 / (1 + np.exp(-2 * x @ theta))
    information = (x.T * chance * (1 - chance)) @ x
    error = np.asarray(logistic_coefficients(x, y, penalty=1e-12)) - 2 * theta
    assert (np.abs(error) < 5 * np.sqrt(np.diag(np.linalg.inv(information)))).all()


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("case", ["few dimensions", "separable"])
def test_float32(rng, case):
    n, p, signal, penalty = CASES[case]
    x, y = (part.astype(np.float32) for part in data(rng, n, p, signal))
    ours = logistic_coefficients(x, y, penalty=penalty)
    assert ours.dtype == np.float32
    exact = x @ np.asarray(logistic_coefficients(x.astype(float), y.astype(float), penalty=penalty))
    np.testing.assert_allclose(x @ np.asarray(ours), exact, rtol=0, atol=1e-3 * np.abs(exact).max())


def test_what_has_no_fit_is_nan(rng):
    x, y = data(rng)
    x[3, 2] = np.inf
    assert np.isnan(logistic_coefficients(x, y, penalty=0.1)).all()


def test_one_program_for_every_penalty(rng, compilations):
    x, y = (jnp.asarray(part) for part in data(rng))
    penalties = jax.device_put(np.array([0.1, 0.2, 0.3]))
    fitted = [logistic_coefficients(x, y, penalty=penalties[0])]
    before = len(compilations)
    fitted += [logistic_coefficients(x, y, penalty=np.float64(value)) for value in (0.2, 0.3)]
    assert len(compilations) - before <= 4  # of small programs that check the arguments
    assert all(np.isfinite(w).all() for w in fitted)


def test_labels_beyond_1_are_refused(rng):
    x, y = data(rng)
    for fit in (logistic_coefficients, mixup_logistic_coefficients):
        with pytest.raises(ValueError, match=r"y must be in \[-1, 1\], got (-5|5)"):
            fit(x, 5 * y, penalty=0.1)
