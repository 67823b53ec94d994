"""Elementary functions against mpmath, across the point where the series takes over."""

from __future__ import annotations

import jax
import mpmath
import numpy as np
import pytest

from mixjax.numerics.elementary import one_minus_exp, polynomial, thrice_log1p_remainder

SMALL_AND_LARGE = np.concatenate([np.logspace(-12, 1.4, 120), 0.2 + np.linspace(-1e-3, 1e-3, 11)])


def exact(function, points):
    with mpmath.workdps(60):
        return np.array([float(function(mpmath.mpf(float(x)))) for x in points])


def test_polynomial():
    x = np.array([-1.5, 0.0, 0.25, 2.0])
    np.testing.assert_allclose(polynomial(x, [1.0, -2.0, 0.5]), 1 - 2 * x + 0.5 * x**2, rtol=1e-15)


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-15), (np.float32, 2e-6)])
def test_one_minus_exp(dtype, tolerance):
    """Relative; in float32 1 - exp(-x) has lost 1 / 0.03 units where the series ends."""
    x = SMALL_AND_LARGE.astype(dtype)
    found = jax.jit(one_minus_exp)(x)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, exact(lambda x: 1 - mpmath.exp(-x), x), rtol=tolerance)


@pytest.mark.medium
@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-12), (np.float32, 2e-3)])
def test_thrice_log1p_remainder(dtype, tolerance):
    """Relative; where the series ends the direct form has lost 3 y / (3 y^4 / 4) = 500 units."""
    y = np.concatenate([SMALL_AND_LARGE[SMALL_AND_LARGE > 1e-9], -SMALL_AND_LARGE[SMALL_AND_LARGE < 0.99]])
    y = y[np.abs(y) > 1e-9].astype(dtype)
    found = jax.jit(thrice_log1p_remainder)(y)
    assert found.dtype == dtype
    expected = exact(lambda y: 3 * (y - y**2 / 2 + y**3 / 3 - mpmath.log1p(y)), y)
    np.testing.assert_allclose(found, expected, rtol=tolerance)
    assert (found >= 0).all()
