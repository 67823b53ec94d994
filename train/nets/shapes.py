"""Which net: its sizes and options as plain values, to be named, stored and built from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from flax import nnx
from jax.typing import DTypeLike

from train.nets.initializers import Init
from train.nets.mlp import MLP, Norm
from train.nets.resnet import PreActResNet18

__all__ = ["MLPShape", "NetShape", "ResNetShape", "check_shape", "parameter_count"]

_MOST_PARAMETERS = 2**31


@dataclass(frozen=True)
class MLPShape:
    """An `MLP`. Nets of one shape are trained side by side in one program, and steps follow each other in it."""

    width: int
    depth: int
    norm: Norm = "none"
    init: Init = "he"
    vectorised: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """For files and tables."""
        return f"mlp-{self.width}x{self.depth}"

    def build(
        self, image_shape: tuple[int, int, int], num_classes: int, dtype: DTypeLike = jnp.float32, *, rngs: nnx.Rngs
    ) -> MLP:
        """The net, for images [H, W, C]."""
        height, width, channels = image_shape
        return MLP(
            height * width * channels, num_classes, self.width, self.depth, self.norm, self.init, dtype=dtype, rngs=rngs
        )


@dataclass(frozen=True)
class ResNetShape:
    """A `PreActResNet18`. Nets are trained one at a time: side by side, convolutions become grouped ones, and slow."""

    width_multiplier: float = 1.0
    final_norm: bool = False
    init: Init = "torch"
    vectorised: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """For files and tables."""
        return f"preact-resnet18-x{self.width_multiplier:g}"

    def build(
        self, image_shape: tuple[int, int, int], num_classes: int, dtype: DTypeLike = jnp.float32, *, rngs: nnx.Rngs
    ) -> PreActResNet18:
        """The net, for images [H, W, C]."""
        return PreActResNet18(
            num_classes, image_shape[-1], self.width_multiplier, self.final_norm, self.init, dtype=dtype, rngs=rngs
        )


NetShape = MLPShape | ResNetShape


def parameter_count(net: NetShape, image_shape: tuple[int, int, int], num_classes: int) -> int:
    """Of the net, which is built without its numbers.

    Raises:
      ValueError: for sizes and options that the net refuses.
    """
    built = nnx.eval_shape(lambda: net.build(image_shape, num_classes, rngs=nnx.Rngs(0)))
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(nnx.state(built, nnx.Param)))


def check_shape(net: NetShape, image_shape: tuple[int, int, int], num_classes: int) -> None:
    """Whether the net can be built.

    Raises:
      ValueError: for sizes and options that the net refuses, and for more parameters than memory has room for.
    """
    count = parameter_count(net, image_shape, num_classes)
    if count > _MOST_PARAMETERS:
        raise ValueError(f"{net.name} has {count:,} parameters, which is more than 2^31; choose a smaller net")
