"""Groups of sorted rows that have one confidence."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.order import starts_of_ties


class Ties(NamedTuple):
    """G groups of n rows that count, out of N; rows that do not count come last and belong to none.

    Attributes:
      first: the first row of each group, shape [N + 1]; n from the entry G on.
      group: the group of each row, shape [N].
      following: the first row of a group at or after each row, shape [N + 1]; at most n.
      num_groups, num_rows: G and n, int32.
    """

    first: jax.Array
    group: jax.Array
    following: jax.Array
    num_groups: jax.Array
    num_rows: jax.Array

    @classmethod
    def of(cls, ordered: Rows) -> Ties:
        """The groups of rows as `sorted_rows` leaves them."""
        size = len(ordered.confidence)
        num_rows = jnp.int32(size) if ordered.where is None else jnp.sum(ordered.where, dtype=np.int32)
        row = lax.iota(np.int32, size)
        starts = starts_of_ties(ordered) & (row < num_rows)
        group = jnp.cumsum(starts, dtype=np.int32) - 1
        first = jnp.full(size + 1, num_rows).at[jnp.where(starts, group, size + 1)].set(row, mode="drop")
        following = jnp.append(jnp.where(starts, row, first[group + 1]), num_rows)
        return cls(first, group, following, jnp.sum(starts, dtype=np.int32), num_rows)
