"""Random words as a pure function of (key, position, stream): Threefry-2x32 with 20 rounds.

This is the generator behind `jax.random` keys, written as plain array operations so that XLA fuses it with the code
that uses the words; a block of two words then costs what `jax.random.bits` takes for half a word (benchmarks,
`simulator`). A word depends on its key, its position and its stream only, not on the shape or sharding of a call.

Reference: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy
as 1, 2, 3", SC11 (2011).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, PRNGKeyArray, UInt32

from mixjax.typing import ArrayLike

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)

Words = tuple[UInt32[Array, "..."], UInt32[Array, "..."]]


def threefry_2x32(key: Words, counter: Words) -> Words:
    """Return two random words for each (key, counter); all four arrays broadcast."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ _PARITY)
    x, y = counter[0] + schedule[0], counter[1] + schedule[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x = x + y
            y = ((y << np.uint32(rotation)) | (y >> np.uint32(32 - rotation))) ^ x
        x = x + schedule[(group + 1) % 3]
        y = y + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


def key_words(key: PRNGKeyArray) -> Words:
    """Return the two words of a threefry key; for another kind of key, draw two words from it."""
    _check_key(key)
    data = jax.random.key_data(key)
    if data.shape[key.ndim :] != (2,):
        data = jax.vmap(lambda k: jax.random.bits(k, (2,), np.uint32))(key.reshape(-1)).reshape(*key.shape, 2)
    return data[..., 0], data[..., 1]


def _check_key(key: object) -> None:
    """Raise TypeError for what is no key of `jax.random`."""
    if not (isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)):
        legacy = getattr(key, "dtype", None) == np.uint32
        found = "a legacy key: use jax.random.wrap_key_data(key)" if legacy else type(key).__name__
        raise TypeError(f"key must be made by jax.random.key(seed), got {found}")


def single(key: PRNGKeyArray) -> PRNGKeyArray:
    """Return the key, which must be a single one.

    Raises:
      TypeError, ValueError: if it is no key, or an array of keys.
    """
    _check_key(key)
    if key.shape != ():
        raise ValueError(f"key must be a single key, got an array of keys of shape {key.shape}")
    return key


def fold_in(key: Words, data: UInt32[Array, "..."]) -> Words:
    """Return a new key for each entry of `data`."""
    return threefry_2x32(key, (data, jnp.zeros_like(data)))


class Source(NamedTuple):
    """Random words for an array of positions, any number of streams deep."""

    key: Words
    position: UInt32[Array, "..."]
    purpose: int = 0  # at most 255; each has 2^24 streams

    @classmethod
    def of(cls, key: PRNGKeyArray, shape: Sequence[int]) -> Source:
        """Make a source for an array of `shape`, from one key."""
        words = key_words(single(key))
        size = int(np.prod(shape, dtype=np.int64))
        return cls(words, lax.iota(np.uint32, size).reshape(tuple(shape)))

    def fold_in(self, purpose: int) -> Source:
        """Return a source of the same positions whose words are independent of those of other purposes."""
        return self._replace(purpose=purpose)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the drawn arrays."""
        return jnp.broadcast_shapes(self.key[0].shape, self.position.shape)

    def words(self, stream: ArrayLike) -> Words:
        """Return two words for each position."""
        stream = jnp.asarray(stream).astype(np.uint32) | np.uint32(self.purpose << 24)
        words = tuple(k.reshape((1,) * (len(self.shape) - k.ndim) + k.shape) for k in self.key)
        return threefry_2x32((words[0], words[1]), (self.position, jnp.broadcast_to(stream, self.position.shape)))
