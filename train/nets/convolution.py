"""Convolutions of images, and on a CPU the ways round what XLA does slowly there.

* The gradient in a kernel sums over all pixels of a batch, which no cache holds. Here a few images come at a time.
* A kernel of 1 x 1 is a product of matrices.
* 3 x 3 with stride 1 and many channels goes by tiles (`mixjax.train.nets.winograd`).

Elsewhere, in other dtypes than float32 and float64, and without images all is `jax.lax.conv_general_dilated`.
"""

from __future__ import annotations

import math
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
_CACHED_VALUES = 2**18  # of a part of a batch, inputs and outputs together: 1 MiB of float32, half of a core's cache
_MOST_PARTS = 32  # of a batch, each of which is compiled
_MANY_CHANNELS = 256  # for which the sums of Winograd's tiles cost less than they save


def convolve(
    images: Float[Array, "N H W C"], kernel: Float[Array, "k k C K"], strides: Any, padding: Any, **options: Any
) -> Float[Array, "N h w K"]:
    """Return the convolution that `flax.nnx.Conv` asks for: equal strides, an odd k, (k - 1) / 2 zeros on each side.

    Equal to `jax.lax.conv_general_dilated` up to rounding, in value and derivatives, where all numbers are finite.

    Args:
      images, kernel: of one dtype.
      strides, padding, options: as `flax.nnx.Conv` gives them to `jax.lax.conv_general_dilated`.
    """
    if jax.default_backend() != "cpu" or images.dtype not in (jnp.float32, jnp.float64) or not images.size:
        return lax.conv_general_dilated(images, kernel, strides, padding, **options)
    size, stride = len(kernel), strides[0]
    inputs, outputs = kernel.shape[2:]
    if size == 1:
        return images[:, ::stride, ::stride] @ kernel[0, 0]
    if size == 3 and stride == 1 and min(inputs, outputs) >= _MANY_CHANNELS:
        return convolve_by_tiles(images, kernel)
    return _convolve_in_parts(images, kernel, stride)


def _convolve(images: jax.Array, kernel: jax.Array, stride: int) -> jax.Array:
    sides = (len(kernel) // 2,) * 2
    return lax.conv_general_dilated(images, kernel, (stride, stride), (sides, sides), dimension_numbers=_DIMENSIONS)


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def _convolve_in_parts(images: jax.Array, kernel: jax.Array, stride: int) -> jax.Array:
    """Return the convolution by XLA; its derivative in the kernel is the transpose of `_kernel_gradient`."""
    return _convolve(images, kernel, stride)


@partial(_convolve_in_parts.defjvp, symbolic_zeros=True)
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

    It is a convolution too: channels are its images, and the images of a part of the batch its channels.
    """
    before, part = size // 2, _images_of_a_part(images.shape, slopes.shape)
    ends = [stride * (to - 1) + size - before - of for of, to in zip(images.shape[1:3], slopes.shape[1:3], strict=True)]

    def of_part(first: int) -> jax.Array:
        turned = lax.optimization_barrier(images[first : first + part].transpose(3, 1, 2, 0))
        weights = lax.optimization_barrier(slopes[first : first + part].transpose(1, 2, 0, 3))
        sides, apart = [(before, end) for end in ends], (stride, stride)
        return lax.conv_general_dilated(
            turned, weights, (1, 1), sides, rhs_dilation=apart, dimension_numbers=_DIMENSIONS
        )

    first, *others = map(of_part, range(0, len(images), part))
    return sum(others, first).transpose(1, 2, 0, 3)


def _images_of_a_part(images: tuple[int, ...], slopes: tuple[int, ...]) -> int:
    """Return how many images are summed at a time: a power of two, for which XLA is faster."""
    cached = _CACHED_VALUES // (math.prod(images[1:]) + math.prod(slopes[1:]))
    fewest = -(-images[0] // _MOST_PARTS)
    return 1 << (max(1, cached, 2 * fewest - 1).bit_length() - 1)
