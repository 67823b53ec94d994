"""Rows in the order of their confidence, and the groups of those that have one."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mixjax.calibration.rows.clean import Rows


def sorted_rows(rows: Rows) -> Rows:
    """Sort clean rows by ascending confidence, equal ones by correctness: the same for any order of the input.

    NaN comes last but for the rows that are masked. Without weights float32 needs one sort of 32-bit integers
    (confidence and correctness in one), several times faster than one of floats with their companions.
    """
    if rows.weights is None and rows.confidence.dtype == jnp.float32:
        return _sorted_packed(rows)
    return _sorted_together(rows)


def _sorted_together(rows: Rows) -> Rows:
    """Sort all that a row has together."""
    out = jnp.zeros_like(rows.confidence) if rows.where is None else (~rows.where).astype(rows.confidence.dtype)
    weights = rows.weights if rows.weights is not None else jnp.ones_like(rows.confidence)
    out, confidence, correct, weights = lax.sort((out, rows.confidence, rows.correct, weights), num_keys=4)
    where = None if rows.where is None else out == 0
    return Rows(confidence, correct, None if rows.weights is None else weights, where)


@jax.custom_jvp
def _sorted_packed(rows: Rows) -> Rows:
    packed = lax.bitcast_convert_type(rows.confidence, np.uint32) << np.uint32(1)  # the sign of -0 goes
    packed |= rows.correct.astype(np.uint32)
    if rows.where is not None:
        packed = jnp.where(rows.where, packed, np.uint32(0xFFFFFFFF))
    packed = jnp.sort(packed)
    correct = (packed & np.uint32(1)).astype(rows.confidence.dtype)
    confidence = lax.bitcast_convert_type(packed >> np.uint32(1), np.float32)
    if rows.where is None:
        return Rows(confidence, correct)
    where = packed != np.uint32(0xFFFFFFFF)
    return Rows(jnp.where(where, confidence, 0.0), jnp.where(where, correct, 0.0), None, where)


@_sorted_packed.defjvp
def _sorted_packed_jvp(primals: tuple[Rows], tangents: tuple[Rows]) -> tuple[Rows, Rows]:
    """Differentiate the sort of floats, since integers have no derivative."""
    return jax.jvp(_sorted_together, primals, tangents)


def starts_of_ties(rows: Rows) -> jax.Array:
    """Return whether each sorted row is the first of its confidence."""
    return jnp.concatenate([jnp.ones(min(1, len(rows.confidence)), bool), rows.confidence[1:] != rows.confidence[:-1]])


class Ties(NamedTuple):
    """G groups of n sorted rows that count, out of N; rows that do not count come last and belong to none."""

    first: jax.Array  # the first row of each group, shape [N + 1]; n from the entry G on
    group: jax.Array  # of each row, shape [N]
    following: jax.Array  # the first row of a group at or after each row, shape [N + 1]; at most n
    num_groups: jax.Array
    num_rows: jax.Array

    @classmethod
    def of(cls, ordered: Rows) -> Ties:
        """Return the groups of rows as `sorted_rows` leaves them."""
        size = len(ordered.confidence)
        num_rows = jnp.int32(size) if ordered.where is None else jnp.sum(ordered.where, dtype=np.int32)
        row = lax.iota(np.int32, size)
        starts = starts_of_ties(ordered) & (row < num_rows)
        group = jnp.cumsum(starts, dtype=np.int32) - 1
        first = jnp.full(size + 1, num_rows).at[jnp.where(starts, group, size + 1)].set(row, mode="drop")
        following = jnp.append(jnp.where(starts, row, first[group + 1]), num_rows)
        return cls(first, group, following, jnp.sum(starts, dtype=np.int32), num_rows)
