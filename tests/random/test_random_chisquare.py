"""Centered chi-square draws against SciPy's distribution, and against Edgeworth's series where that fails.

The rate of false alarms is that of `tests/random/goodness_of_fit.py`.
"""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest
from scipy import stats

from mixjax.random import centered_chisquare
from tests.random.goodness_of_fit import BOTH, DRAWS, FLOAT64_SLOW, MANY, assert_law, assert_share

draw_chisquare = jax.jit(centered_chisquare, static_argnums=2)

DEGREES = [1, 1.5, 2, 3, 10, 100, 1e4, 1e6, 1e8, 1e10]


def chisquare_cdf(x, df):
    """P(chi-square - df <= x): SciPy; from df = 1e5 on, where that fails outside 4.5 sd, Edgeworth's series."""
    if df < 1e5:
        return stats.chi2.cdf(x + df, df)
    z, skewness, excess = x / np.sqrt(2 * df), np.sqrt(8 / df), 12 / df
    hermite2, hermite3, hermite5 = z**2 - 1, z**3 - 3 * z, z**5 - 10 * z**3 + 15 * z
    correction = skewness / 6 * hermite2 + excess / 24 * hermite3 + skewness**2 / 72 * hermite5
    return stats.norm.cdf(z) - stats.norm.pdf(z) * correction


@pytest.mark.parametrize("df", [1e5, 1e6, 1e8])
def test_the_two_references_agree(df):
    """Within the next term of Edgeworth's series, below df^-1.5 for |z| < 4."""
    x = np.linspace(-4, 4, 81) * np.sqrt(2 * df)
    np.testing.assert_allclose(chisquare_cdf(x, df), stats.chi2.cdf(x + df, df), rtol=0, atol=df**-1.5)


@pytest.mark.medium
@pytest.mark.few(12)
@BOTH
@pytest.mark.parametrize("df", [0.1, 0.3, *DEGREES])
@pytest.mark.parametrize("size", [DRAWS, MANY])
def test_centered_chisquare_law(key, df, dtype, size):
    """The whole law, and counts beyond quantiles on both sides, wherever the dtype resolves what happens near 0.

    Draws are stored as differences from df, so that float32 rounds those below 6e-8 df. Lower quantiles of 16 such
    units are off by 3 % at most. At df = 1 the probability that is rounded to -1 is 1.4e-4, 0.05 of the KS limit.
    """
    draws = np.asarray(draw_chisquare(key, dtype(df), (size,)))
    assert draws.dtype == dtype
    if df >= 1:
        assert_law(draws, partial(chisquare_cdf, df=df))
    for p in (0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5):
        low, high = stats.chi2.ppf(p, df), stats.chi2.isf(p, df)
        assert_share(np.sum(draws > dtype(high - df)), size, 1 - chisquare_cdf(high - df, df))
        if low > 16 * np.finfo(dtype).eps * df:
            assert_share(np.sum(draws < dtype(low - df)), size, chisquare_cdf(low - df, df))


@pytest.mark.medium
@BOTH
def test_centered_chisquare_is_finite_and_above_minus_df(key, dtype):
    for df in (1e-3, 1):
        draws = np.asarray(draw_chisquare(key, dtype(df), (DRAWS,)))
        assert np.isfinite(draws).all()
        assert draws.min() >= -dtype(df)


@pytest.mark.medium
@FLOAT64_SLOW
def test_centered_chisquare_depends_on_its_own_position_and_parameter_only(key, dtype):
    """Bit for bit; 0 degrees of freedom are the point mass, wrong ones give NaN, and none makes the others hang."""
    parameters = np.array([0.5, 3, 1e10, 0, -1, np.nan, np.inf, -np.inf], dtype)
    together = np.asarray(draw_chisquare(key, np.resize(parameters, 4000), None)).reshape(-1, 8)
    for i in range(3):
        alone = np.asarray(draw_chisquare(key, parameters[i], (DRAWS,)))[:4000].reshape(-1, 8)
        np.testing.assert_array_equal(together[:, i], alone[:, i])
    np.testing.assert_array_equal(together[:, 3], 0)
    assert np.isnan(together[:, 4:]).all()


@pytest.mark.medium
def test_centered_chisquare_shapes_and_dtypes(key):
    def shape_and_dtype(*args):
        result = jax.eval_shape(lambda k: centered_chisquare(k, *args), key)
        return result.shape, result.dtype

    assert shape_and_dtype([1, 2, 3]) == ((3,), np.float64)
    assert shape_and_dtype(np.ones(3, np.float32), (2, 3)) == ((2, 3), np.float32)
    assert shape_and_dtype(np.float16(4)) == ((), np.float32)
    assert shape_and_dtype(np.int8(4), (0,)) == ((0,), np.float64)
    with pytest.raises(ValueError, match=r"float64\[3\]"):
        shape_and_dtype([1, 2, 3], (2,))
