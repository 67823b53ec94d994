"""Fully connected ReLU nets: the paper's sweeps over width and depth (Figures 1 and 4)."""

from __future__ import annotations

from typing import Literal, get_args

import jax
import jax.numpy as jnp
from flax import nnx
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from .batch_norm import BatchNorm
from .hidden_mixing import MixHidden, unmixed
from .initializers import Init, start

__all__ = ["MLP"]

Norm = Literal["none", "batch"]


class MLP(nnx.Module):
    """`depth` hidden layers of `width` ReLU units, and a linear layer to the logits.

    Args:
      in_features: of a row, flattened.
      num_classes: K.
      width, depth: of hidden layers, at least 1; depth does not count the layers of inputs and of logits, so that the
        paper's "from 3 to 26 layers including input/output layers" is 1 to 24.
      norm: "batch" puts a batch normalisation before each ReLU.
      init: "he", "lecun" or "torch" (`train.nets.initializers`).
      dtype: of the products of the hidden layers; parameters and the layer of the logits are float32 always.
      rngs: `nnx.Rngs(seed)`.

    Raises:
      ValueError: for sizes below 1 and unknown names.
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        width: int,
        depth: int,
        norm: Norm = "none",
        init: Init = "he",
        *,
        dtype: DTypeLike = jnp.float32,
        rngs: nnx.Rngs,
    ):
        sizes = {"in_features": in_features, "num_classes": num_classes, "width": width, "depth": depth}
        for name, size in sizes.items():
            if size < 1:
                raise ValueError(f"{name} must be at least 1, got {size}")
        if norm not in get_args(Norm):
            raise ValueError(f"norm must be one of {get_args(Norm)}, got {norm!r}")

        def linear(features: int, outputs: int, rectified: bool, dtype: DTypeLike) -> nnx.Linear:
            kernel, bias = start(init, features, rectified=rectified)
            return nnx.Linear(features, outputs, kernel_init=kernel, bias_init=bias, dtype=dtype, rngs=rngs)

        inputs = [in_features] + [width] * (depth - 1)
        self.hidden = nnx.List([linear(features, width, True, dtype) for features in inputs])
        self.norms = nnx.List([BatchNorm(width) for _ in inputs] if norm == "batch" else [])
        self.head = linear(width, num_classes, False, jnp.float32)  # eight bits of a logit are too few for its softmax

    @property
    def mixing_places(self) -> int:
        """Where manifold Mixup may mix: the inputs of each layer."""
        return len(self.hidden) + 1

    def __call__(self, inputs: Float[Array, "N ..."], mix: MixHidden = unmixed) -> Float[Array, "N K"]:
        """Logits, float32; `mix` is given the inputs of each layer and its place, from 0."""
        rows = inputs.reshape(len(inputs), -1)
        for place, layer in enumerate(self.hidden):
            rows = layer(mix(rows, place))
            rows = jax.nn.relu(self.norms[place](rows) if self.norms else rows)
        return self.head(mix(rows, len(self.hidden)).astype(jnp.float32))
