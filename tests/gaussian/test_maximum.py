"""The widest gap between confidence and truth against bounded search, and its limits and symmetry."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import optimize

from mixjax.gaussian.law import ScoreLaw
from mixjax.gaussian.maximum import population_mce
from tests.gaussian.integrals import log_gap
from tests.gaussian.laws import grid_law

mce = jax.jit(population_mce)


def widest_gap(mean, gap):
    """sup over v by bounded search on a log scale; flat at its top, so that the value has all digits."""
    options = {"xatol": 1e-8, "maxiter": 1000}
    return np.exp(
        -optimize.minimize_scalar(lambda x: -log_gap(np.exp(x), mean, gap), bounds=(-30, 30), options=options).fun
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-14), (np.float32, 2e-7)])
def test_mce_by_maximization(dtype, tolerance):
    """The docstring's accuracy, over rho from 1e-8 to 1e8."""
    law = grid_law(dtype)
    positive = np.flatnonzero((law.mean > 0) & (law.gap != 0))
    actual = np.asarray(mce(law), float)
    for k in positive[::2]:
        assert abs(actual[k] - widest_gap(float(law.mean[k]), float(law.gap[k]))) < tolerance


@pytest.mark.few(1)
@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-13), (np.float32, 1e-6)])
def test_mce_is_relative_near_calibration(dtype, tolerance):
    """MCE = |1 - rho| max v sech^2(v) / 2 up to a relative |1 - rho|."""
    slope = optimize.minimize_scalar(lambda v: -v / np.cosh(v) ** 2 / 2, bounds=(0, 2), options={"xatol": 1e-9})
    gap = np.array([1e-25, -1e-25, 1e-15, -1e-15], dtype)
    np.testing.assert_allclose(mce(ScoreLaw(np.ones(4, dtype), gap)), -slope.fun * np.abs(gap), rtol=tolerance)


def test_mce_depends_on_the_slope_only_and_is_that_of_its_inverse():
    rho = np.logspace(-8, 8, 41)
    for scale in (1e-100, 1, 1e100):
        law, inverse = ScoreLaw.from_moments(scale * rho, np.full(41, scale)), ScoreLaw.from_moments(np.ones(41), rho)
        np.testing.assert_allclose(mce(law), mce(inverse), rtol=1e-12)
