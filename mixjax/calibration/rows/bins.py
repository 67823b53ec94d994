"""Bins of confidence: the bin of a score, and the sums of rows in each.

Equal-width edges are k/M, correctly rounded in the dtype of the confidences; [l, r) with the last bin closed, or
(l, r] with the first closed. Equal-mass bins are in `mass`. One sum of residuals replaces those of confidence and of
correctness, whose difference would cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np

from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.mass import equal_mass, index_among
from mixjax.calibration.rows.scatter import FEW, sums_by_bin
from mixjax.calibration.rows.sums import total
from mixjax.numerics.arguments import check_size

Binning = Literal["equal-width", "equal-mass"]
Closed = Literal["left", "right"]


class BinSums(NamedTuple):
    """For each bin: how many rows (int32) or their weight, and the sum of weight * (correct - confidence).

    `total` is the mass of all bins, added where the sums are made: an error that needs no more costs no other pass.
    """

    mass: jax.Array
    residual: jax.Array
    total: jax.Array


def check_bins(num_bins: int, binning: str = "equal-width", closed: str = "left") -> int:
    """Return the number of bins, or raise TypeError or ValueError for a wrong option."""
    num_bins = check_size("num_bins", num_bins)
    if num_bins > 1 << 20:
        raise ValueError(f"num_bins must be at most {1 << 20}, got {num_bins}")
    for name, value, known in (("binning", binning, Binning), ("closed", closed, Closed)):
        if value not in get_args(known):
            raise ValueError(f"{name} must be one of {get_args(known)}, got {value!r}")
    return num_bins


def equal_width_edges(num_bins: int, dtype: np.dtype) -> np.ndarray:
    """Return k/M for k = 0..M, each the nearest number of the dtype (a float64 quotient rounds to the same float32)."""
    return (np.arange(num_bins + 1) / num_bins).astype(dtype)


def equal_width_index(confidence: jax.Array, num_bins: int, closed: Closed) -> jax.Array:
    """Return the bin of each score in [0, 1], int32; 0 for NaN."""
    edges = equal_width_edges(num_bins, np.dtype(confidence.dtype))
    if num_bins <= FEW:
        return index_among(confidence, [edge for edge in edges[1:-1]], closed)
    guess = jnp.clip(jnp.floor(confidence * num_bins), 0, num_bins - 1).astype(np.int32)  # off by one at most
    low, high = jnp.asarray(edges)[guess], jnp.asarray(edges)[guess + 1]
    below, above = (
        (confidence < low, confidence >= high) if closed == "left" else (confidence <= low, confidence > high)
    )
    return jnp.clip(guess + above.astype(np.int32) - below.astype(np.int32), 0, num_bins - 1)


def bin_sums(rows: Rows, num_bins: int, binning: Binning, closed: Closed) -> BinSums:
    """Return the mass and the residual of each bin, of rows that need not be clean."""
    mass, residual = sums_of_rows(rows, num_bins, binning, closed, lambda rows: (rows.counted, rows.residual))
    return BinSums(mass, residual, total(rows.clean().counted))


def sums_of_rows(
    rows: Rows, num_bins: int, binning: Binning, closed: Closed, values: Callable[[Rows], tuple[jax.Array, ...]]
) -> tuple[jax.Array, ...]:
    """Return the sums in each bin of `values` of clean rows, entry by entry; the rows given need not be clean."""
    rows = rows.in_units()
    if binning == "equal-mass":
        found = equal_mass(rows.clean_block(), num_bins)
        return sums_by_bin(found, lambda found: (found[1], *values(found[0])), num_bins)

    def bin_values(block: Rows) -> tuple[jax.Array, ...]:
        block = block.clean_block()  # a block at a time: no array of clean rows is written
        return equal_width_index(block.confidence, num_bins, closed), *values(block)

    return sums_by_bin(rows, bin_values, num_bins)


def binned(rows: Rows, num_bins: int, binning: Binning, closed: Closed) -> tuple[Rows, jax.Array]:
    """Return clean rows, sorted if need be, and the bin of each."""
    if binning == "equal-mass":
        return equal_mass(rows, num_bins)
    return rows, equal_width_index(rows.confidence, num_bins, closed)
