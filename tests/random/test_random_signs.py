"""Means of random signs against the binomial law of SciPy, and against the normal law for many signs.

The rate of false alarms is that of `tests/random/goodness_of_fit.py`.
"""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

from mixjax.random import rademacher_mean
from tests.random.goodness_of_fit import BOTH, DRAWS, FALSE_ALARM, FLOAT64_SLOW, MANY, assert_share

draw_mean = jax.jit(rademacher_mean, static_argnums=2)

SMALL = [1, 2, 3, 31, 32, 33, 63, 64, 65, 66, 100, 101, 1000, 1001]
LARGE = [1e6, 1e8 + 1, 1e10]


def sums_of_signs(means, n, dtype):
    """The sums behind the means, after checking that n signs can have them and that only rounding is lost."""
    means = np.asarray(means)
    assert means.dtype == dtype
    sums = np.rint(means.astype(np.float64) * n)
    np.testing.assert_allclose(means.astype(np.float64), sums / n, rtol=np.finfo(dtype).eps)
    np.testing.assert_array_equal(np.mod(sums - n, 2), 0)
    assert np.abs(sums).max() <= n
    return sums


@pytest.mark.few(9)
@pytest.mark.parametrize("n, dtype", [*((n, np.float32) for n in SMALL), *((n, np.float64) for n in (2, 33, 65, 1001))])
@pytest.mark.parametrize("size", [DRAWS, MANY])
def test_rademacher_mean_law(key, n, dtype, size):
    """Chi-square goodness of fit over the lattice, points of fewer than 10 expected draws pooled on each side."""
    sums = sums_of_signs(draw_mean(key, dtype(n), (size,)), n, dtype)
    observed = np.bincount(((sums + n) / 2).astype(int), minlength=n + 1)
    expected = size * stats.binom.pmf(np.arange(n + 1), n, 0.5)
    keep = np.flatnonzero(expected >= 10)
    first, last = keep[0], keep[-1]

    def pooled(x):
        return np.concatenate([[x[: first + 1].sum()], x[first + 1 : last], [x[last:].sum()]])

    assert stats.chisquare(pooled(observed), pooled(expected), sum_check=False).pvalue > FALSE_ALARM
    assert_share(
        observed[first:].sum() - observed[last + 1 :].sum(),
        size,
        stats.binom.cdf(last, n, 0.5) - stats.binom.cdf(first - 1, n, 0.5),
    )


@BOTH
@pytest.mark.parametrize("n", LARGE)
@pytest.mark.parametrize("size", [DRAWS, MANY])
def test_rademacher_mean_law_of_many(key, n, dtype, size):
    """Kolmogorov-Smirnov on the lattice, against the normal law with correction for continuity, right to 0.1 / n."""
    n = float(dtype(n))  # float32 holds 24 binary digits
    sums = sums_of_signs(draw_mean(key, dtype(n), (size,)), n, dtype)
    points, counts = np.unique(sums, return_counts=True)
    difference = np.abs(np.cumsum(counts) / size - stats.norm.cdf((points + 1) / np.sqrt(n))).max()
    assert stats.kstwobign.sf(difference * np.sqrt(size)) > FALSE_ALARM
    for p in (1e-3, 1e-5):
        z = np.ceil(stats.norm.isf(p) * np.sqrt(n))
        z += (z - n) % 2  # a point of the lattice
        assert_share(np.sum(sums >= z), size, stats.norm.sf((z - 1) / np.sqrt(n)))
        assert_share(np.sum(sums <= -z), size, stats.norm.sf((z - 1) / np.sqrt(n)))


@pytest.mark.medium
@FLOAT64_SLOW
def test_rademacher_mean_depends_on_its_own_position_and_parameter_only(key, dtype):
    """The same sums: XLA may divide by a scalar n through its reciprocal. A wrong n gives NaN and hangs no other."""
    parameters = np.array([3, 64, 65, 1e10, 0, 2.5, -1, np.inf, np.nan, 64.5], dtype)
    together = np.asarray(draw_mean(key, np.resize(parameters, 4000), None)).reshape(-1, 10)
    for i in range(4):
        alone = np.asarray(draw_mean(key, parameters[i], (DRAWS,)))[:4000].reshape(-1, 10)
        np.testing.assert_allclose(together[:, i], alone[:, i], rtol=np.finfo(dtype).eps)
    assert np.isnan(together[:, 4:]).all()
