"""The acceptance of a normal that is rounded to a sum of signs, against SciPy's binomial and normal laws."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

from mixjax.numerics.binomial import log_ratio, log_ratio_bound


@pytest.mark.medium
@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 3e-7), (np.float64, 2e-8)])
def test_acceptance_of_rounded_normals(dtype, tolerance):
    """P(Bin(n, 1/2) = n/2 + k) over P(sqrt(n)/2 Z rounds to k) within 5 sd, and its bound: draws would show 1e-3 only.

    The tolerances are the rounding of float32, and the terms left out at n = 65.
    """
    n = np.array([65, 66, 100, 1001])[:, None] * np.ones(101)
    k = np.rint(np.linspace(-2.5, 2.5, 101) * np.sqrt(n) - 0.5 * (n % 2)) + 0.5 * (n % 2)
    beyond = stats.norm.sf((np.abs(k) + np.array([-0.5, 0.5])[:, None, None]) * 2 / np.sqrt(n))
    expected = stats.binom.logpmf(np.rint(n / 2 + k), n, 0.5) - np.log(beyond[0] - beyond[1])
    actual = jax.jit(log_ratio)(k.astype(dtype), n.astype(dtype))
    np.testing.assert_allclose(np.asarray(actual, float), expected, rtol=0, atol=tolerance)
    bound = jax.jit(log_ratio_bound)(n.astype(dtype))
    assert (np.asarray(bound, float) >= expected).all()
