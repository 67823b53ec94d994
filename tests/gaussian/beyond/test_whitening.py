"""Whitening of real rows: beside NumPy and scikit-learn, and what it makes of the rows of its fit."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_digits

from mixjax.gaussian import fit_whitening


@pytest.fixture(scope="module")
def rows():
    """The digits 3 and 8, whose corners never vary, with labels +1 and -1."""
    digits = load_digits()
    chosen = np.isin(digits.target, (3, 8))
    return digits.data[chosen] / 16.0, np.where(digits.target[chosen] == 3, 1.0, -1.0)


def residuals(x, y):
    """Each row minus the mean of its class."""
    return x - np.where(y[:, None] == 1, x[y == 1].mean(axis=0), x[y == -1].mean(axis=0))


def test_beside_scikit_learn(rows):
    """Shrinkage and shrunk covariance are those of Ledoit and Wolf, of rows about the means of their classes."""
    x, y = rows
    fitted = fit_whitening(x, y, p=10)
    covariance, shrinkage = ledoit_wolf(residuals(x, y), assume_centered=True)
    np.testing.assert_allclose(fitted.shrinkage, shrinkage, rtol=1e-12)
    np.testing.assert_allclose(fitted.center, (x[y == 1].mean(axis=0) + x[y == -1].mean(axis=0)) / 2, atol=1e-15)
    values, vectors = np.linalg.eigh(covariance)
    expected = vectors[:, -10:] / np.sqrt(values[-10:])
    directions = np.asarray(fitted.directions)
    np.testing.assert_allclose(directions * np.sign(np.sum(directions * expected, axis=0)), expected, atol=1e-10)


def test_the_rows_of_the_fit_become_those_of_the_model(rows):
    """Means +-theta; covariance within classes S-white: I in all but the shrinkage, which is undone here."""
    x, y = rows
    fitted = fit_whitening(x, y, p=10)
    z = np.asarray(fitted(x))
    np.testing.assert_allclose(z[y == 1].mean(axis=0), -z[y == -1].mean(axis=0), atol=1e-12)
    within = residuals(z, y)
    scale = np.trace(residuals(x, y).T @ residuals(x, y)) / x.size
    s = float(fitted.shrinkage)
    undone = (1 - s) * within.T @ within / len(z) + s * scale * np.asarray(fitted.directions.T @ fitted.directions)
    np.testing.assert_allclose(undone, np.eye(10), atol=1e-11)


@pytest.mark.slow
def test_single_precision_is_close_enough(rows):
    """To 1e-4 in a whitened row, far below its unit variance; a direction's sign is arbitrary."""
    x, y = rows
    double = np.asarray(fit_whitening(x, y, p=10)(x))
    single = np.asarray(fit_whitening(x.astype(np.float32), y.astype(np.float32), p=10)(x.astype(np.float32)))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single * np.sign(np.sum(single * double, axis=0)), double, atol=1e-4)


@pytest.mark.slow
def test_many_rows_of_the_model_are_left_as_they_are(rng):
    """Rows of N(y theta, A A'): those that had no part in the fit get covariance I, within 5 sqrt(p / n) in norm."""
    y = rng.choice([-1.0, 1.0], 20_000)
    mixing = np.linalg.qr(rng.standard_normal((6, 6)))[0] * np.geomspace(0.7, 1.4, 6)  # which shrinkage hardly changes
    x = (y[:, None] * np.arange(6)[None] / 5 + rng.standard_normal((20_000, 6))) @ mixing.T
    fitted = fit_whitening(x[:10_000], y[:10_000], p=6)
    z = np.asarray(fitted(x[10_000:]))
    covariance = np.cov(residuals(z, y[10_000:]).T)
    assert np.linalg.norm(covariance - np.eye(6), 2) < 5 * np.sqrt(6 / 10_000)
    theta_norm = np.linalg.norm(z[y[10_000:] == 1].mean(axis=0) - z[y[10_000:] == -1].mean(axis=0)) / 2
    np.testing.assert_allclose(theta_norm, np.linalg.norm(np.arange(6) / 5), atol=0.05)


def test_bad_arguments(rows):
    x, y = rows
    for p, error in ((0, ValueError), (65, ValueError), (2.0, TypeError)):
        with pytest.raises(error, match="p must be"):
            fit_whitening(x, y, p=p)
    with pytest.raises(ValueError, match=r"y must be -1 or \+1, got 0.0"):
        fit_whitening(x, 0 * y, p=2)
    with pytest.raises(ValueError, match="x and y must have shapes"):
        fit_whitening(x, y[1:], p=2)
    with pytest.raises(ValueError, match=r"x must have shape \[n, 64\], got"):
        fit_whitening(x, y, p=10)(x[:, 1:])


def test_wrong_labels_and_an_empty_class_are_nan(rows):
    x, y = rows[0][:8, 2:6], rows[1][:8]
    traced = jax.jit(lambda y: fit_whitening(x, y, p=2).directions)
    for wrong in (np.append(3.0, y[1:]), np.ones(8)):
        assert np.isnan(traced(wrong)).all()
    assert np.isfinite(traced(y)).all()
