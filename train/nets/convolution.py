"""Convolutions of images, and on a CPU the ways round what XLA does slowly there.

* The gradient in a kernel is a sum over all pixels of a batch. XLA turns the images slowly, and sums in one product
  that no cache holds; here they are turned as one matrix, and a few rows of pixels are summed at a time.
* A kernel of 1 x 1 is a product of matrices.
* 3 x 3 with stride 1 and many channels goes by tiles (`mixjax.train.nets.winograd`).

Elsewhere, and in other dtypes than float32 and float64, all is `jax.lax.conv_general_dilated`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

from .winograd import convolve_by_tiles

__all__ = ["convolve"]

_DIMENSIONS = ("NHWC", "HWIO", "NHWC")
_MOST_TERMS = 4096  # of a sum in the gradient of a kernel, so that its factors stay in the cache of a core
_FEWEST_CHANNELS = 8  # for which turning the images pays
_MANY_CHANNELS = 512  # for which the sums of Winograd's tiles cost less than they save


def convolve(
    images: Float[Array, "N H W C"], kernel: Float[Array, "k k C K"], strides: Any, padding: Any, **options: Any
) -> Float[Array, "N h w K"]:
    """Return the convolution that `flax.nnx.Conv` asks for: equal strides, an odd k, (k - 1) / 2 zeros on each side.

    Equal to `jax.lax.conv_general_dilated` up to rounding, in value and derivatives.

    Args:
      images, kernel: of one dtype.
      strides, padding, options: as `flax.nnx.Conv` gives them to `jax.lax.conv_general_dilated`.
    """
    if jax.default_backend() != "cpu" or images.dtype not in (jnp.float32, jnp.float64):
        return lax.conv_general_dilated(images, kernel, strides, padding, **options)
    size, stride = len(kernel), strides[0]
    inputs, outputs = kernel.shape[2:]
    if size == 1:
        return images[:, ::stride, ::stride] @ kernel[0, 0]
    if size == 3 and stride == 1 and min(inputs, outputs) >= _MANY_CHANNELS:
        return convolve_by_tiles(images, kernel)
    number, height, width, _ = images.shape
    terms = number * -(-height // stride) * -(-width // stride)
    if terms > _MOST_TERMS and inputs >= _FEWEST_CHANNELS:
        return _convolve_with_strips(images, kernel, stride)
    return _convolve(images, kernel, stride)


def _convolve(images: jax.Array, kernel: jax.Array, stride: int) -> jax.Array:
    sides = (len(kernel) // 2,) * 2
    return lax.conv_general_dilated(images, kernel, (stride, stride), (sides, sides), dimension_numbers=_DIMENSIONS)


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def _convolve_with_strips(images: jax.Array, kernel: jax.Array, stride: int) -> jax.Array:
    """Return the convolution by XLA; its derivative in the kernel is the transpose of `_kernel_gradient`."""
    return _convolve(images, kernel, stride)


@partial(_convolve_with_strips.defjvp, symbolic_zeros=True)
def _differential(stride: int, values: tuple[jax.Array, ...], changes: tuple[Any, ...]) -> tuple[jax.Array, jax.Array]:
    (images, kernel), (of_images, of_kernel) = values, changes
    outputs = _convolve(images, kernel, stride)
    change = jnp.zeros_like(outputs)
    if not isinstance(of_images, SymbolicZero):
        change += _convolve(of_images, kernel, stride)
    if not isinstance(of_kernel, SymbolicZero):
        gradient = partial(_kernel_gradient, images, len(kernel), stride)
        change += jax.linear_transpose(gradient, outputs)(of_kernel)[0]
    return outputs, change


def _kernel_gradient(images: jax.Array, size: int, stride: int, slopes: jax.Array) -> jax.Array:
    """Return the gradient in the kernel, given the slopes [N, h, w, K] in the outputs.

    It is a convolution too: channels are its images, and the images of the batch its channels.
    """
    (number, height, width, channels), (rows, columns) = images.shape, slopes.shape[1:3]
    turned = lax.optimization_barrier(images.reshape(number, -1).T).reshape(height, width, channels, number)
    sides = (size // 2,) * 2
    padded = lax.optimization_barrier(jnp.pad(turned, (sides, sides, (0, 0), (0, 0))).transpose(2, 0, 1, 3))
    weights = lax.optimization_barrier(slopes.transpose(1, 2, 0, 3))

    def of_strip(first: int, last: int) -> jax.Array:
        seen = padded[:, stride * first : stride * last + size, : stride * (columns - 1) + size]
        strip, apart = weights[first : last + 1], (stride, stride)
        return lax.conv_general_dilated(seen, strip, (1, 1), "VALID", rhs_dilation=apart, dimension_numbers=_DIMENSIONS)

    many = max(1, _MOST_TERMS // (columns * number))
    first, *others = (of_strip(first, min(first + many, rows) - 1) for first in range(0, rows, many))
    return sum(others, first).transpose(1, 2, 0, 3)
