"""The dimension-free sampler: which entries share draws, dtypes, sizes up to 1e10, errors, and one compilation."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from scipy import stats

from mixjax.gaussian.samplers import sample_scores

CELL = {"n": 7, "p": 5, "theta_norm": 1.25, "t": 0.3, "sigma": 0.75}


def cell(dtype, **values):
    return {name: np.asarray(value, dtype) for name, value in (CELL | values).items()} | {"replicates": 8}


def assert_same_bits(first, second):
    assert first.mean.dtype == second.mean.dtype
    np.testing.assert_array_equal(first.mean, second.mean)
    np.testing.assert_array_equal(first.gap, second.gap)


def entry(law, *index):
    return jax.tree.map(lambda part: part[index], law)


# --- what shares draws ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def grid(module_key):
    """Axes t, p and n, in float32; and the same with every axis reversed."""
    axes = {
        "t": np.array([0, 0.3, 1])[:, None, None],
        "p": np.array([1, 5])[:, None],
        "n": np.array([3, 7, 1, 1e10, 7]),
    }
    forward = sample_scores(module_key, **cell(np.float32, **axes))
    backward = sample_scores(module_key, **cell(np.float32, **{name: np.flip(axis) for name, axis in axes.items()}))
    return forward, entry(backward, slice(None, None, -1), slice(None, None, -1), slice(None, None, -1))


def test_the_shape_of_a_grid(grid):
    law, _ = grid
    assert law.mean.shape == law.gap.shape == (3, 2, 5, 8)
    assert np.isfinite(law.gap).all()
    assert np.unique(law.gap[0, :, :4]).size == 2 * 4 * 8


def test_an_entry_has_the_same_bits_wherever_it_stands_in_a_grid(grid):
    forward, backward = grid
    assert_same_bits(forward, backward)
    assert_same_bits(entry(forward, slice(None), slice(None), 1), entry(forward, slice(None), slice(None), 4))


def test_an_entry_is_the_same_alone_and_in_a_grid(grid, module_key):
    """Also entries that differ only in t: they share draws. To 4 roundings of the largest of the terms, of size 3."""
    for k, t in enumerate((0, 0.3, 1)):
        alone = sample_scores(module_key, **cell(np.float32, t=t))
        for part, whole in zip(alone, entry(grid[0], k, 1, 1), strict=True):
            np.testing.assert_allclose(part, whole, rtol=0, atol=12 * np.finfo(np.float32).eps)


def test_a_single_training_point_leaves_nothing_to_mix(grid):
    """n = 1: theta_hat does not depend on t, for the same draws."""
    mean = grid[0].mean[:, :, 2]
    np.testing.assert_allclose(mean, np.broadcast_to(mean[:1], mean.shape), rtol=1e-6)


def test_everything_but_t_changes_the_draws(key):
    """(mean (sigma/theta)^2 - 1) sqrt(n) theta / sigma at t = 0 is normal. Two agree to 1e-6 with probability 1e-5."""

    def standard(k=key, **values):
        c = CELL | {"t": 0.0, "replicates": 8} | values
        ratio = c["theta_norm"] / c["sigma"]
        return (np.asarray(sample_scores(k, **c).mean) / ratio**2 - 1) * np.sqrt(c["n"]) * ratio

    first = standard()
    np.testing.assert_allclose(standard(), first, rtol=1e-12)
    for other in (
        standard(n=8),
        standard(p=6),
        standard(theta_norm=1.3),
        standard(sigma=0.8),
        standard(jax.random.key(1)),
    ):
        assert np.abs(first - other).min() > 1e-6


# --- dtypes and sizes -----------------------------------------------------------------------------

INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def test_whole_numbers_of_every_dtype(key):
    """Floats of at most 32 bits compute in float32; integers beside Python numbers in JAX's default float."""
    options = {"theta_norm": 1, "t": 0.5, "replicates": 8}
    expected = {np.dtype(w): sample_scores(key, n=w(7), p=5, **options) for w in (np.float32, np.float64)}
    arrays = [np.asarray(0, dtype) for dtype in (*INTEGERS, np.float16, ml_dtypes.bfloat16, np.float32, np.float64)]
    for zero in (*arrays, *(jnp.asarray(0, dtype) for dtype in (np.int32, np.uint64, ml_dtypes.bfloat16))):
        narrow = zero.dtype in (np.float16, ml_dtypes.bfloat16, np.float32)
        n, p = (np.full_like(zero, v) if isinstance(zero, np.ndarray) else jnp.full_like(zero, v) for v in (7, 5))
        law = sample_scores(key, n=n, p=p, **options)
        assert_same_bits(law, expected[np.dtype(np.float32 if narrow else np.float64)])


def test_python_integers_beyond_32_bits(key):
    """p = 1e10, n = 10, theta = 1: chi2 / n = 1e9 (1 +- 1.4e-5)."""
    law = sample_scores(key, n=10, p=10**10, theta_norm=1, t=0, replicates=8)
    np.testing.assert_allclose(law.gap, 1e9, rtol=1e-4)


@pytest.fixture(scope="module")
def large(module_key):
    """n = p = 1e10 and n = 1e8 with p = 5, in float32, at t = 0 and theta = sigma = 1."""
    options = {"n": [1e10, 1e8], "p": [1e10, 5], "theta_norm": [1, 1], "t": [0, 0], "sigma": [1, 1]}
    return sample_scores(module_key, **cell(np.float32, **options) | {"replicates": 50_000})


def test_the_largest_size_in_float32(large):
    """gap = a + a^2 + chi2/n is normal to 1e-5, of mean 1 and variance 1/n + 2p/n^2; steps of float32 are 0.004 sd."""
    assert stats.kstest((np.asarray(large.gap[0], float) - 1) / np.sqrt(3e-10), "norm", mode="asymp").pvalue > 1e-6
    assert stats.kstest((np.asarray(large.mean[0], float) - 1) / 1e-5, "norm", mode="asymp").pvalue > 1e-6


def test_the_gap_of_a_large_sample_in_float32(large):
    """sqrt(n) gap = z + (z^2 + chi2(4)) / sqrt(n) is normal to 4e-4, and smooth: var - mean takes 10,000 values."""
    scaled = np.asarray(large.gap[1], float) * 1e4
    assert stats.kstest(scaled, "norm", mode="asymp").pvalue > 1e-6
    assert np.unique(scaled).size > 48_000


# --- errors ---------------------------------------------------------------------------------------

REFUSED = {  # beside those of test_wrong_values.py
    "n=[3, 0]": ({"n": [3, 0]}, "n must be a whole number from 1 to 1e10, got 0"),
    "n=1e11": ({"n": 1e11}, "n must be a whole number from 1 to 1e10, got 100000000000"),
    "replicates=0": ({"replicates": 0}, "replicates must be at least 1, got 0"),
    "reading": (
        {"sigma_estimate": "median"},
        r"sigma_estimate must be one of \('known', 'paper', 'pooled'\), got 'median'",
    ),
}


@pytest.mark.parametrize("wrong, words", REFUSED.values(), ids=REFUSED)
def test_wrong_values_are_refused(key, wrong, words):
    with pytest.raises(ValueError, match=words):
        sample_scores(key, **CELL | {"replicates": 2} | wrong)


def test_the_number_of_replicates_is_an_int(key):
    with pytest.raises(TypeError, match="replicates must be an int, got float"):
        sample_scores(key, **CELL, replicates=2.0)


def test_no_cells_are_no_laws(key):
    law = sample_scores(key, n=np.zeros(0), p=3, theta_norm=1.0, t=0.2, replicates=4)
    assert law.mean.shape == law.gap.shape == (0, 4)


def test_shapes_that_do_not_broadcast(key):
    with pytest.raises(ValueError, match="shapes that broadcast"):
        sample_scores(key, **CELL | {"n": [1, 2], "p": [1, 2, 3]}, replicates=2)


@pytest.mark.parametrize("value", ["3", None, True])
@pytest.mark.parametrize("name", ["n", "t", "sigma"])
def test_what_is_not_real_numbers(key, name, value):
    with pytest.raises(TypeError, match=f"{name} must be real numbers, got"):
        sample_scores(key, **CELL | {name: value}, replicates=2)


@pytest.mark.parametrize("not_a_key", [0, np.uint32([0, 1]), jax.random.PRNGKey(0)], ids=["int", "words", "raw"])
def test_only_keys_are_keys(not_a_key):
    with pytest.raises(TypeError, match=r"key must be made by jax\.random\.key\(seed\)"):
        sample_scores(not_a_key, **CELL, replicates=2)


def test_an_array_of_keys_is_refused(key):
    with pytest.raises(ValueError, match="key must be a single key"):
        sample_scores(jax.random.split(key, 3), **CELL, replicates=2)


@jax.jit
@partial(jax.vmap, in_axes=(0, None, None, None, None, None))
def traced(key, n, p, theta_norm, t, sigma):
    return sample_scores(key, n=n, p=p, theta_norm=theta_norm, t=t, sigma=sigma, replicates=8)


# --- transformations ------------------------------------------------------------------------------


def test_jit_and_vmap_over_keys(key):
    """Repeat the plain call, but for 4 roundings of terms of size 3."""
    keys = jnp.stack([jax.random.key(5), key])
    batched = traced(keys, *(np.float32(v) for v in CELL.values()))
    for part, alone in zip(entry(batched, 1), sample_scores(key, **cell(np.float32)), strict=True):
        np.testing.assert_allclose(part, alone, rtol=0, atol=12 * np.finfo(np.float32).eps)


def test_one_compilation_for_all_values(key, compilations):
    sample_scores(key, n=10, p=3, theta_norm=1.0, t=0.1, replicates=8)
    jax.jit(lambda x: x + 1)(1.0)  # a compilation to be seen, in case that the call was compiled before
    assert compilations
    compilations.clear()
    for k in range(1, 6):
        sample_scores(key, n=10 * k, p=k, theta_norm=0.1 * k, t=k / 200, replicates=8)
    assert not compilations


def test_gradient_in_t(key):
    """The gap of a draw is quadratic in t, so that a central difference of any step is its derivative."""

    def total(t):
        return jnp.sum(sample_scores(key, **cell(np.float32) | {"t": t}).gap)

    quotient = (total(np.float32(0.5)) - total(np.float32(0.0))) / np.float32(0.5)
    np.testing.assert_allclose(jax.grad(total)(jnp.float32(0.25)), quotient, rtol=1e-4)
