"""Random numbers against SciPy's distributions.

Keys follow from the tests' names, so that a test which passes keeps passing. The rate at which a right
sampler would fail under a fresh key is `FALSE_ALARM` a check; there are about 400 checks in this file.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from scipy import special, stats

from mixjax._binomial import log_ratio, log_ratio_bound
from mixjax._threefry import Source
from mixjax.random import (
    _normal_from_word,
    _normal_from_words,
    _signed_unit,
    centred_chisquare,
    normal,
    rademacher_mean,
)

FALSE_ALARM = 1e-6
DRAWS = 1_000_000
BOTH = pytest.mark.parametrize("dtype", [np.float32, np.float64])

draw_normal = jax.jit(normal, static_argnums=(1, 2))
draw_chisquare = jax.jit(centred_chisquare, static_argnums=2)
draw_mean = jax.jit(rademacher_mean, static_argnums=2)


def assert_law(draws, cdf):
    """Kolmogorov-Smirnov at every hundredth order statistic: 1e6 draws show what is wrong by 0.003 anywhere."""
    places = np.arange(50, draws.size, 100)
    theirs = cdf(np.sort(np.asarray(draws, np.float64))[places])
    difference = np.maximum(np.abs(theirs - places / draws.size), np.abs(theirs - (places + 1) / draws.size)).max()
    assert stats.kstwobign.sf(difference * np.sqrt(draws.size)) > FALSE_ALARM


def assert_share(count, total, probability):
    """A count of independent events of known probability, two-sided."""
    assert stats.binomtest(int(count), int(total), probability).pvalue > FALSE_ALARM, (int(count), total * probability)


# --- normal ---------------------------------------------------------------------------------------


@BOTH
def test_normal_law(key, dtype):
    draws = draw_normal(key, (DRAWS,), dtype)
    assert draws.dtype == dtype
    assert_law(draws, stats.norm.cdf)


BEYOND = np.array([0.0, 1.0, 3.0, 4.0, 4.5, 5.0, 5.23])


@partial(jax.jit, static_argnums=(1, 2))
def count_beyond(key, dtype, millions):
    """How many draws are above each of `BEYOND`, and how many below its negative."""

    def count(chunk_key):
        draws = lax.optimization_barrier(normal(chunk_key, (10**6,), dtype))  # drawn once for all counts
        return jnp.stack(
            [
                jnp.stack([jnp.sum(draws > z, dtype=np.int32), jnp.sum(draws < -z, dtype=np.int32)])
                for z in BEYOND.astype(dtype)
            ]
        )

    return jnp.sum(lax.map(count, jax.random.split(key, millions)), axis=0)


@pytest.mark.parametrize("dtype, millions", [(np.float32, 200), (np.float64, 10)])
def test_normal_tails(key, dtype, millions):
    """Each tail. `jax.random.normal` in float32 has nothing above 5.22, where 17 are expected (p = 8e-8)."""
    counts = count_beyond(key, dtype, millions)
    for z, (above, below) in zip(BEYOND, counts, strict=True):
        assert_share(above, millions * 10**6, stats.norm.sf(z))
        assert_share(below, millions * 10**6, stats.norm.sf(z))


def test_float32_normal_is_the_quantile_of_its_word(rng):
    """One sign bit and 31 bits k of tail probability (k + 1/2) 2^-32: SciPy's quantile within 1e-6 (8 units)."""
    edges = np.unique(np.concatenate([[0, 1, 2, 3], 2 ** np.arange(2, 31), 2**31 - 2 ** np.arange(0, 31), [2**31 - 1]]))
    tails = np.concatenate([edges, rng.integers(0, 2**31, 200_000)]).astype(np.uint32)
    expected = stats.norm.isf((tails.astype(np.float64) + 0.5) * 2.0**-32)
    above, below = _normal_from_word(jnp.asarray(tails)), _normal_from_word(jnp.asarray(tails | np.uint32(1 << 31)))
    np.testing.assert_allclose(np.asarray(above, np.float64), expected, rtol=1e-6)
    np.testing.assert_array_equal(below, -above)
    assert 6.33 < above.max() < 6.34
    assert 0 < above.min() < 1e-9


def test_float64_normal_is_the_quantile_of_its_words(rng):
    """Lower tail probability (k + 1/2) 2^-52 for 52 bits k; XLA's erf_inv is good to 1e-10 at z = 6."""
    high = np.concatenate([[0] * 40, [2**32 - 1] * 40, [2**31, 2**31 - 1], rng.integers(0, 2**32, 200_000)])
    edges = np.concatenate([[0], 2 ** np.arange(32), [2**32 - 1] * 7])
    low = np.concatenate([edges, 2**32 - 1 - edges, [0, 2**32 - 1], rng.integers(0, 2**32, 200_000)])
    z = np.asarray(_normal_from_words((jnp.asarray(high, np.uint32), jnp.asarray(low, np.uint32))))
    k = high * 2**20 + low // 2**12
    nearer = np.minimum(k, 2**52 - 1 - k)  # counted from the nearer end, so that nothing cancels
    expected = np.sign(k - 2**51 + 0.5) * -special.ndtri((nearer + 0.5) / 2.0**52)
    central = np.abs(expected) < 4
    np.testing.assert_allclose(z[central], expected[central], rtol=1e-12)
    np.testing.assert_allclose(z, expected, rtol=3e-10)
    assert 8.2 < z.max() == -z.min() < 8.3


def test_float64_units_are_odd_multiples(key):
    """Of 2^-52, each bit of which is fair: 52 checks at level 1e-6."""
    scaled = np.asarray(_signed_unit(Source.of(key, (100_000,)).words(0))) * 2.0**52
    integers = scaled.astype(np.int64)
    np.testing.assert_array_equal(integers, scaled)
    assert (integers % 2 == 1).all()
    bits = (integers - 1) // 2 + 2**51
    for place in range(52):
        assert_share(np.sum((bits >> place) & 1), bits.size, 0.5)


@BOTH
def test_normals_of_one_call_are_independent(key, dtype):
    """Correlations of draws and of their squares at six distances, within 6 standard errors: 2e-9 each."""
    draws = np.asarray(draw_normal(key, (DRAWS,), dtype), np.float64)
    for distance in (1, 2, 3, 32, DRAWS // 2, DRAWS // 2 + 1):  # the halves come from the two words of a block
        first, second = draws[distance:], draws[:-distance]
        for f in (lambda x: x, lambda x: (x**2 - 1) / np.sqrt(2)):
            assert abs(np.mean(f(first) * f(second))) < 6 / np.sqrt(first.size)


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0,)])
def test_normal_shapes(key, shape):
    draws = normal(key, shape)
    assert draws.shape == shape
    assert draws.dtype == jnp.float64
    assert np.unique(draws).size == draws.size


def test_normal_defaults_to_float32_without_x64(key):
    with jax.enable_x64(False):
        assert normal(key, (3,)).dtype == jnp.float32


@pytest.mark.parametrize("dtype", [np.float16, jnp.bfloat16, np.int32, np.complex64])
def test_normal_refuses_other_dtypes(key, dtype):
    with pytest.raises(TypeError, match=f"dtype must be float32 or float64, got {np.dtype(dtype)}"):
        normal(key, (3,), dtype)


# --- centred chi-square ---------------------------------------------------------------------------

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


@BOTH
@pytest.mark.parametrize("df", [0.1, 0.3, *DEGREES])
def test_centred_chisquare_law(key, df, dtype):
    """The whole law, and counts beyond quantiles on both sides, wherever the dtype resolves what happens near 0.

    Draws are stored as differences from df, so that float32 rounds those below 6e-8 df. Lower quantiles of 16 such
    units are off by 3 % at most. At df = 1 the probability that is rounded to -1 is 1.4e-4, 0.05 of the KS limit.
    """
    draws = np.asarray(draw_chisquare(key, dtype(df), (DRAWS,)))
    assert draws.dtype == dtype
    if df >= 1:
        assert_law(draws, partial(chisquare_cdf, df=df))
    for p in (0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5):
        low, high = stats.chi2.ppf(p, df), stats.chi2.isf(p, df)
        assert_share(np.sum(draws > dtype(high - df)), DRAWS, 1 - chisquare_cdf(high - df, df))
        if low > 16 * np.finfo(dtype).eps * df:
            assert_share(np.sum(draws < dtype(low - df)), DRAWS, chisquare_cdf(low - df, df))


@BOTH
def test_centred_chisquare_is_finite_and_above_minus_df(key, dtype):
    for df in (1e-3, 1):
        draws = draw_chisquare(key, dtype(df), (DRAWS,))
        assert np.isfinite(draws).all()
        assert draws.min() >= -dtype(df)


@BOTH
def test_centred_chisquare_depends_on_its_own_position_and_parameter_only(key, dtype):
    """Bit for bit; 0 degrees of freedom are the point mass, wrong ones give NaN, and none makes the others hang."""
    parameters = np.array([0.5, 3, 1e10, 0, -1, np.nan, np.inf, -np.inf], dtype)
    together = np.asarray(draw_chisquare(key, np.resize(parameters, 4000), None)).reshape(-1, 8)
    for i in range(3):
        alone = np.asarray(draw_chisquare(key, parameters[i], (DRAWS,)))[:4000].reshape(-1, 8)
        np.testing.assert_array_equal(together[:, i], alone[:, i])
    np.testing.assert_array_equal(together[:, 3], 0)
    assert np.isnan(together[:, 4:]).all()


def test_centred_chisquare_shapes_and_dtypes(key):
    def shape_and_dtype(*args):
        result = jax.eval_shape(lambda k: centred_chisquare(k, *args), key)
        return result.shape, result.dtype

    assert shape_and_dtype([1, 2, 3]) == ((3,), np.float64)
    assert shape_and_dtype(np.ones(3, np.float32), (2, 3)) == ((2, 3), np.float32)
    assert shape_and_dtype(np.float16(4)) == ((), np.float32)
    assert shape_and_dtype(np.int8(4), (0,)) == ((0,), np.float64)
    with pytest.raises(ValueError, match=r"float64\[3\]"):
        shape_and_dtype([1, 2, 3], (2,))


# --- mean of signs --------------------------------------------------------------------------------

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


@pytest.mark.parametrize("n, dtype", [*((n, np.float32) for n in SMALL), *((n, np.float64) for n in (2, 33, 65, 1001))])
def test_rademacher_mean_law(key, n, dtype):
    """Chi-square goodness of fit over the lattice, points of fewer than 10 expected draws pooled on each side."""
    sums = sums_of_signs(draw_mean(key, dtype(n), (DRAWS,)), n, dtype)
    observed = np.bincount(((sums + n) / 2).astype(int), minlength=n + 1)
    expected = DRAWS * stats.binom.pmf(np.arange(n + 1), n, 0.5)
    keep = np.flatnonzero(expected >= 10)
    first, last = keep[0], keep[-1]

    def pooled(x):
        return np.concatenate([[x[: first + 1].sum()], x[first + 1 : last], [x[last:].sum()]])

    assert stats.chisquare(pooled(observed), pooled(expected), sum_check=False).pvalue > FALSE_ALARM
    assert_share(
        observed[first:].sum() - observed[last + 1 :].sum(),
        DRAWS,
        stats.binom.cdf(last, n, 0.5) - stats.binom.cdf(first - 1, n, 0.5),
    )


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


@BOTH
@pytest.mark.parametrize("n", LARGE)
def test_rademacher_mean_law_of_many(key, n, dtype):
    """Kolmogorov-Smirnov on the lattice, against the normal law with correction for continuity, right to 0.1 / n."""
    n = float(dtype(n))  # float32 holds 24 binary digits
    sums = sums_of_signs(draw_mean(key, dtype(n), (DRAWS,)), n, dtype)
    points, counts = np.unique(sums, return_counts=True)
    difference = np.abs(np.cumsum(counts) / DRAWS - stats.norm.cdf((points + 1) / np.sqrt(n))).max()
    assert stats.kstwobign.sf(difference * np.sqrt(DRAWS)) > FALSE_ALARM
    for p in (1e-3, 1e-5):
        z = np.ceil(stats.norm.isf(p) * np.sqrt(n))
        z += (z - n) % 2  # a point of the lattice
        assert_share(np.sum(sums >= z), DRAWS, stats.norm.sf((z - 1) / np.sqrt(n)))
        assert_share(np.sum(sums <= -z), DRAWS, stats.norm.sf((z - 1) / np.sqrt(n)))


@BOTH
def test_rademacher_mean_depends_on_its_own_position_and_parameter_only(key, dtype):
    """The same sums: XLA may divide by a scalar n through its reciprocal. A wrong n gives NaN and hangs no other."""
    parameters = np.array([3, 64, 65, 1e10, 0, 2.5, -1, np.inf, np.nan, 64.5], dtype)
    together = np.asarray(draw_mean(key, np.resize(parameters, 4000), None)).reshape(-1, 10)
    for i in range(4):
        alone = np.asarray(draw_mean(key, parameters[i], (DRAWS,)))[:4000].reshape(-1, 10)
        np.testing.assert_allclose(together[:, i], alone[:, i], rtol=np.finfo(dtype).eps)
    assert np.isnan(together[:, 4:]).all()


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int32, np.uint64, np.float16, jnp.bfloat16, np.float32, np.float64]
)
def test_rademacher_mean_takes_every_dtype(key, dtype):
    narrow = np.dtype(dtype) in (np.float16, jnp.bfloat16, np.float32)
    n = np.array([1, 7, 100], dtype)
    assert jax.eval_shape(lambda k: rademacher_mean(k, n), key).dtype == (np.float32 if narrow else np.float64)


# --- all three ------------------------------------------------------------------------------------

SAMPLERS = {
    "normal": lambda key: normal(key, (100,), np.float32),
    "centred_chisquare": lambda key: centred_chisquare(key, np.float32(3), (100,)),
    "rademacher_mean": lambda key: rademacher_mean(key, np.float32(100), (100,)),
}
EVERY_SAMPLER = pytest.mark.parametrize("sample", SAMPLERS.values(), ids=SAMPLERS.keys())


@EVERY_SAMPLER
def test_draws_repeat_and_are_the_same_under_jit_and_vmap(key, sample):
    """The same numbers up to the rounding of a fused program: 4 units of float32."""
    keys = jax.random.split(key, 3)
    one_by_one = np.stack([sample(k) for k in keys])
    np.testing.assert_array_equal(sample(keys[0]), one_by_one[0])
    np.testing.assert_allclose(jax.jit(jax.vmap(sample))(keys), one_by_one, rtol=5e-7, atol=5e-7)
    assert np.unique(one_by_one.sum(axis=1)).size == 3


NOT_KEYS = {"int": 0, "words": np.uint32([0, 1]), "raw": jax.random.PRNGKey(0), "None": None}


@EVERY_SAMPLER
@pytest.mark.parametrize("not_a_key", NOT_KEYS.values(), ids=NOT_KEYS.keys())
def test_only_keys_are_keys(sample, not_a_key):
    with pytest.raises(TypeError, match=r"key must be made by jax\.random\.key\(seed\)"):
        sample(not_a_key)


@EVERY_SAMPLER
def test_an_array_of_keys_is_refused(key, sample):
    with pytest.raises(ValueError, match=r"key must be a single key, got an array of keys of shape \(2,\)"):
        sample(jax.random.split(key))


@pytest.mark.parametrize("sample", [centred_chisquare, rademacher_mean])
@pytest.mark.parametrize("value", ["3", None, 1j, True])
def test_parameters_are_real_numbers(key, sample, value):
    with pytest.raises(TypeError, match="must be real numbers, got"):
        sample(key, value)


@pytest.mark.parametrize("sample", [centred_chisquare, rademacher_mean])
def test_a_new_parameter_does_not_recompile(key, sample, compilations):
    sample(key, np.float32(100), (10,))
    assert compilations
    compilations.clear()
    sample(key, np.float32(3), (10,))
    assert not compilations
