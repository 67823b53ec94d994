"""Literal data of the model: labels, means, noise, and what is refused."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mixjax.gaussian.model import class_mean, sample_data


def test_class_mean_is_that_of_the_paper():
    """theta_norm 1_p / sqrt(p)."""
    for p in (1, 2, 100):
        theta = np.asarray(class_mean(p, 3.0))
        assert theta.shape == (p,)
        np.testing.assert_allclose(theta, 3.0 * np.ones(p) / np.sqrt(p), rtol=1e-15)
    np.testing.assert_array_equal(class_mean(3, 0), [0, 0, 0])


def test_class_mean_keeps_the_dtype_of_theta_norm():
    assert class_mean(4, np.float32(1)).dtype == jnp.float32


def test_class_mean_needs_a_dimension():
    with pytest.raises(ValueError, match="p must be at least 1, got 0"):
        class_mean(0, 1.0)


def test_law(key):
    """Fair labels; x - y theta = sigma N(0, I), independent of y. Five checks of level 1e-6, correlations at 6 sd."""
    theta = np.array([1.5, -0.5, 0.0], np.float32)
    x, y = sample_data(key, n=50_000, theta=theta, sigma=0.7)
    x, y = np.asarray(x, float), np.asarray(y, float)
    assert set(np.unique(y)) == {-1, 1}
    assert stats.binomtest(int(np.sum(y > 0)), y.size).pvalue > 1e-6
    noise = (x - y[:, None] * theta) / 0.7
    for column in noise.T:
        assert stats.kstest(column, "norm").pvalue > 1e-6
    assert stats.ks_2samp(noise[y > 0, 0], noise[y < 0, 0]).pvalue > 1e-6
    correlations = np.corrcoef(np.column_stack([noise, y]), rowvar=False) - np.eye(4)
    assert np.abs(correlations).max() < 6 / np.sqrt(y.size)
    assert abs(np.mean(y[1:] * y[:-1])) < 6 / np.sqrt(y.size)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shapes_and_dtypes(key, dtype):
    x, y = jax.eval_shape(lambda k: sample_data(k, n=4, theta=np.ones(2, dtype), sigma=0.5), key)
    assert (x.shape, y.shape) == ((4, 2), (4,))
    assert x.dtype == y.dtype == dtype


@pytest.mark.slow
def test_vmap_over_keys(key):
    keys = jax.random.split(key, 3)
    x, y = jax.jit(jax.vmap(lambda k: sample_data(k, n=4, theta=np.ones(2, np.float32))))(keys)
    assert np.unique(x).size == x.size == 24
    alone = sample_data(keys[1], n=4, theta=np.ones(2, np.float32))
    np.testing.assert_allclose(x[1], alone[0], rtol=0, atol=1e-6)
    np.testing.assert_array_equal(y[1], alone[1])


@pytest.mark.parametrize("wrong, words", [
    ({"n": 0}, "n must be at least 1, got 0"),
    ({"theta": np.ones((2, 2))}, r"theta must have shape \[p\], got \(2, 2\)"),
    ({"theta": 1.0}, r"theta must have shape \[p\], got \(\)"),
])  # fmt: skip
def test_what_is_refused(key, wrong, words):
    with pytest.raises(ValueError, match=words):
        sample_data(key, **{"n": 3, "theta": np.ones(2), "sigma": 1.0} | wrong)
