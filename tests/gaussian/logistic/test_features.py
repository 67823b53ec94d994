"""Moments of two classes against NumPy, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mixjax.gaussian import class_moments


def rows(rng, n=(40, 60), p=5):
    y = np.repeat([1.0, -1.0], n)
    spread = np.where(y[:, None] > 0, 1.0, 2.0) * np.linspace(0.5, 2, p)
    return 3.0 + y[:, None] * np.linspace(0, 1, p) + spread * rng.standard_normal((len(y), p)), y


def test_they_are_those_of_numpy(rng):
    x, y = rows(rng)
    found = class_moments(x, y)
    plus, minus = x[y > 0], x[y < 0]
    first, second = np.cov(plus.T), np.cov(minus.T)
    np.testing.assert_allclose(found.center, (plus.mean(0) + minus.mean(0)) / 2, rtol=1e-12)
    basis, s = np.asarray(found.basis), np.asarray(found.eigenvalues)
    np.testing.assert_allclose(basis * s @ basis.T, (first + second) / 2, atol=1e-12)
    theta = (plus.mean(0) - minus.mean(0)) / 2
    noise = s * (1 / 40 + 1 / 60) / 4
    np.testing.assert_allclose(found.theta_squared, np.maximum((basis.T @ theta) ** 2 - noise, 0), atol=1e-12)
    difference = np.linalg.norm(first - second) / np.linalg.norm(first + second)
    np.testing.assert_allclose(found.covariance_difference, difference, rtol=1e-12)
    direction = basis @ (basis.T @ theta / (s + s.mean()))
    kurtosis = [stats.kurtosis(part @ direction) for part in (plus, minus)]
    np.testing.assert_allclose(found.excess_kurtosis, kurtosis, rtol=1e-9)


@pytest.mark.parametrize("change, says", [
    (lambda x, y: (x, np.where(y > 0, 1.0, 0.0)), "y must be -1 or .1, got 0"),
    (lambda x, y: (np.where(x == x[3, 2], np.nan, x), y), "x must be finite, got 1 entries"),
    (lambda x, y: (x, np.ones_like(y)), "each class must have at least two rows, got 0 with label -1"),
    (lambda x, y: (np.ones_like(x) * y[:, None], y), "constant within the classes"),
])  # fmt: skip
def test_what_has_no_moments_is_refused(rng, change, says):
    with pytest.raises(ValueError, match=says):
        class_moments(*change(*rows(rng)))
