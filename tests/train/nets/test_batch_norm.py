"""Batch normalization with PyTorch's conventions, beside NumPy."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from jax import lax

from mixjax.train.nets.batch_norm import BatchNorm, normalize


@pytest.mark.medium
def test_a_step_as_pytorch_makes_it(rng):
    """A tenth of the way to the batch's mean and unbiased variance; normalized by the biased one."""
    images = (3 + 2 * rng.normal(size=(4, 3, 3, 2))).astype(np.float32)
    norm = BatchNorm(2)
    out = norm(jnp.asarray(images))
    rows = images.reshape(-1, 2).astype(np.float64)
    np.testing.assert_allclose(norm.mean[...], 0.1 * rows.mean(0), rtol=1e-5)
    np.testing.assert_allclose(norm.var[...], 0.9 + 0.1 * rows.var(0, ddof=1), rtol=1e-5)
    np.testing.assert_allclose(out, (images - rows.mean(0)) / np.sqrt(rows.var(0) + 1e-5), atol=1e-5)
    norm(jnp.asarray(images))
    np.testing.assert_allclose(norm.mean[...], 0.19 * rows.mean(0), rtol=1e-5)


@pytest.mark.medium
def test_evaluation_uses_the_running_statistics_and_leaves_them(rng):
    """Twice the same, whatever else is in the batch."""
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


@pytest.mark.medium
def test_one_value_of_a_channel_has_no_variance():
    """Refused in training, as PyTorch does, and normalized in evaluation; two pixels of one image are two values."""
    norm, row = BatchNorm(2), jnp.asarray([[1.0, 2.0]], jnp.float32)
    with pytest.raises(ValueError, match="needs more than one value of each channel to train"):
        norm(row)
    np.testing.assert_array_equal(norm.var[...], 1)
    assert np.isfinite(norm(jnp.stack([row, 2 * row], 1))).all()
    norm.eval()
    assert np.isfinite(norm(row)).all()


def by_definition(values, scale, bias):
    """The formula, of whose derivatives JAX takes care; in these, mean and variance of the batch are no constants."""
    axes = tuple(range(values.ndim - 1))
    mean, var = values.mean(axes, keepdims=True), values.var(axes, keepdims=True)
    row = (1,) * len(axes) + (-1,)
    return (values - mean) * lax.rsqrt(var + 1e-5) * scale.reshape(row) + bias.reshape(row)


def ways(function, arguments, along):
    """Value, gradients by reverse mode, and a derivative by forward mode."""
    outputs, pull = jax.vjp(function, *arguments)
    slopes = jax.random.normal(jax.random.key(0), outputs.shape, "float32").astype(outputs.dtype)
    return outputs, *pull(slopes), jax.jvp(function, arguments, along)[1]


SHAPES = {  # in pixels and channels those of the ResNet-18, odd ones, one image, and rows without pixels
    (5, 3): (),
    (1, 3, 3, 1): (),
    (3, 7, 7, 8): (),
    (64, 28, 28, 64): pytest.mark.slow,
    (64, 14, 14, 128): pytest.mark.slow,
    (64, 4, 4, 512): pytest.mark.slow,
}


@pytest.mark.medium
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 1e-5), pytest.param("float64", 1e-12, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("shape", [pytest.param(shape, marks=marks) for shape, marks in SHAPES.items()], ids=str)
def test_derivatives_are_those_of_the_formula(rng, shape, dtype, tolerance):
    """For each of two members under `vmap`, beside the formula in float64; to a share of the largest number."""
    shapes = (2, *shape), (2, shape[-1]), (2, shape[-1])
    given = [tuple(jnp.asarray(rng.normal(1, 2, size), dtype) for size in shapes) for _ in range(2)]
    found = jax.jit(jax.vmap(partial(ways, lambda *given: normalize(*given)[0])))(*given)
    exact = jax.tree.map(lambda part: part.astype("float64"), given)
    expected = jax.jit(jax.vmap(partial(ways, by_definition)))(*exact)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == dtype
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * abs(theirs).max())


def test_mean_and_variance_count_as_constants(rng):
    def total(rows):
        return sum(part.sum() for part in normalize(rows, jnp.ones(2), jnp.zeros(2))[1:])

    np.testing.assert_array_equal(jax.jit(jax.grad(total))(rng.normal(size=(4, 2))), 0)
