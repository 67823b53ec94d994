"""Derivatives of the errors at alpha -> 0+ in the limit p/n -> c (their monotonicity: test_capacity.py).

Paper: Theorems 3.3 and 5.3, against mpmath, root finding, autodiff and finite differences of the definitions.
"""

from __future__ import annotations

from functools import partial

import jax
import mpmath
import numpy as np
import pytest
from scipy import integrate, optimize, stats

from mixjax.gaussian import mixup_weight, population_ece, population_mce
from mixjax.gaussian.capacity import derivative_at_zero
from mixjax.gaussian.limits import limit_scores
from tests.gaussian.limit_errors import SIGNALS, ece, error_of_norm

POINTS = [(0.1, 1.0), (1.0, 1.0), (1.0, 2.0), (9.0, 0.5), (40.0, 3.0), (1e-3, 2.0)]
C, THETA = np.array(POINTS).T


def limit_error(c, theta, t, norm):
    """The library's own error of the limit, a scalar function to differentiate."""
    law = limit_scores(c, theta, t)
    return population_mce(law) if np.isinf(norm) else population_ece(law, norm=norm)


@pytest.fixture(scope="module")
def derivatives():
    """d ECE / dt and d MCE / dt at t = 0 (2 / (beta + 1) is 1 at beta = 1) at POINTS."""
    return {norm: np.asarray(derivative_at_zero(C, THETA, norm=norm)) for norm in (1, np.inf)}


def test_ece_derivative_is_the_integral(derivatives):
    """-(1/2) E |v| sech^2 v by mpmath."""
    for (c, theta), found in zip(POINTS, derivatives[1], strict=True):
        m, w = theta**2, theta**2 + c

        def integrand(v, m=m, w=w):
            return mpmath.npdf(v, m, mpmath.sqrt(w)) * abs(v) * mpmath.sech(v) ** 2

        expected = -mpmath.quad(integrand, [-40, -5, -1, 0, 1, 3, 6, 15, 40]) / 2
        np.testing.assert_allclose(found, float(expected), rtol=1e-11)


def test_mce_derivative_is_the_closed_form(derivatives):
    """-(1/2) v sech^2 v at the stationary point of tanh v - tanh rho v, by Brent's method."""
    for (c, theta), found in zip(POINTS, derivatives[np.inf], strict=True):
        rho = theta**2 / (theta**2 + c)
        v = optimize.brentq(
            lambda v, rho=rho: np.log(np.cosh(v) / np.cosh(rho * v)) + np.log(rho) / 2, 1e-3, 20, xtol=1e-14
        )
        np.testing.assert_allclose(found, -0.5 * v / np.cosh(v) ** 2, rtol=1e-8 if rho < 0.999 else 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1, np.inf], ids=["ECE", "MCE"])
def test_derivative_is_that_of_autodiff(norm, derivatives):
    """Of the limit's error: backward in t, and forward in alpha through the Mixup weight."""
    error = partial(limit_error, norm=norm)
    backward = jax.jit(jax.vmap(jax.grad(error, 2)))(C, THETA, np.zeros_like(C))
    np.testing.assert_allclose(backward, derivatives[norm], rtol=1e-9)
    forward = jax.jit(lambda alpha: jax.jvp(lambda a: error(1.0, 2.0, mixup_weight(a, 3.0)), (alpha,), (1.0,))[1])
    np.testing.assert_allclose(forward(0.0), derivatives[norm][2] * 2 / (3 + 1), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1, np.inf], ids=["ECE", "MCE"])
def test_derivative_where_the_plain_classifier_is_calibrated(norm):
    """At c = 0 any Mixup hurts: (error_t - 0) / t at t = 1e-6, by the definition, is the one-sided derivative."""
    thetas = np.array([0.5, 1.0, 2.0])
    found = derivative_at_zero(0.0, thetas, norm=norm)
    slope = [error_of_norm(norm)(0.0, theta, 1e-6) / 1e-6 for theta in thetas]
    np.testing.assert_allclose(found, slope, rtol=1e-5)
    just_above = derivative_at_zero(1e-12, thetas, norm=norm)
    np.testing.assert_allclose(just_above, -found, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_derivative_without_signal(dtype):
    """Of the MCE, which is 1/2 for every t, 0; of the ECE -E |v| sech^2(v) / 2, v ~ N(0, c); NaN without a law."""
    mce, ece_slope = (derivative_at_zero(dtype([1, 0]), dtype(0), beta=dtype(1), norm=norm) for norm in (np.inf, 1))
    np.testing.assert_array_equal(mce, [0, np.nan])
    expected = -integrate.quad(lambda v: stats.norm.pdf(v) * v / np.cosh(v) ** 2, 0, 12, epsabs=1e-14)[0]
    np.testing.assert_allclose(ece_slope, [expected, np.nan], rtol=1e-5 if dtype == np.float32 else 1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("norm, tolerance", [(1, 1e-5), (np.inf, 3e-4)], ids=["ECE", "MCE"])
def test_derivative_in_float32(norm, tolerance):
    c, theta = (a.ravel() for a in np.meshgrid([1e-6, 1e-3, 0.1, 1, 30], SIGNALS))
    single = derivative_at_zero(c.astype(np.float32), theta.astype(np.float32), beta=np.float32(1), norm=norm)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, derivative_at_zero(c, theta, norm=norm), rtol=tolerance)


def test_a_little_mixup_helps_by_the_derivative():
    """(ECE_t - ECE_0) / t at t = 1e-5, integrated, is the derivative up to O(t)."""
    slope = (ece(1.0, 2.0, 1e-5) - ece(1.0, 2.0, 0)) / 1e-5
    np.testing.assert_allclose(derivative_at_zero(1.0, 2.0), slope, rtol=1e-4)
