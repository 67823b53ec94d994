"""Leaky-ReLU networks as generators and as inverses: one layer is a linear map.

Paper: Definition 3.2, x = g(z) with g from R^p to R^d, d >= p; Section 3.4 wants an h with h(g(z)) = z. A network

    g(z) = A_L s(... s(A_1 z + b_1) ...) + b_L,    s(u) = u for u > 0 and slope u otherwise,

is injective if every A has full column rank and slope > 0, and then the network of the pseudo-inverses in reverse
order, with slope 1/slope, is a left inverse: the inverse of a network is a network.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from mixjax.numerics.arguments import POSITIVE, as_floats, check_scalars, checked, known
from mixjax.typing import ArrayLike


class LeakyReluNetwork(NamedTuple):
    """A network; call it on rows [..., in]. A pytree, unchecked: `leaky_relu_generator` checks that it is injective.

    Attributes:
      matrices, biases: A and b of each layer, shapes [out, in] and [out].
      slope: of the activation below 0.

    Example:
      >>> import jax.numpy as jnp
      >>> from mixjax.generative import LeakyReluNetwork
      >>> LeakyReluNetwork((jnp.ones((2, 1)),), (jnp.zeros(2),), jnp.ones(()))(jnp.ones((1, 1))).tolist()
      [[1.0, 1.0]]
    """

    matrices: tuple[Float[Array, "out in"], ...]
    biases: tuple[Float[Array, " out"], ...]
    slope: Float[Array, ""]

    def __call__(self, inputs: ArrayLike) -> Float[Array, "*batch out"]:
        """Map each row."""
        return _affine(self._hidden(inputs), self.matrices[-1], self.biases[-1])

    def scores(self, inputs: ArrayLike, classifiers: ArrayLike) -> Float[Array, "*batch classifiers"]:
        """Return <classifier, output>; few classifiers meet the last matrix before the rows do."""
        matrix, bias = self.matrices[-1], self.biases[-1]
        classifiers = jnp.asarray(classifiers)
        if len(classifiers) * matrix.shape[1] >= matrix.size + classifiers.size:
            return _affine(self._hidden(inputs), matrix, bias) @ classifiers.T
        return _affine(self._hidden(inputs), classifiers @ matrix, classifiers @ bias)

    def inverse(self) -> LeakyReluNetwork:
        """Return the network h with h(g(z)) = z if g is injective; off its range, layer by layer the nearest point.

        Accuracy: rounding times the product of the matrices' condition numbers (tests/generative/test_network.py).
        """
        matrices = tuple(jnp.linalg.pinv(matrix) for matrix in reversed(self.matrices))
        biases = tuple(-matrix @ bias for matrix, bias in zip(matrices, reversed(self.biases), strict=True))
        return LeakyReluNetwork(matrices, biases, 1.0 / self.slope)

    def lipschitz_bound(self) -> Float[Array, ""]:
        """Bound the Lipschitz constant, exactly for one layer: spectral norms times max(1, slope) between."""
        norms = jnp.stack([jnp.linalg.norm(matrix, 2) for matrix in self.matrices])
        return jnp.prod(norms) * jnp.maximum(1.0, self.slope) ** (len(self.matrices) - 1)

    def _hidden(self, inputs: ArrayLike) -> jax.Array:
        """Return the input of the last layer."""
        rows = jnp.asarray(inputs)
        for matrix, bias in zip(self.matrices[:-1], self.biases[:-1], strict=True):
            rows = _affine(rows, matrix, bias)
            rows = jnp.where(rows > 0, rows, self.slope * rows)
        return rows


def _affine(rows: jax.Array, matrix: jax.Array, bias: jax.Array) -> jax.Array:
    return rows @ matrix.T + bias.reshape((1,) * (rows.ndim - 1) + (-1,))


def linear_generator(matrix: ArrayLike, bias: ArrayLike | None = None) -> LeakyReluNetwork:
    """Check and build g(z) = A z + b.

    Args:
      matrix: A, shape [d, p], of full column rank.
      bias: b, shape [d]; 0 by default.

    Raises:
      ValueError: as `leaky_relu_generator`.

    Example:
      >>> import jax.numpy as jnp
      >>> from mixjax.generative import linear_generator
      >>> linear_generator([[2.0], [0.0]])(jnp.ones((1, 1))).tolist()
      [[2.0, 0.0]]
    """
    return leaky_relu_generator([matrix], None if bias is None else [bias])


def leaky_relu_generator(
    matrices: Sequence[ArrayLike], biases: Sequence[ArrayLike] | None = None, *, slope: ArrayLike = 1.0
) -> LeakyReluNetwork:
    """Check and build an injective network, from p to d dimensions.

    Args:
      matrices: of shapes [d_1, p], [d_2, d_1], ..., [d, d_{L-1}], each of full column rank.
      biases: of shapes [d_1], ..., [d]; 0 by default.
      slope: of the activation below 0, > 0.

    Returns:
      The network; NaN under `jit` for a rank or slope with which an eager call raises.

    Raises:
      ValueError: for shapes that do not follow each other, a map to fewer dimensions, a matrix whose smallest singular
        value is 0 up to rounding, or a slope that is not positive: the map would not be injective.

    Example:
      >>> import jax.numpy as jnp
      >>> from mixjax.generative import leaky_relu_generator
      >>> leaky_relu_generator([[[1.0]], [[1.0]]], slope=0.5)(-4 * jnp.ones((1, 1))).tolist()
      [[-2.0]]
    """
    given = [] if biases is None else list(biases)
    arrays = as_floats(**{f"matrices[{i}]": m for i, m in enumerate(matrices)},
                       **{f"biases[{i}]": b for i, b in enumerate(given)}, slope=slope)  # fmt: skip
    layers = arrays[: len(matrices)]
    check_chain([matrix.shape for matrix in layers])
    shifts = arrays[len(matrices) : -1] if given else tuple(jnp.zeros(a.shape[0], a.dtype) for a in layers)
    if [shift.shape for shift in shifts] != [matrix.shape[:1] for matrix in layers]:
        raise ValueError(f"biases must have one entry a row of their matrix, got {[shift.shape for shift in shifts]}")
    (slope,) = checked({"slope": POSITIVE}, slope=arrays[-1])
    check_scalars(slope=slope)
    return LeakyReluNetwork(tuple(_full_rank(i, matrix) for i, matrix in enumerate(layers)), shifts, slope)


def check_chain(shapes: Sequence[tuple[int, ...]]) -> None:
    """Raise ValueError unless the shapes of matrices are those of a map to as many dimensions or more."""
    if not shapes or any(len(shape) != 2 or 0 in shape for shape in shapes):
        raise ValueError(f"matrices must be one or more arrays of shape [out, in], got {shapes}")
    if any(after[1] != before[0] for before, after in pairwise(shapes)):
        raise ValueError(f"matrices must follow each other, as [4, 3], [5, 4], got {shapes}")
    for out, width in shapes:
        if out < width:
            raise ValueError(f"a map from {width} to {out} dimensions is not injective: d must be at least p")


def _full_rank(index: int, matrix: jax.Array) -> jax.Array:
    """Return the matrix if its columns are linearly independent up to rounding."""
    singular = jnp.linalg.svd(matrix, compute_uv=False)
    least = singular[0] * (max(matrix.shape) * jnp.finfo(matrix.dtype).eps)
    values = known(singular)
    if values is None:
        return jnp.where(singular[-1] > least, matrix, jnp.nan)
    if not values[-1] > np.asarray(least):
        raise ValueError(
            f"matrices[{index}] must have full column rank for the map to be injective, got singular values "
            f"from {values[0]:.3g} down to {values[-1]:.3g}"
        )
    return matrix
