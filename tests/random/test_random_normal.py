"""Normal draws: the law and its tails, and the quantile of their bits, against SciPy's distribution.

The rate of false alarms is that of `tests/random/goodness_of_fit.py`.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from scipy import special, stats

from mixjax.numerics.threefry import Source
from mixjax.random import _normal_from_words, _signed_unit, normal, normal_from_word
from tests.random.goodness_of_fit import BOTH, DRAWS, MANY, assert_law, assert_share

draw_normal = jax.jit(normal, static_argnums=(1, 2))
from_word = jax.jit(normal_from_word)


@BOTH
@pytest.mark.parametrize("size", [DRAWS, MANY])
def test_normal_law(key, dtype, size):
    draws = draw_normal(key, (size,), dtype)
    assert draws.dtype == dtype
    assert_law(draws, stats.norm.cdf)


BEYOND = np.array([0.0, 1.0, 3.0, 4.0, 4.5, 5.0, 5.23])


@partial(jax.jit, static_argnums=(1, 2))
def count_beyond(key, dtype, millions):
    """How many draws are above each of `BEYOND`, and how many below its negative."""

    def count(chunk_key):
        draws = lax.optimization_barrier(normal(chunk_key, (10**6,), dtype))  # drawn once for all counts
        beyond = ((draws > z, draws < -z) for z in BEYOND.astype(dtype))
        return jnp.array([[jnp.sum(side, dtype=np.int32) for side in sides] for sides in beyond])

    return jnp.sum(lax.map(count, jax.random.split(key, millions)), axis=0)


@pytest.mark.slow
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
    tails = np.concatenate([edges, rng.integers(0, 2**31, 20_000)]).astype(np.uint32)
    expected = stats.norm.isf((tails.astype(np.float64) + 0.5) * 2.0**-32)
    above, below = (np.asarray(from_word(tails | sign)) for sign in (np.uint32(0), np.uint32(1 << 31)))
    np.testing.assert_allclose(np.asarray(above, np.float64), expected, rtol=1e-6)
    np.testing.assert_array_equal(below, -above)
    assert 6.33 < above.max() < 6.34
    assert 0 < above.min() < 1e-9


def test_float64_normal_is_the_quantile_of_its_words(rng):
    """Lower tail probability (k + 1/2) 2^-52 for 52 bits k; XLA's erf_inv is good to 1e-10 at z = 6."""
    high = np.concatenate([[0] * 40, [2**32 - 1] * 40, [2**31, 2**31 - 1], rng.integers(0, 2**32, 200_000)])
    edges = np.concatenate([[0], 2 ** np.arange(32), [2**32 - 1] * 7])
    low = np.concatenate([edges, 2**32 - 1 - edges, [0, 2**32 - 1], rng.integers(0, 2**32, 200_000)])
    z = np.asarray(jax.jit(_normal_from_words)((high.astype(np.uint32), low.astype(np.uint32))))
    k = high * 2**20 + low // 2**12
    nearer = np.minimum(k, 2**52 - 1 - k)  # counted from the nearer end, so that nothing cancels
    expected = np.sign(k - 2**51 + 0.5) * -special.ndtri((nearer + 0.5) / 2.0**52)
    central = np.abs(expected) < 4
    np.testing.assert_allclose(z[central], expected[central], rtol=1e-12)
    np.testing.assert_allclose(z, expected, rtol=3e-10)
    assert 8.2 < z.max() == -z.min() < 8.3


def test_float64_units_are_odd_multiples(key):
    """Of 2^-52, each bit of which is fair: 52 checks at level 1e-6."""
    units = jax.jit(lambda key: _signed_unit(Source.of(key, (100_000,)).words(0)))(key)
    scaled = np.asarray(units) * 2.0**52
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
    draws = jax.eval_shape(lambda key: normal(key, shape), key)
    assert (draws.shape, draws.dtype) == (shape, np.float64)


def test_normal_defaults_to_float32_without_x64(key):
    with jax.enable_x64(False):
        assert jax.eval_shape(lambda key: normal(key, (3,)), key).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float16, jnp.bfloat16, np.int32, np.complex64])
def test_normal_refuses_other_dtypes(key, dtype):
    with pytest.raises(TypeError, match=f"dtype must be float32 or float64, got {np.dtype(dtype)}"):
        normal(key, (3,), dtype)
