r"""Initial weights and biases, by name.

| name | weights of a layer of fan-in m | biases |
|---|---|---|
| `he` | normal of variance 2/m, or 1/m in a layer that no ReLU follows | 0 |
| `lecun` | normal of variance 1/m, the variance of Flax's default | 0 |
| `torch` | uniform on :math:`\pm 1/\sqrt m`, of variance 1/(3m): PyTorch's default | uniform on :math:`\pm 1/\sqrt m` |

The scale of a signal changes by a factor of 1, 0.71 and 0.41 a ReLU layer: with `torch`, plain nets of twelve and more
hidden layers stay at chance for hundreds of epochs, and a net at chance looks perfectly calibrated.

Numbers are drawn in blocks of one size, so that one compiled function starts nets of all sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax.nnx import initializers

from mixjax.numerics.options import check_option

__all__ = ["Init", "LayerInitializers", "layer_initializers"]

Init = Literal["he", "lecun", "torch"]
_BLOCK = 1 << 15


class LayerInitializers(NamedTuple):
    """The initializers of a layer."""

    kernel: Any
    bias: Any


def layer_initializers(init: Init, fan_in: int, *, rectified: bool = True) -> LayerInitializers:
    """Return the initializers of a layer.

    Args:
      init: a name in the table above.
      fan_in: inputs of a unit.
      rectified: whether a ReLU follows.

    Raises:
      ValueError: for an unknown name.
    """
    check_option("init", init, Init)
    if init == "torch":
        return LayerInitializers(_scaled(_uniform_block, fan_in**-0.5), _scaled(_uniform_block, fan_in**-0.5))
    variance = (2 if init == "he" and rectified else 1) / fan_in
    return LayerInitializers(_scaled(_normal_block, variance**0.5), initializers.zeros_init())


def _scaled(draw: Callable[..., jax.Array], scale: float) -> Any:
    """Return an initializer as Flax calls it."""

    def initial(key: jax.Array, shape: tuple[int, ...], dtype: Any = jnp.float32, *_: Any) -> jax.Array:
        size = math.prod(shape)
        count = -(-size // _BLOCK)
        if isinstance(key, jax.core.Tracer):  # a net of any size is soon traced
            blocks = jax.vmap(draw, (None, 0))(key, jnp.arange(count, dtype=np.uint32)).ravel()
        else:
            blocks = jnp.concatenate([draw(key, np.uint32(block)) for block in range(count)])
        return (scale * blocks[:size].reshape(shape)).astype(dtype)

    return initial


@jax.jit
def _normal_block(key: jax.Array, block: jax.Array) -> jax.Array:
    return jax.random.normal(jax.random.fold_in(key, block), (_BLOCK,), jnp.float32)


@jax.jit
def _uniform_block(key: jax.Array, block: jax.Array) -> jax.Array:
    return jax.random.uniform(jax.random.fold_in(key, block), (_BLOCK,), jnp.float32, -1.0, 1.0)
