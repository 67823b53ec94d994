"""The monotonicity of Theorems 3.3 and 5.3: against mpmath, finite differences, and the constants of the proof."""

from __future__ import annotations

from functools import partial

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


C, SQUARES = np.array([(0.1, 0.25), (1.0, 1.0), (3.0, 4.0), (50.0, 9.0)]).T


@pytest.mark.slow
def test_slope_of_the_ece():
    expected = [mean_slope(*point) for point in zip(C, SQUARES, strict=True)]
    theta = np.sqrt(SQUARES)
    np.testing.assert_allclose(derivative_slope(C, theta), expected, rtol=1e-9)
    np.testing.assert_allclose(derivative_slope(C, theta, beta=3.0), np.divide(expected, 2), rtol=1e-9)
    single = derivative_slope(C.astype(np.float32), theta.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=2e-3)
    np.testing.assert_array_equal(np.isnan(derivative_slope(0 * C, theta)), True)


@pytest.mark.few(1)
@pytest.mark.parametrize("norm", [1, np.inf])
def test_slope_equals_a_finite_difference(norm):
    theta, step = np.sqrt(SQUARES), 1e-5 * C
    high, low = (np.asarray(derivative_at_zero(C + sign * step, theta, beta=2.0, norm=norm)) for sign in (1, -1))
    slope = derivative_slope(C, theta, beta=2.0, norm=norm)
    np.testing.assert_allclose(slope, (high - low) / (2 * step), rtol=1e-4, atol=1e-9)


# |theta|^2 and bounds of the c to which the derivative falls, for a root of the mpmath slope
TURNS = {0.25: (0.1, 2.0), 4.0: (4.0, 20.0), 9.0: (30.0, 120.0)}
INSIDE, OUTSIDE = (0.418, 1.0, 2.2, 2.203), (0.416, 2.205, 3.0, 6.0)  # of where D never falls, 0.4170 to 2.2040


@pytest.fixture(scope="module")
def turns():
    """The turning ratio by |theta|^2, for all squares of this file."""
    squares = [*TURNS, *INSIDE, *OUTSIDE]
    return dict(zip(squares, np.asarray(turning_ratio(np.sqrt(squares))), strict=True))


@pytest.mark.medium
def test_turning_ratio(turns):
    expected = [optimize.brentq(mean_slope, *bounds, args=(square,), xtol=1e-10) for square, bounds in TURNS.items()]
    np.testing.assert_allclose([turns[square] for square in TURNS], expected, rtol=1e-8)


@pytest.mark.slow
def test_turning_ratio_in_float32(turns):
    expected = [turns[square] for square in TURNS]
    np.testing.assert_allclose(turning_ratio(np.sqrt(np.float32([*TURNS]))), expected, rtol=1e-4)


@pytest.mark.slow
def test_the_derivative_falls_up_to_the_turning_ratio_and_rises_from_there(turns):
    c, squares = np.geomspace(1e-3, 1e3, 200), np.array([0.25, 1.0, 2.2, 3.0, 6.0])
    for square, values in zip(squares, np.asarray(derivative_at_zero(c, np.sqrt(squares)[:, None])), strict=True):
        change, turn = np.diff(values), turns[square]
        assert (change[c[1:] < turn] < 0).all()
        assert (change[c[:-1] > turn] > 0).all()


@pytest.mark.slow
def test_between_two_signals_it_never_falls(turns):
    """|theta|^2 from 0.417 to 2.204, the solutions of D'(0+) = 0, where v ~ N(theta^2, theta^2)."""
    ends = [optimize.brentq(lambda square: mean_slope(0, square), *bounds) for bounds in ((0.3, 0.6), (2.0, 2.5))]
    np.testing.assert_allclose(ends, [0.4170, 2.2040], atol=6e-4)
    assert all(turns[square] == 0 for square in INSIDE)
    assert all(turns[square] > 0 for square in OUTSIDE)


@pytest.mark.slow
def test_theorem_5_3_is_refuted():
    """The derivative of the MCE rises with c for every theta > 0: v passes 0.7717, where v sech^2 v is largest."""
    peak = optimize.brentq(lambda v: 2 * v * np.tanh(v) - 1, 0.5, 1.0)
    np.testing.assert_allclose(peak, 0.7717, atol=1e-4)
    c, theta = np.geomspace(1e-3, 1e3, 61)[:, None], np.append(0.0, np.geomspace(0.05, 8, 25))
    slope = np.asarray(derivative_slope(c, theta, norm=np.inf))
    assert (slope[:, 1:] > 0).all()
    np.testing.assert_array_equal(slope[:, 0], 0)  # without signal
    limit = derivative_at_zero(1e-9, 1.0, norm=np.inf)
    np.testing.assert_allclose(limit, -0.5 * peak / np.cosh(peak) ** 2, rtol=1e-6)
    np.testing.assert_array_equal(turning_ratio(theta, norm=np.inf), 0)


@pytest.mark.parametrize("norm", [2, -np.inf])
def test_other_norms_are_refused(norm):
    for call in (partial(derivative_slope, C), partial(derivative_at_zero, C), turning_ratio):
        with pytest.raises(ValueError, match=f"norm must be 1 or inf, got {norm}"):
            call(C, norm=norm)
