"""Convolutions of 3 x 3 with 16 multiplications for four pixels in place of 36.

A. Lavin, S. Gray, "Fast algorithms for convolutional neural networks" (CVPR 2016), F(2 x 2, 3 x 3): a tile d of 4 x 4
pixels and a kernel g give the 2 x 2 outputs

    A^T [(G g G^T) * (B^T d B)] A,

where * multiplies place by place and sums over channels: 16 products of matrices, [tiles, C] by [C, K]. The rest is
sums, which cost less than they save where C and K are large. Rounding is like that of a direct sum: no coefficient is
other than 0, 1/2 or 1. Gradients are those of these operations, and have as few multiplications.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

__all__ = ["convolve_by_tiles"]

_B = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))  # B^T
_G = ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1))
_A = ((1, 1, 1, 0), (0, 1, -1, -1))  # A^T

Grid = Sequence[Sequence[jax.Array]] | jax.Array  # an array for each place


def convolve_by_tiles(images: Float[Array, "N H W C"], kernel: Float[Array, "3 3 C K"]) -> Float[Array, "N H W K"]:
    """Return the convolution of stride 1, with one zero around the images.

    The barriers keep XLA from computing a sum anew inside each product that takes it.
    """
    number, height, width, channels = images.shape
    down, across = (height + 1) // 2, (width + 1) // 2
    padded = jnp.pad(images, ((0, 0), (1, 1 + height % 2), (1, 1 + width % 2), (0, 0)))
    halves = padded.reshape(number, down + 1, 2, across + 1, 2, channels)

    def place(i: int, j: int) -> jax.Array:
        rows, columns = slice(i // 2, i // 2 + down), slice(j // 2, j // 2 + across)
        return halves[:, rows, i % 2, columns, j % 2].reshape(-1, channels)

    tiles = lax.optimization_barrier(_transform(_B, [[place(i, j) for j in range(4)] for i in range(4)]))
    weights = lax.optimization_barrier(_transform(_G, kernel))
    products = lax.optimization_barrier(
        [[tile @ weight for tile, weight in zip(*pair, strict=True)] for pair in zip(tiles, weights, strict=True)]
    )
    pixels = jnp.array(_transform(_A, products)).reshape(2, 2, number, down, across, -1)
    outputs = pixels.transpose(2, 3, 0, 4, 1, 5).reshape(number, 2 * down, 2 * across, -1)
    return outputs[:, :height, :width]


def _transform(matrix: Sequence[Sequence[float]], grid: Grid) -> list[list[jax.Array]]:
    """Return the matrix times the grid times the matrix transposed."""
    rows = [[_combine(weights, column) for column in zip(*grid, strict=True)] for weights in matrix]
    return [[_combine(weights, row) for weights in matrix] for row in rows]


def _combine(weights: Sequence[float], parts: Sequence[jax.Array]) -> jax.Array:
    first, *others = (part if w == 1 else w * part for w, part in zip(weights, parts, strict=True) if w)
    return sum(others, first)
