"""A data set on the device, and its batches: order is a function of (seed, epoch), a batch of (order, step).

The whole set lies on the device as uint8, as it was stored (CIFAR-10: 154 MB; a fourth of what float32 would take), and
is normalized after a batch is taken. There is no iterator, hence no state to save. All functions are pure, run under
`jit`, inside `lax.scan` and under `vmap` over seeds, and their shapes depend on sizes only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Float32, Int32, UInt8

from mixjax.numerics.options import check_size
from mixjax.numerics.threefry import Source

from .streams import Stream, stream_key

Pixels = (
    UInt8[Array, "*batch H W C"] | Float32[Array, "*batch H W C"]
)  # as stored, or shifted (`mixjax.train.data.shifts`)


class Scale(NamedTuple):
    """Mean and standard deviation of the pixels of each channel, in units of a stored pixel."""

    mean: Float32[Array, " C"]
    sd: Float32[Array, " C"]


def channel_scale(inputs: UInt8[np.ndarray, "N H W C"]) -> Scale:
    """Return the mean and sd of each channel over all pixels of the training set.

    Exact up to one rounding to float32: whole numbers are counted and summed. A channel that is constant has sd 1, so
    that it is 0 when normalized.
    """
    values = range(256)
    moments = []
    for channel in np.moveaxis(inputs, -1, 0):
        counts = np.bincount(channel.ravel(), minlength=256).tolist()
        size, total, squares = (sum(c * v**power for c, v in zip(counts, values, strict=True)) for power in (0, 1, 2))
        spread = size * squares - total * total
        moments.append((total / size, (spread / size**2) ** 0.5 or 1.0))
    mean, sd = np.array(moments, np.float32).T
    return Scale(jnp.asarray(mean), jnp.asarray(sd))


def normalize(inputs: Pixels, scale: Scale) -> Float32[Array, "*batch H W C"]:
    """Return (inputs - mean) / sd of each channel, in float32; `inputs` are in units of a stored pixel.

    Scaling pixels to [0, 1] first, as torchvision does, gives the same numbers: both mean and sd shrink alike.
    """
    lead = (1,) * (inputs.ndim - 1)
    mean, sd = (part.reshape(*lead, -1) for part in scale)
    return (inputs.astype(np.float32) - mean) / sd


def epoch_order(seed: ArrayLike, epoch: ArrayLike, size: int) -> Int32[Array, " N"]:
    """Return the order of the rows in an epoch: a uniform random permutation of 0..size - 1.

    Rows are sorted by 64 random bits each; two agree with probability size^2 / 2^65 (60,000 rows: 1e-10), and then
    stay in order.

    Args:
      seed, epoch: whole numbers in [0, 2^32), which may be traced.
      size: number of rows, static.
    """
    check_size("size", size)
    first, second = Source.of(stream_key(seed, Stream.ORDER, epoch), (size,)).words(0)
    return lax.sort((first, second, lax.iota(np.int32, size)), num_keys=2)[2]


def steps_per_epoch(size: int, batch_size: int) -> int:
    """Return the number of full batches in an epoch; the rows left over differ from epoch to epoch.

    Raises:
      ValueError: if there are fewer rows than a batch has.
    """
    check_size("batch_size", batch_size)
    if size < batch_size:
        raise ValueError(f"batch_size must be at most the number of training rows, {size}, got {batch_size}")
    return size // batch_size


def batch(
    images: UInt8[Array, "N H W C"], labels: Int32[Array, " N"], order: Int32[Array, " N"], step: ArrayLike, size: int
) -> tuple[UInt8[Array, "B H W C"], Int32[Array, " B"]]:
    """Return `size` images and labels, of a step in [0, steps_per_epoch), as they are stored."""
    rows = lax.dynamic_slice_in_dim(order, jnp.asarray(step, np.int32) * size, size)
    return images.at[rows].get(mode="promise_in_bounds"), labels.at[rows].get(mode="promise_in_bounds")


def in_batches(
    function: Callable[[jax.Array], Float[Array, "b *out"]], inputs: Pixels, batch_size: int
) -> Float[Array, "N *out"]:
    """Apply `function`, which treats each row alone, to all rows, a batch at a time.

    Args:
      function: of a batch of raw images, such as a net in evaluation mode; copies of the last row fill the last batch,
        and their results are left out.
      inputs: images [N, H, W, C], not normalized.
      batch_size: static; only memory and speed depend on it.

    Returns:
      Exactly one result a row, in their order.
    """
    size = inputs.shape[0]
    index = np.arange(-(-size // batch_size) * batch_size, dtype=np.int32).reshape(-1, batch_size)
    rows = jnp.asarray(np.minimum(index, size - 1))
    results = lax.map(lambda some: function(inputs.at[some].get(mode="promise_in_bounds")), rows)
    return results.reshape(-1, *results.shape[2:])[:size]
