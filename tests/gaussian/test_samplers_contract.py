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

SIZE = 32  # entries of every flat call, so that all are one program


def flat(key, **values):
    """Laws of a list of entries, in float32, of which the last is repeated up to SIZE."""
    columns = np.broadcast_arrays(*(CELL | values).values())
    padded = (np.pad(column.astype(np.float32), (0, SIZE - column.size), mode="edge") for column in columns)
    return sample_scores(key, **dict(zip(CELL, padded, strict=True)), replicates=8)


@pytest.fixture(scope="module")
def grid(module_key):
    """Axes t, p and n; and the same backwards."""
    t, p, n = (axis.ravel() for axis in np.meshgrid([0, 0.3, 1], [1, 5], [3, 7, 1, 1e10, 7], indexing="ij"))
    backward = flat(module_key, t=t[::-1], p=p[::-1], n=n[::-1])
    shape = (3, 2, 5, 8)
    forward = jax.tree.map(lambda part: np.asarray(part)[:30].reshape(shape), flat(module_key, t=t, p=p, n=n))
    return forward, jax.tree.map(lambda part: np.asarray(part)[29::-1].reshape(shape), backward)


@pytest.mark.medium
def test_entries_differ(grid):
    law, _ = grid
    assert np.isfinite(law.gap).all()
    assert np.unique(law.gap[0, :, :4]).size == 2 * 4 * 8


def test_an_entry_has_the_same_bits_wherever_it_stands_in_a_grid(grid):
    forward, backward = grid
    assert_same_bits(forward, backward)
    assert_same_bits(entry(forward, slice(None), slice(None), 1), entry(forward, slice(None), slice(None), 4))


@pytest.mark.medium
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
    """(mean (sigma/theta)^2 - 1) sqrt(n) theta / sigma at t = 0 is normal. Any of 48 pairs agrees to 1e-5 at 3e-4."""
    columns = {"n": [7, 7, 8, 7, 7, 7], "p": [5, 5, 5, 6, 5, 5], "theta_norm": [1.25, 1.25, 1.25, 1.25, 1.3, 1.25]}
    cells = {name: np.array(column, float) for name, column in columns.items()}
    cells |= {"t": np.array([0, 0.3, 0, 0, 0, 0]), "sigma": np.array([0.75, 0.75, 0.75, 0.75, 0.75, 0.8])}
    ratio = (cells["theta_norm"] / cells["sigma"])[:, None]
    found = [np.asarray(flat(k, **cells).mean, float)[:6] for k in jax.random.split(key)]
    draws, others = ((mean / ratio**2 - 1) * np.sqrt(cells["n"])[:, None] * ratio for mean in found)
    for other in (*draws[2:], others[0]):
        assert np.abs(draws[0] - other).min() > 1e-5


# --- dtypes and sizes -----------------------------------------------------------------------------

INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


@pytest.mark.medium
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_whole_numbers_of_every_dtype(key, dtype):
    """Floats of at most 32 bits compute in float32; integers beside Python numbers in JAX's default float."""
    options = {"p": np.asarray(5, dtype), "theta_norm": 1, "t": 0.5, "replicates": 8}
    law = jax.eval_shape(lambda: sample_scores(key, n=np.asarray(7, dtype), **options))
    assert law.gap.dtype == (np.float32 if dtype in FLOATS[:3] else np.float64)


@pytest.mark.medium
def test_python_integers_beyond_32_bits(key):
    """p = 1e10, n = 10, theta = 1: chi2 / n = 1e9 (1 +- 1.4e-5)."""
    law = sample_scores(key, n=10, p=10**10, theta_norm=np.float32(1), t=0, replicates=8)
    np.testing.assert_allclose(law.gap, 1e9, rtol=1e-4)


@pytest.fixture(scope="module")
def large(module_key):
    """200,000 replicates in float32: n = p = 1e10; n = 1e8 and p = 5; and three of p = 1."""
    cells = [(1e10, 1e10, 1, 0), (1e8, 5, 1, 0), (7, 1, 0.7, 0.2286), (3, 1, 0.1, 0.3), (1000, 1, 0.02, 0.2)]
    cells = dict(zip(("n", "p", "theta_norm", "t"), np.float32(cells).T, strict=True))
    return jax.tree.map(np.asarray, sample_scores(module_key, **cells, replicates=200_000))


@pytest.mark.slow
def test_the_largest_size_in_float32(large):
    """gap = a + a^2 + chi2/n is normal to 1e-5, of mean 1 and variance 1/n + 2p/n^2; steps of float32 are 0.004 sd."""
    gap, mean = (part[0, :50_000].astype(float) for part in (large.gap, large.mean))
    assert stats.kstest((gap - 1) / np.sqrt(3e-10), "norm", mode="asymp").pvalue > 1e-6
    assert stats.kstest((mean - 1) / 1e-5, "norm", mode="asymp").pvalue > 1e-6


@pytest.mark.slow
def test_the_gap_of_a_large_sample_in_float32(large):
    """sqrt(n) gap = z + (z^2 + chi2(4)) / sqrt(n) is normal to 4e-4, and smooth: var - mean takes 10,000 values."""
    scaled = large.gap[1, :50_000].astype(float) * 1e4
    assert stats.kstest(scaled, "norm", mode="asymp").pvalue > 1e-6
    assert np.unique(scaled).size > 48_000


@pytest.mark.medium
def test_in_one_dimension_the_variance_stays_positive(large):
    """At p = 1 it is theta_hat^2, next to 0 in some of 200,000 training sets: mean and gap of one rounded theta_hat."""
    mean, var = large.mean[2:], large.mean[2:] + large.gap[2:]
    assert var.min() > 0
    np.testing.assert_allclose(var, (mean / np.float32([[0.7], [0.1], [0.02]])) ** 2, rtol=1e-3, atol=1e-12)


# --- errors ---------------------------------------------------------------------------------------


def test_another_estimate_of_sigma_is_refused(key):  # other wrong arguments are in test_wrong_values.py
    with pytest.raises(ValueError, match=r"sigma_estimate must be one of \('known', 'paper', 'pooled'\), got 'median'"):
        sample_scores(key, **CELL, sigma_estimate="median", replicates=2)


@pytest.mark.medium
def test_no_cells_are_no_laws(key):
    law = jax.eval_shape(lambda: sample_scores(key, n=np.zeros(0), p=3, theta_norm=1.0, t=0.2, replicates=4))
    assert law.mean.shape == law.gap.shape == (0, 4)


def test_shapes_that_do_not_broadcast(key):
    with pytest.raises(ValueError, match="shapes that broadcast"):
        sample_scores(key, **CELL | {"n": [1, 2], "p": [1, 2, 3]}, replicates=2)


@jax.jit
@partial(jax.vmap, in_axes=(0, None, None, None, None, None))
def traced(key, n, p, theta_norm, t, sigma):
    return sample_scores(key, n=n, p=p, theta_norm=theta_norm, t=t, sigma=sigma, replicates=8)


# --- transformations ------------------------------------------------------------------------------


@pytest.mark.slow
def test_jit_and_vmap_over_keys(key):
    """Repeat the plain call, but for 4 roundings of terms of size 3."""
    keys = jnp.stack([jax.random.key(5), key])
    batched = traced(keys, *(np.float32(v) for v in CELL.values()))
    for part, alone in zip(entry(batched, 1), sample_scores(key, **cell(np.float32)), strict=True):
        np.testing.assert_allclose(part, alone, rtol=0, atol=12 * np.finfo(np.float32).eps)


@pytest.mark.medium
def test_one_compilation_for_all_values(key, compilations):
    sample_scores(key, n=10, p=3, theta_norm=np.float32(1), t=0.1, replicates=8)
    jax.jit(lambda x: x + 1)(1.0)  # a compilation to be seen, in case that the call was compiled before
    assert compilations
    compilations.clear()
    for k in range(1, 6):
        sample_scores(key, n=10 * k, p=k, theta_norm=np.float32(0.1 * k), t=k / 200, replicates=8)
    assert not compilations


@pytest.mark.slow
def test_gradient_in_t(key):
    """The gap of a draw is quadratic in t, so that a central difference of any step is its derivative."""

    def total(t):
        return jnp.sum(sample_scores(key, **cell(np.float32) | {"t": t}).gap)

    quotient = (total(np.float32(0.5)) - total(np.float32(0.0))) / np.float32(0.5)
    np.testing.assert_allclose(jax.grad(total)(jnp.float32(0.25)), quotient, rtol=1e-4)
