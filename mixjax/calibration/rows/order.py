"""Rows in the order of their confidence, and ranks that ties share."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.sums import Prefix, prefix_sums


def sorted_rows(rows: Rows) -> Rows:
    """Clean rows by ascending confidence, equal ones by correctness: the same for any order of the input.

    NaN comes last but for the rows that are masked. Without weights float32 needs one sort of 32-bit integers
    (confidence and correctness in one), several times faster than one of floats with their companions.
    """
    if rows.weights is None and rows.confidence.dtype == jnp.float32:
        return _sorted_packed(rows)
    return _sorted_together(rows)


def _sorted_together(rows: Rows) -> Rows:
    """One sort of all that a row has."""
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
    """Integers have no derivative: the sort of floats gives it."""
    return jax.jvp(_sorted_together, primals, tangents)


def tie_ranks(rows: Rows) -> tuple[Prefix, Prefix]:
    """Of sorted rows: how many (or what weight) are of smaller confidence, and how many there are in all."""
    size = len(rows.confidence)
    index = lax.iota(np.int32, size)  # rows that count come first
    first = lax.cummax(jnp.where(starts_of_ties(rows), index, 0)) if size else index
    if rows.weights is None:
        return (first,), (jnp.int32(size) if rows.where is None else jnp.sum(rows.where, dtype=np.int32),)
    sums = prefix_sums(rows.weights)
    return tuple(part[first] for part in sums), tuple(part[-1] for part in sums)


def starts_of_ties(rows: Rows) -> jax.Array:
    """Whether a sorted row is the first of its confidence."""
    return jnp.concatenate([jnp.ones(min(1, len(rows.confidence)), bool), rows.confidence[1:] != rows.confidence[:-1]])
