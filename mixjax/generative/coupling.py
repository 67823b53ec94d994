"""Affine-coupling flows: invertible maps of R^p in closed form, and not Lipschitz on all of it.

Paper: a generator of Definition 3.2 with d = p. A layer permutes the coordinates, splits them into (a, b), and returns
(a, b e^{r(a)} + t(a)), with w = tanh(K a), r = max_log_scale tanh(R w), t = T w. Its inverse is
(a, (b - t(a)) e^{-r(a)}).
Reference: L. Dinh, J. Sohl-Dickstein, S. Bengio, "Density estimation using Real NVP" (ICLR 2017).

The derivative of b e^{r(a)} in a grows with b: the proof of Theorem 3.5 assumes a Lipschitz g, which such a flow is on
every ball, but not everywhere unless r is constant.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from mixjax.numerics.arguments import NOT_NEGATIVE, check_scalars, checked, known
from mixjax.numerics.pytree import pytree
from mixjax.typing import ArrayLike


@pytree
@dataclass(frozen=True)
class CouplingFlow:
    """An invertible flow; call it on rows [..., p]. A pytree, unchecked: `coupling_generator` checks the order.

    Attributes:
      order: the permutation of each layer.
      features, scales, shifts: K, R and T of each layer; a has p // 2 coordinates, b the others.
      max_log_scale: the largest |r|.
      backwards: true for the inverse; static.

    Example:
      >>> import jax
      >>> from mixjax.generative import sample_coupling
      >>> flow = sample_coupling(jax.random.key(0), p=2, num_layers=1)
      >>> flow.inverse()(flow([[1.0, 2.0]])).round(3).tolist()
      [[1.0, 2.0]]
    """

    order: Int[Array, "layers p"]
    features: Float[Array, "layers width a"]
    scales: Float[Array, "layers b width"]
    shifts: Float[Array, "layers b width"]
    max_log_scale: Float[Array, ""]
    backwards: bool = field(default=False, metadata={"static": True})

    def __call__(self, rows: ArrayLike) -> Float[Array, "*batch p"]:
        """Map each row."""
        rows, layers = jnp.asarray(rows), range(len(self.order))
        for layer in reversed(layers) if self.backwards else layers:
            rows = self._backward(layer, rows) if self.backwards else self._forward(layer, rows)
        return rows

    def scores(self, rows: ArrayLike, classifiers: Float[Array, "classifiers p"]) -> Float[Array, "*batch classifiers"]:
        """Return <classifier, output>."""
        return self(rows) @ jnp.asarray(classifiers).T

    def inverse(self) -> CouplingFlow:
        """Return the inverse, exact up to rounding."""
        return replace(self, backwards=not self.backwards)

    def _coefficients(self, layer: int, a: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return r(a) and t(a)."""
        features = jnp.tanh(a @ self.features[layer].T)
        return self.max_log_scale * jnp.tanh(features @ self.scales[layer].T), features @ self.shifts[layer].T

    def _forward(self, layer: int, rows: jax.Array) -> jax.Array:
        a, b = _halves(rows[..., self.order[layer]])
        scale, shift = self._coefficients(layer, a)
        return jnp.concatenate([a, b * jnp.exp(scale) + shift], axis=-1)

    def _backward(self, layer: int, rows: jax.Array) -> jax.Array:
        a, b = _halves(rows)
        scale, shift = self._coefficients(layer, a)
        permuted = jnp.concatenate([a, (b - shift) * jnp.exp(-scale)], axis=-1)
        return permuted[..., jnp.argsort(self.order[layer])]


def _halves(rows: jax.Array) -> tuple[jax.Array, jax.Array]:
    half = rows.shape[-1] // 2
    return rows[..., :half], rows[..., half:]


def coupling_generator(
    order: ArrayLike, features: ArrayLike, scales: ArrayLike, shifts: ArrayLike, *, max_log_scale: ArrayLike = 1.0
) -> CouplingFlow:
    """Check and build an invertible flow.

    Args:
      order: permutations of 0..p-1, shape [layers, p], p >= 2.
      features, scales, shifts: K, R and T, shapes [layers, width, p // 2] and [layers, p - p // 2, width] twice.
      max_log_scale: the largest |r|, >= 0; 0 makes the flow Lipschitz.

    Returns:
      The flow. Under `jit`, the coordinates that a layer rescales are NaN where an eager call raises.

    Raises:
      ValueError: for shapes that do not fit, and an order that is no permutation: the map would not be injective.

    Example:
      >>> from mixjax.generative import coupling_generator
      >>> flow = coupling_generator([[1, 0]], [[[1.0]]], [[[0.0]]], [[[1.0]]])
      >>> flow([[3.0, 0.0]]).tolist()
      [[0.0, 3.0]]
    """
    rules = {"max_log_scale": NOT_NEGATIVE}
    features, scales, shifts, max_log_scale = checked(
        rules, features=features, scales=scales, shifts=shifts, max_log_scale=max_log_scale
    )
    check_scalars(max_log_scale=max_log_scale)
    order = jnp.asarray(order)
    if order.ndim != 2 or order.shape[0] < 1 or order.shape[1] < 2 or not jnp.issubdtype(order.dtype, jnp.integer):
        raise ValueError(f"order must be integers of shape [layers, p] with p >= 2, got {order.dtype}{order.shape}")
    layers, p = order.shape
    width = features.shape[1] if features.ndim == 3 else 0
    wanted = {"features": (layers, width, p // 2), "scales": (layers, p - p // 2, width)}
    wanted["shifts"] = wanted["scales"]
    for name, value in (("features", features), ("scales", scales), ("shifts", shifts)):
        if value.shape != wanted[name]:
            raise ValueError(f"{name} must have shape {wanted[name]}, got {value.shape}")
    return CouplingFlow(order, features, scales, shifts, jnp.where(_permutes(order), max_log_scale, jnp.nan))


def _permutes(order: jax.Array) -> jax.Array:
    """Return whether every row is a permutation; raise ValueError where it is known not to be."""
    right = jnp.all(jnp.sort(order, axis=-1) == jnp.arange(order.shape[1], dtype=order.dtype)[None])
    if (value := known(right)) is not None and not value:
        rows = np.asarray(order)
        wrong = next(row for row in rows if sorted(row) != list(range(len(row))))
        raise ValueError(f"order must be permutations of 0..{len(wrong) - 1} for the map to be injective, got {wrong}")
    return right
