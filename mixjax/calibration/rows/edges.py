"""The bin of a score among edges: a score on an edge is in the bin above, or below if bins are closed on the right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def index_among(confidence: jax.Array, inner: Sequence[jax.Array | np.number[Any]], closed: str = "left") -> jax.Array:
    """Count the inner edges that are at or below (closed="right": strictly below) each score."""
    index = jnp.zeros(confidence.shape, np.int32)
    for edge in inner:
        index += (confidence >= edge if closed == "left" else confidence > edge).astype(np.int32)
    return index
