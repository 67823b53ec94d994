"""Batch normalisation with PyTorch's conventions, beside NumPy."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from mixjax.train.nets.batch_norm import BatchNorm


def test_a_step_as_pytorch_makes_it(rng):
    """Report 33: a tenth of the way to the batch's mean and unbiased variance; normalised by the biased one."""
    images = (3 + 2 * rng.normal(size=(4, 3, 3, 2))).astype(np.float32)
    norm = BatchNorm(2)
    out = norm(jnp.asarray(images))
    rows = images.reshape(-1, 2).astype(np.float64)
    np.testing.assert_allclose(norm.mean[...], 0.1 * rows.mean(0), rtol=1e-5)
    np.testing.assert_allclose(norm.var[...], 0.9 + 0.1 * rows.var(0, ddof=1), rtol=1e-5)
    np.testing.assert_allclose(out, (images - rows.mean(0)) / np.sqrt(rows.var(0) + 1e-5), atol=1e-5)
    norm(jnp.asarray(images))
    np.testing.assert_allclose(norm.mean[...], 0.19 * rows.mean(0), rtol=1e-5)


def test_evaluation_uses_the_running_statistics_and_leaves_them(rng):
    """Reports 27 and 28: twice the same, whatever else is in the batch."""
    norm = BatchNorm(2)
    norm(jnp.asarray(rng.normal(2, 3, (50, 2)), jnp.float32))
    norm.eval()
    before = [np.asarray(leaf) for leaf in jax.tree.leaves(nnx.state(norm, nnx.BatchStat))]
    rows = jnp.asarray(rng.normal(size=(6, 2)), jnp.float32)
    first = norm(rows)
    np.testing.assert_array_equal(first, norm(rows))
    np.testing.assert_array_equal(first[:2], norm(rows[:2]))
    for old, new in zip(before, jax.tree.leaves(nnx.state(norm, nnx.BatchStat)), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.slow
def test_statistics_stay_float32_under_bfloat16(rng):
    """256 + 1 is not a bfloat16; the mean of such values is right all the same."""
    norm = BatchNorm(1)
    rows = jnp.asarray(256 + 2 * rng.integers(0, 2, (1000, 1)), jnp.bfloat16)
    out = norm(rows)
    assert out.dtype == jnp.bfloat16 and norm.mean[...].dtype == jnp.float32
    np.testing.assert_allclose(norm.mean[...], 0.1 * np.asarray(rows, np.float64).mean(), rtol=1e-5)


def test_one_value_of_a_channel_has_no_variance():
    """Refused in training, as PyTorch does, and normalised in evaluation; two pixels of one image are two values."""
    norm, row = BatchNorm(2), jnp.asarray([[1.0, 2.0]], jnp.float32)
    with pytest.raises(ValueError, match="needs more than one value of each channel to train"):
        norm(row)
    np.testing.assert_array_equal(norm.var[...], 1)
    assert np.isfinite(norm(jnp.stack([row, 2 * row], 1))).all()
    norm.eval()
    assert np.isfinite(norm(row)).all()
