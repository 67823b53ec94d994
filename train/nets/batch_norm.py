"""Batch normalization as PyTorch does it, which the reference nets were trained with.

Running averages move by a tenth of the way to each batch, and the running variance takes the batch's *unbiased* one;
Flax's own layer moves by a hundredth and takes the biased one. Statistics are computed in float32 at any dtype.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax

__all__ = ["BatchNorm", "normalize"]

_MOVE = 0.1
_EPSILON = 1e-5

Normed = tuple[jax.Array, jax.Array, jax.Array]  # values, mean, variance


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
        """Return the normalized inputs, in their shape and dtype."""
        values, scale, bias = inputs.astype(jnp.float32), self.scale[...], self.bias[...]
        if self.use_running_average:
            factor = scale * lax.rsqrt(self.var[...] + _EPSILON)
            normed = (values - _along(self.mean[...], values)) * _along(factor, values) + _along(bias, values)
        else:
            normed, mean, var = normalize(values, scale, bias)
            self._move(mean, var, values.size // values.shape[-1])
        return normed.astype(inputs.dtype)

    def _move(self, mean: jax.Array, var: jax.Array, count: int) -> None:
        if count == 1:
            raise ValueError("batch normalization needs more than one value of each channel to train; take more rows")
        self.mean[...] = (1 - _MOVE) * self.mean[...] + _MOVE * mean
        self.var[...] = (1 - _MOVE) * self.var[...] + _MOVE * (var * (count / (count - 1)))


@jax.custom_jvp
def normalize(values: jax.Array, scale: jax.Array, bias: jax.Array) -> Normed:
    """Return the values normalized by their mean and variance, and these two, which count as constants in derivatives.

    The derivative is written out, as its transpose: XLA is slow on a CPU at the sums that it would make of it.
    """
    mean = _mean(values)
    centered = values - _along(mean, values)
    var = _mean(jnp.square(centered))
    factor = scale * lax.rsqrt(var + _EPSILON)
    return centered * _along(factor, values) + _along(bias, values), mean, var


@normalize.defjvp
def _differential(arguments: tuple[jax.Array, ...], changes: tuple[jax.Array, ...]) -> tuple[Normed, Normed]:
    (values, scale, _), outputs = arguments, normalize(*arguments)
    normed, mean, var = outputs
    inverse = lax.rsqrt(var + _EPSILON)
    standard = (values - _along(mean, values)) * _along(inverse, values)

    def gradient(slopes: jax.Array) -> tuple[jax.Array, ...]:
        of_bias, of_scale = _mean(slopes), _mean(slopes * standard)
        rest = slopes - _along(of_bias, values) - standard * _along(of_scale, values)
        count = values.size // values.shape[-1]
        return _along(scale * inverse, values) * rest, count * of_scale, count * of_bias

    (change,) = jax.linear_transpose(gradient, normed)(changes)
    return outputs, (change, jnp.zeros_like(mean), jnp.zeros_like(var))


def _mean(values: jax.Array) -> jax.Array:
    """Return the mean of each channel. Eighths of a batch are added first, since XLA sums slowly on a CPU."""
    first, *others = jnp.split(values, math.gcd(len(values), 8))
    return sum(others, first).sum(range(values.ndim - 1)) / (values.size // values.shape[-1])


def _along(channels: jax.Array, values: jax.Array) -> jax.Array:
    """Return the numbers of the channels in a shape that is broadcast with the values."""
    return channels.reshape((1,) * (values.ndim - 1) + (-1,))
