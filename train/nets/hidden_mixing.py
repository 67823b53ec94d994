"""The hook by which manifold Mixup mixes hidden values of a net."""

from __future__ import annotations

from collections.abc import Callable

import jax

__all__ = ["MixHidden", "unmixed"]

MixHidden = Callable[[jax.Array, int], jax.Array]  # (inputs of a layer, its number from 0)


def unmixed(values: jax.Array, layer: int) -> jax.Array:
    """Return the values as they are, at every layer."""
    return values
