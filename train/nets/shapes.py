"""The sizes and options of a net as plain values, from which it is named, stored and built."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from flax import nnx
from jax.typing import DTypeLike

from mixjax.typing import Real

from .initializers import Init
from .mlp import MLP, Norm
from .resnet import PreActResNet18, channels_of

__all__ = ["MLPShape", "NetShape", "ResNetShape", "check_net"]

_MOST_PARAMETERS = 2**31
_MOST_LAYERS = 1000

ImageShape = tuple[int, int, int]


@dataclass(frozen=True)
class MLPShape:
    """The shape of an `MLP`. Nets of one shape are trained in one program, many steps at a time."""

    width: int
    depth: int
    norm: Norm = "none"
    init: Init = "he"
    vectorized: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The name in files and tables."""
        return f"mlp-{self.width}x{self.depth}"

    def build(
        self, image_shape: ImageShape, num_classes: int, dtype: DTypeLike = jnp.float32, *, rngs: nnx.Rngs
    ) -> MLP:
        """Return the net, for images [H, W, C]."""
        height, width, channels = image_shape
        return MLP(
            height * width * channels, num_classes, self.width, self.depth, self.norm, self.init, dtype=dtype, rngs=rngs
        )

    def parameter_count(self, image_shape: ImageShape, num_classes: int) -> int:
        """Return how many parameters the net has for images [H, W, C], without building it."""
        features = math.prod(image_shape) + 1 + (self.depth - 1) * (self.width + 1)
        normed = 2 * self.depth if self.norm == "batch" else 0
        return self.width * (features + normed) + (self.width + 1) * num_classes


@dataclass(frozen=True)
class ResNetShape:
    """The shape of a `PreActResNet18`. Nets are trained one at a time: grouped convolutions are slow."""

    width_multiplier: Real = 1.0
    final_norm: bool = False
    init: Init = "torch"
    vectorized: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The name in files and tables."""
        return f"preact-resnet18-x{self.width_multiplier:g}"

    def build(
        self, image_shape: ImageShape, num_classes: int, dtype: DTypeLike = jnp.float32, *, rngs: nnx.Rngs
    ) -> PreActResNet18:
        """Return the net, for images [H, W, C]."""
        return PreActResNet18(
            num_classes, image_shape[-1], self.width_multiplier, self.final_norm, self.init, dtype=dtype, rngs=rngs
        )

    def parameter_count(self, image_shape: ImageShape, num_classes: int) -> int:
        """Return how many parameters the net has for images [H, W, C], without building it."""
        sizes = channels_of(self.width_multiplier)
        count = 9 * image_shape[-1] * sizes[0] + 2 * sizes[-1] * self.final_norm + (sizes[-1] + 1) * num_classes
        for stage, outputs in enumerate(sizes):
            inputs = sizes[max(stage - 1, 0)]
            shortcut = inputs * outputs if stage else 0
            count += 9 * inputs * outputs + 27 * outputs**2 + shortcut + 2 * inputs + 6 * outputs
        return count


NetShape = MLPShape | ResNetShape


def check_net(net: NetShape, image_shape: ImageShape, num_classes: int, batch_size: int) -> None:
    """Refuse a net that cannot be built and trained in batches of this size.

    Raises:
      ValueError: for more layers or parameters than can be, and for a batch that has no variance to normalize by.
    """
    if isinstance(net, MLPShape) and net.depth > _MOST_LAYERS:
        raise ValueError(f"depth must be at most {_MOST_LAYERS}, because each layer is compiled, got {net.depth}")
    count = net.parameter_count(image_shape, num_classes)
    if count > _MOST_PARAMETERS:
        raise ValueError(f"{net.name} has {count:,} parameters, which is more than 2^31; choose a smaller net")
    if batch_size == 1:
        batch = jax.ShapeDtypeStruct((1, *image_shape), jnp.float32)
        nnx.eval_shape(lambda images: net.build(image_shape, num_classes, rngs=nnx.Rngs(0))(images), batch)
