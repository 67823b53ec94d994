"""The Mixup weight against the moments of SciPy's Beta law, and its inverse."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mixjax.gaussian.weights import mixup_weight, symmetric_alpha

SHAPES = [1e-6, 0.01, 0.2, 0.5, 1.0, 2.0, 5.0, 100.0, 1e6]


@pytest.mark.parametrize("beta", SHAPES)
def test_weight_is_the_expectation_of_2_lam_1_minus_lam(beta):
    """From mean and variance by SciPy: 2 (E lam - E lam^2), which cancels to 1e-16 / t."""
    alpha = np.array(SHAPES)
    mean, var = stats.beta.stats(alpha, beta, moments="mv")
    expected = 2 * (mean - (var + mean**2))
    np.testing.assert_allclose(mixup_weight(alpha, beta), expected, rtol=1e-12, atol=1e-15)


def test_no_mixup_has_weight_zero():
    np.testing.assert_array_equal(mixup_weight(0, [1e-300, 1, 1e300]), [0, 0, 0])


def test_extreme_parameters_do_not_overflow():
    np.testing.assert_allclose(mixup_weight(1e300, 1e300), 0.5, rtol=1e-15)
    np.testing.assert_allclose(mixup_weight(1e-300, 1e-300), 1e-300, rtol=1e-15)
    np.testing.assert_allclose(mixup_weight(np.float32(1e30), np.float32(1e30)), 0.5, rtol=1e-6)


@pytest.mark.slow
def test_slope_at_no_mixup():
    """dt/dalpha at 0 is 2 / (beta + 1)."""
    for beta in (0.5, 1.0, 4.0):
        np.testing.assert_allclose(jax.grad(mixup_weight)(0.0, beta), 2 / (beta + 1), rtol=1e-15)


def test_shapes_and_dtypes():
    assert mixup_weight(np.ones((2, 1)), np.ones(3)).shape == (2, 3)
    assert mixup_weight(np.float32(1), 2).dtype == jnp.float32
    assert mixup_weight(1, 2).dtype == jnp.float64


@pytest.mark.medium
def test_symmetric_alpha_is_the_inverse():
    """alpha = t / (1 - 2t) amplifies the rounding of t by 1 / (1 - 2t) = 2 alpha + 1."""
    alpha = np.array([0, 1e-8, 0.2, 1, 5, 100])
    np.testing.assert_allclose(symmetric_alpha(mixup_weight(alpha, np.maximum(alpha, 1e-9))[1:]), alpha[1:], rtol=1e-13)
    t = np.array([0, 1e-10, 0.1, 1 / 3, 0.49])
    np.testing.assert_allclose(mixup_weight(symmetric_alpha(t)[1:], symmetric_alpha(t)[1:]), t[1:], rtol=1e-13)
    np.testing.assert_array_equal(symmetric_alpha([0, 0.25, 0.5]), [0, 0.5, np.inf])
