"""The keys of a run: each a pure function of the seed, of its purpose, and of its position in the run.

No random state is carried from step to step, so that a run that is resumed, split over devices or run beside other
seeds draws what it would have drawn alone. The generator is named (Threefry-2x32): no setting of JAX changes a draw.
"""

from __future__ import annotations

import enum

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import PRNGKeyArray

from mixjax.numerics.arguments import known


class Stream(enum.IntEnum):
    """The purpose of a key; a number never gets another purpose, since stored results depend on it."""

    INIT = 0
    ORDER = 1
    AUGMENT = 2
    MIX = 3
    HALVES = 4
    HELD_OUT = 5
    SHIFT = 6


def stream_key(seed: ArrayLike, stream: Stream, *position: ArrayLike) -> PRNGKeyArray:
    """Return the key of one use: `stream_key(seed, Stream.MIX, epoch, step)`.

    Args:
      seed: a whole number in [0, 2^32), which may be traced.
      stream: what the key is for; static.
      position: where it is used, whole numbers in [0, 2^32), which may be traced; as many for all keys of a stream.

    Raises:
      ValueError: for a seed out of range, where it is known.
      TypeError: for one that is not a whole number.
    """
    words = jnp.stack([jnp.uint32(0), _seed_word(seed)])
    key = jax.random.wrap_key_data(words, impl="threefry2x32")
    for number in (int(stream), *position):
        key = jax.random.fold_in(key, number)
    return key


def _seed_word(seed: ArrayLike) -> jax.Array:
    host = known(seed)
    dtype = jnp.asarray(seed).dtype if host is None else host.dtype
    if not jnp.issubdtype(dtype, np.integer):
        raise TypeError(f"seed must be a whole number, got {dtype}")
    if host is not None and not 0 <= int(host) < 2**32:
        raise ValueError(f"seed must be in [0, 2^32), got {host}")
    return jnp.asarray(seed if host is None else host.astype(np.uint32)).astype(np.uint32)
