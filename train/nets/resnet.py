"""The pre-activation ResNet-18 for small images: the paper's pseudo-label experiments.

K. He, X. Zhang, S. Ren, J. Sun, "Identity mappings in deep residual networks" (ECCV 2016), in the form that "the
standard pre-activation ResNet with 18 layers" has in public code for CIFAR: a 3x3 convolution of stride 1, four stages
of two blocks (64, 128, 256, 512 channels; strides 1, 2, 2, 2), the mean over pixels, a linear layer. A shortcut that
changes shape is a 1x1 convolution of what the block's first normalization gives; any other is the block's input. There
is no normalization before the first block, nor after the last one unless `final_norm` asks for it, as He et al. do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from mixjax.numerics.options import check_size
from mixjax.typing import Real

from .batch_norm import BatchNorm
from .convolution import convolve
from .hidden_mixing import MixHidden, unmixed
from .initializers import Init, layer_initializers

__all__ = ["PreActResNet18", "channels_of"]

_CHANNELS = (64, 128, 256, 512)


class PreActResNet18(nnx.Module):
    """The pre-activation ResNet-18; 11,171,146 parameters for ten classes and three channels.

    Args:
      num_classes: K.
      in_channels: C.
      width_multiplier: multiplies the channels of the four stages, rounded to at least 1 each; 1/8 trains on a laptop.
      final_norm: whether a normalization and a ReLU precede the mean over pixels.
      init: "torch", as in the reference code; or "he" or "lecun".
      dtype: of the convolutions; parameters, statistics and logits are always float32.
      rngs: `nnx.Rngs(seed)`.

    Returns:
      A net; calling it with images [N, H, W, C] gives float32 logits [N, K].

    Raises:
      ValueError: for sizes below 1, and a multiplier that is not finite and positive.

    Reference: Section 4 of the paper; He et al., "Identity mappings in deep residual networks" (ECCV 2016).

    Example:
      >>> from flax import nnx
      >>> from mixjax.train.nets import PreActResNet18
      >>> net = nnx.eval_shape(lambda: PreActResNet18(num_classes=10, in_channels=3, rngs=nnx.Rngs(0)))
      >>> net.stem.kernel.shape, net.head.kernel.shape
      ((3, 3, 3, 64), (512, 10))
    """

    def __init__(
        self,
        num_classes: int,
        in_channels: int,
        width_multiplier: Real = 1,
        final_norm: bool = False,
        init: Init = "torch",
        *,
        dtype: DTypeLike = jnp.float32,
        rngs: nnx.Rngs,
    ):
        for name, size in (("num_classes", num_classes), ("in_channels", in_channels)):
            check_size(name, size)
        if not 0 < width_multiplier < float("inf"):
            raise ValueError(f"width_multiplier must be finite and positive, got {width_multiplier}")
        channels = channels_of(width_multiplier)
        convolution = partial(_convolution, init, dtype, rngs)
        self.stem = convolution(in_channels, channels[0], 3, 1)
        self.stages: nnx.List[Any] = nnx.List([])
        for stage, outputs in enumerate(channels):
            inputs = channels[max(stage - 1, 0)]
            first = _Block(inputs, outputs, 1 if stage == 0 else 2, convolution)
            self.stages.append(nnx.List([first, _Block(outputs, outputs, 1, convolution)]))
        self.norm = BatchNorm(channels[-1]) if final_norm else None
        kernel, bias = layer_initializers(init, channels[-1], rectified=False)
        self.head = nnx.Linear(channels[-1], num_classes, kernel_init=kernel, bias_init=bias, rngs=rngs)

    @property
    def mixing_layers(self) -> int:
        """The number of layers whose inputs manifold Mixup may mix: stem and two stages, as its authors do."""
        return 3

    def __call__(self, images: Float[Array, "N H W C"], mix: MixHidden = unmixed) -> Float[Array, "N K"]:
        """Return float32 logits; `mix` is called with the images (layer 0) and the inputs of stage s (layer s + 1)."""
        values = self.stem(mix(images, 0))
        for number, stage in enumerate(self.stages):
            values = mix(values, number + 1)
            for block in stage:
                values = block(values)
        if self.norm is not None:
            values = jax.nn.relu(self.norm(values))
        return self.head(values.astype(jnp.float32).mean((1, 2)))


def channels_of(width_multiplier: Real) -> list[int]:
    """Return the number of channels of each stage."""
    return [max(1, round(width_multiplier * count)) for count in _CHANNELS]


def _convolution(
    init: Init, dtype: DTypeLike, rngs: nnx.Rngs, inputs: int, outputs: int, size: int, stride: int
) -> nnx.Conv:
    """Return a convolution without bias, with the zeros of stride 1 on each side: "SAME" would put fewer before."""
    side = (size - 1) // 2
    kernel, _ = layer_initializers(init, inputs * size * size)
    return nnx.Conv(
        inputs, outputs, (size, size), (stride, stride), padding=((side, side),) * 2, use_bias=False,
        kernel_init=kernel, dtype=dtype, conv_general_dilated=convolve, rngs=rngs,
    )  # fmt: skip


class _Block(nnx.Module):
    def __init__(self, inputs: int, outputs: int, stride: int, convolution: Callable[..., nnx.Conv]):
        self.first_norm = BatchNorm(inputs)
        self.first = convolution(inputs, outputs, 3, stride)
        self.second_norm = BatchNorm(outputs)
        self.second = convolution(outputs, outputs, 3, 1)
        changes = stride != 1 or inputs != outputs
        self.shortcut = convolution(inputs, outputs, 1, stride) if changes else None

    def __call__(self, values: jax.Array) -> jax.Array:
        active = jax.nn.relu(self.first_norm(values))
        shortcut = values if self.shortcut is None else self.shortcut(active)
        return shortcut + self.second(jax.nn.relu(self.second_norm(self.first(active))))
