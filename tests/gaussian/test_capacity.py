"""The monotonicity of Theorems 3.3 and 5.3: against mpmath, finite differences, and the constants of the proof."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from scipy import optimize

from mixjax.gaussian import derivative_at_zero, derivative_slope, turning_ratio


def mean_slope(c, square):
    """d/dc of -E|v| sech^2 v / 2, v ~ N(square, square + c), by differentiating the density, in 20 digits."""
    with mp.workdps(20):
        w = mp.mpf(square) + c

        def integrand(v):
            z = (v - square) ** 2 / w
            return abs(v) * mp.sech(v) ** 2 * mp.exp(-z / 2) / mp.sqrt(2 * mp.pi * w) * (z - 1) / (2 * w)

        return float(-mp.quad(integrand, [-40, -8, -2, 0, 1, 2, 4, 8, 40]) / 2)


@pytest.mark.parametrize("c, square", [(0.1, 0.25), (1.0, 1.0), (3.0, 4.0), (50.0, 9.0)])
def test_slope_of_the_ece(c, square):
    expected = mean_slope(c, square)
    with jax.enable_x64(True):
        np.testing.assert_allclose(derivative_slope(c, np.sqrt(square)), expected, rtol=1e-9)
        np.testing.assert_allclose(derivative_slope(c, np.sqrt(square), beta=3.0), expected / 2, rtol=1e-9)
    np.testing.assert_allclose(derivative_slope(c, np.float32(np.sqrt(square))), expected, rtol=2e-3)


@pytest.mark.parametrize("norm", [1, np.inf])
def test_slope_equals_a_finite_difference(norm):
    with jax.enable_x64(True):
        c, theta = np.array([[0.2], [1.0], [20.0]]), np.array([0.3, 1.0, 2.5])
        step = 1e-5 * c
        high, low = (derivative_at_zero(c + sign * step, theta, beta=2.0, norm=norm) for sign in (1, -1))
        slope = derivative_slope(c, theta, beta=2.0, norm=norm)
        np.testing.assert_allclose(slope, (high - low) / (2 * step), rtol=1e-4, atol=1e-9)


# |theta|^2 and the c to which the derivative falls, by a root of the mpmath slope
@pytest.mark.parametrize("square, low, high", [(0.25, 0.1, 2.0), (2.5, 0.5, 5.0), (4.0, 4.0, 20.0), (9.0, 30.0, 120.0)])
def test_turning_ratio(square, low, high):
    expected = optimize.brentq(mean_slope, low, high, args=(square,), xtol=1e-10)
    with jax.enable_x64(True):
        np.testing.assert_allclose(turning_ratio(np.sqrt(square)), expected, rtol=1e-8)
    np.testing.assert_allclose(turning_ratio(np.float32(np.sqrt(square))), expected, rtol=1e-4)


def test_the_derivative_falls_up_to_the_turning_ratio_and_rises_from_there():
    with jax.enable_x64(True):
        for square in (0.25, 1.0, 2.2, 3.0, 6.0):
            turn = float(turning_ratio(np.sqrt(square)))
            c = np.geomspace(1e-3, 1e3, 200)
            change = np.diff(derivative_at_zero(c, np.sqrt(square), beta=1.0))
            assert (change[c[1:] < turn] < 0).all()
            assert (change[c[:-1] > turn] > 0).all()


def test_between_two_signals_it_never_falls():
    """|theta|^2 from 0.417 to 2.204, the solutions of D'(0+) = 0, where v ~ N(theta^2, theta^2)."""
    ends = [optimize.brentq(lambda square: mean_slope(0, square), *bounds) for bounds in ((0.3, 0.6), (2.0, 2.5))]
    np.testing.assert_allclose(ends, [0.4170, 2.2040], atol=6e-4)
    with jax.enable_x64(True):
        inside, outside = np.array([ends[0] + 1e-3, ends[1] - 1e-3]), np.array([ends[0] - 1e-3, ends[1] + 1e-3])
        assert (turning_ratio(np.sqrt(inside)) == 0).all()
        assert (turning_ratio(np.sqrt(outside)) > 0).all()


def test_theorem_5_3_is_refuted():
    """The derivative of the MCE rises with c for every theta > 0: v passes 0.7717, where v sech^2 v is largest."""
    peak = optimize.brentq(lambda v: 2 * v * np.tanh(v) - 1, 0.5, 1.0)
    np.testing.assert_allclose(peak, 0.7717, atol=1e-4)
    with jax.enable_x64(True):
        c, theta = np.geomspace(1e-3, 1e3, 61)[:, None], np.geomspace(0.05, 8, 25)
        assert (derivative_slope(c, theta, norm=np.inf) > 0).all()
        limit = derivative_at_zero(1e-9, 1.0, beta=1.0, norm=np.inf)
        np.testing.assert_allclose(limit, -0.5 * peak / np.cosh(peak) ** 2, rtol=1e-6)
        assert (turning_ratio(theta, norm=np.inf) == 0).all()


def test_degenerate_values():
    assert np.isnan(derivative_slope(0.0, 1.0))
    assert derivative_slope(1.0, 0.0, norm=np.inf) == 0
    assert turning_ratio(np.zeros(0)).shape == (0,)
    assert np.isnan(jax.jit(turning_ratio)(jnp.float32(-1.0)))


@pytest.mark.parametrize("call, words", [
    (lambda: derivative_slope(1.0, 1.0, norm=2), "norm must be 1 or inf, got 2"),
    (lambda: turning_ratio(1.0, norm=2), "norm must be 1 or inf, got 2"),
    (lambda: turning_ratio(-1.0), "theta_norm must be finite and not negative"),
    (lambda: derivative_slope(-1.0, 1.0), "ratio must be finite and not negative"),
])  # fmt: skip
def test_wrong_values_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
