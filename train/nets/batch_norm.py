"""Batch normalisation as PyTorch does it, which the reference nets were trained with.

Running averages move by a tenth of the way to each batch, and the running variance takes the batch's *unbiased* one;
Flax's own layer moves by a hundredth and takes the biased one. Statistics are computed in float32 at any dtype.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx

__all__ = ["BatchNorm"]

_MOVE = 0.1
_EPSILON = 1e-5


class BatchNorm(nnx.Module):
    """The layer (x - mean) / sqrt(var + 1e-5) * scale + bias, over all axes but the last.

    After `train()` mean and var are those of the batch, which also moves the running averages; after `eval()` they are
    the running averages.

    Raises:
      ValueError: when called in training with one value of each channel, whose variance is 0, as PyTorch does.
    """

    def __init__(self, features: int):
        self.scale = nnx.Param(jnp.ones(features, jnp.float32))
        self.bias = nnx.Param(jnp.zeros(features, jnp.float32))
        self.mean = nnx.BatchStat(jnp.zeros(features, jnp.float32))
        self.var = nnx.BatchStat(jnp.ones(features, jnp.float32))
        self.use_running_average = False

    def __call__(self, inputs: jax.Array) -> jax.Array:
        """Return the normalised inputs, in their shape and dtype."""
        values = inputs.astype(jnp.float32)
        mean, var = (self.mean[...], self.var[...]) if self.use_running_average else self._of_batch(values)
        factor = self.scale[...] * jax.lax.rsqrt(var + _EPSILON)
        shape = (1,) * (values.ndim - 1) + (-1,)
        normed = (values - mean.reshape(shape)) * factor.reshape(shape) + self.bias[...].reshape(shape)
        return normed.astype(inputs.dtype)

    def _of_batch(self, values: jax.Array) -> tuple[jax.Array, jax.Array]:
        axes, count = tuple(range(values.ndim - 1)), values.size // values.shape[-1]
        if count == 1:
            raise ValueError("batch normalisation needs more than one value of each channel to train; take more rows")
        mean, var = values.mean(axes), values.var(axes)
        unbiased = var * (count / (count - 1))
        self.mean[...] = (1 - _MOVE) * self.mean[...] + _MOVE * jax.lax.stop_gradient(mean)
        self.var[...] = (1 - _MOVE) * self.var[...] + _MOVE * jax.lax.stop_gradient(unbiased)
        return mean, var
