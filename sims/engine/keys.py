"""The keys of pieces of work: each follows from what the piece is, so that neither order nor interruption matters."""

from __future__ import annotations

import zlib

import jax


def key_of(seed: int, what: str) -> jax.Array:
    """The key of what goes by a name that no other piece of the run has."""
    return jax.random.fold_in(jax.random.key(seed, impl="threefry2x32"), zlib.crc32(what.encode()))
