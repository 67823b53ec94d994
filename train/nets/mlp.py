"""Fully connected ReLU nets: the paper's sweeps over width and depth."""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp
from flax import nnx
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from mixjax.numerics.options import check_option, check_size

from .batch_norm import BatchNorm
from .hidden_mixing import MixHidden, unmixed
from .initializers import Init, layer_initializers

__all__ = ["MLP"]

Norm = Literal["none", "batch"]


class MLP(nnx.Module):
    """A fully connected net: `depth` hidden layers of `width` ReLU units, and a linear layer to the logits.

    Args:
      in_features: numbers of a row, flattened.
      num_classes: K.
      width: units of a hidden layer, at least 1.
      depth: number of hidden layers, at least 1. The paper counts inputs and outputs as well: its 3 to 26 layers are
        1 to 24.
      norm: "batch" puts a batch normalization before each ReLU.
      init: "he", "lecun" or "torch" (`mixjax.train.nets.initializers`).
      dtype: of the products of the hidden layers; parameters and logits are always float32.
      rngs: `nnx.Rngs(seed)`.

    Returns:
      A net; calling it with rows [N, ...] gives float32 logits [N, K].

    Raises:
      ValueError: for sizes below 1 and unknown names.

    Reference: Section 3.2 of the paper (additional supporting experiments) and its appendix.

    Example:
      >>> from flax import nnx
      >>> from mixjax.train.nets import MLP
      >>> net = MLP(in_features=4, num_classes=3, width=8, depth=2, rngs=nnx.Rngs(0))
      >>> [layer.kernel.shape for layer in (*net.hidden, net.head)]
      [(4, 8), (8, 8), (8, 3)]
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
            check_size(name, size)
        check_option("norm", norm, Norm)

        def linear(features: int, outputs: int, rectified: bool, dtype: DTypeLike) -> nnx.Linear:
            kernel, bias = layer_initializers(init, features, rectified=rectified)
            return nnx.Linear(features, outputs, kernel_init=kernel, bias_init=bias, dtype=dtype, rngs=rngs)

        inputs = [in_features] + [width] * (depth - 1)
        self.hidden = nnx.List([linear(features, width, True, dtype) for features in inputs])
        self.norms = nnx.List([BatchNorm(width) for _ in inputs] if norm == "batch" else [])
        self.head = linear(width, num_classes, False, jnp.float32)  # eight bits of a logit are too few for its softmax

    @property
    def mixing_layers(self) -> int:
        """The number of layers whose inputs manifold Mixup may mix: all."""
        return len(self.hidden) + 1

    def __call__(self, inputs: Float[Array, "N ..."], mix: MixHidden = unmixed) -> Float[Array, "N K"]:
        """Return float32 logits; `mix` is called with the inputs of each layer and its number, from 0."""
        rows = inputs.reshape(len(inputs), -1)
        for number, layer in enumerate(self.hidden):
            rows = layer(mix(rows, number))
            rows = jax.nn.relu(self.norms[number](rows) if self.norms else rows)
        return self.head(mix(rows, len(self.hidden)).astype(jnp.float32))
