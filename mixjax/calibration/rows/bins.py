"""Bins of confidence: the bin of a score, and the sums of rows in each.

Equal-width edges are k/M, correctly rounded in the dtype of the confidences; given edges are rounded to it. Bins are
[l, r), the last one closed, or (l, r], the first one closed. Equal-mass bins are in `mass`. One sum of residuals
replaces those of confidence and of correctness, whose difference would cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.mass import equal_mass, index_among
from mixjax.calibration.rows.scatter import FEW, sums_by_bin
from mixjax.calibration.rows.sums import total
from mixjax.numerics.arguments import as_array
from mixjax.numerics.options import check_option, check_size
from mixjax.typing import ArrayLike, Real

Binning = Literal["equal-width", "equal-mass"]
Closed = Literal["left", "right"]
NumBins = int | Literal["cube_root"]
DEFAULT_BINS = 15  # of every public function; ignored where edges are given


class BinSums(NamedTuple):
    """For each bin: how many rows (int32) or their weight, and the sum of weight * (correct - confidence).

    `total` is the mass of all bins, added where the sums are made, so that most errors take a single pass.
    """

    mass: jax.Array
    residual: jax.Array
    total: jax.Array


@dataclass(frozen=True)
class Bins:
    """The bins of an estimator, a static argument of its program."""

    number: int
    binning: Binning = "equal-width"
    closed: Closed = "left"
    own_edges: tuple[Real, ...] | None = None

    @classmethod
    def of(
        cls,
        num_bins: NumBins,
        binning: Binning = "equal-width",
        closed: Closed = "left",
        edges: ArrayLike | None = None,
        *,
        num_rows: int | None = None,
    ) -> Bins:
        """Check the options of a public function; "cube_root" takes the root of `num_rows`.

        Raises:
          TypeError, ValueError: for wrong options.
        """
        check_option("binning", binning, Binning)
        check_option("closed", closed, Closed)
        if edges is None:
            return cls(check_num_bins(num_bins, num_rows), binning, closed)
        if binning != "equal-width":
            raise ValueError(f"edges and binning={binning!r} exclude each other")
        own = _own_edges(edges)
        if num_bins not in (DEFAULT_BINS, len(own) - 1):
            raise ValueError(f"edges make {len(own) - 1} bins, got num_bins={num_bins!r}")
        return cls(check_num_bins(len(own) - 1), binning, closed, own)

    @property
    def options(self) -> dict[str, Any]:
        """The options of a public function with these bins."""
        return {"num_bins": self.number, "binning": self.binning, "edges": self.own_edges, "closed": self.closed}

    def edges(self, dtype: np.dtype) -> np.ndarray:
        """Return the edges, each the nearest number of the dtype (a float64 quotient rounds to the same float32)."""
        exact = np.arange(self.number + 1) / self.number if self.own_edges is None else np.asarray(self.own_edges)
        return exact.astype(dtype)

    def index(self, confidence: jax.Array) -> jax.Array:
        """Return the bin of each score in [0, 1] among the edges, int32; 0 for NaN."""
        edges = self.edges(np.dtype(confidence.dtype))
        if self.number <= FEW:
            return index_among(confidence, list(edges[1:-1]), self.closed)
        if self.own_edges is not None:
            side = "right" if self.closed == "left" else "left"
            index = jnp.searchsorted(jnp.asarray(edges[1:-1]), confidence, side=side).astype(np.int32)
            return jnp.where(jnp.isnan(confidence), 0, index)
        return self._equal_width_index(confidence, jnp.asarray(edges))

    def _equal_width_index(self, confidence: jax.Array, edges: jax.Array) -> jax.Array:
        last = self.number - 1
        guess = jnp.clip(jnp.floor(confidence * self.number), 0, last).astype(np.int32)  # off by one at most
        low, high = edges[guess], edges[guess + 1]
        if self.closed == "left":
            below, above = confidence < low, confidence >= high
        else:
            below, above = confidence <= low, confidence > high
        return jnp.clip(guess + above.astype(np.int32) - below.astype(np.int32), 0, last)


def check_num_bins(num_bins: NumBins, num_rows: int | None = None) -> int:
    """Return the number of bins, for "cube_root" the largest M with M^3 <= rows; raise for a wrong one."""
    if isinstance(num_bins, str):
        if num_bins != "cube_root" or num_rows is None:
            known = " or 'cube_root'" if num_rows is not None else ""
            raise ValueError(f"num_bins must be an int{known}, got {num_bins!r}")
        nearest = round(num_rows ** (1 / 3))
        return max(1, nearest - (nearest**3 > num_rows))
    num_bins = check_size("num_bins", num_bins)
    if num_bins > 1 << 20:
        raise ValueError(f"num_bins must be at most {1 << 20}, got {num_bins}")
    return num_bins


def _own_edges(edges: ArrayLike) -> tuple[float, ...]:
    """Return edges that ascend from 0 to 1, or raise ValueError or TypeError."""
    array = as_array("edges", edges)
    if isinstance(array, jax.core.Tracer):
        raise TypeError("edges must be known where the program is compiled, got a traced array; make them with NumPy")
    numbers = np.asarray(array, np.float64)
    if numbers.ndim != 1 or len(numbers) < 2 or numbers[0] != 0 or numbers[-1] != 1 or not (np.diff(numbers) > 0).all():
        raise ValueError(f"edges must ascend from 0 to 1, got {numbers.tolist()}")
    return tuple(numbers.tolist())


def bin_sums(rows: Rows, bins: Bins) -> BinSums:
    """Return the mass and the residual of each bin, of rows that need not be clean."""
    mass, residual = sums_of_rows(rows, bins, lambda rows: (rows.counted, rows.residual))
    return BinSums(mass, residual, total(rows.clean().counted))


def sums_of_rows(rows: Rows, bins: Bins, values: Callable[[Rows], tuple[jax.Array, ...]]) -> tuple[jax.Array, ...]:
    """Return the sums in each bin of `values` of clean rows, entry by entry; the rows given need not be clean."""
    rows = rows.in_units()
    if bins.binning == "equal-mass":
        found = equal_mass(rows.clean_block(), bins.number)
        return sums_by_bin(found, lambda found: (found[1], *values(found[0])), bins.number)

    def bin_values(block: Rows) -> tuple[jax.Array, ...]:
        block = block.clean_block()  # a block at a time: no array of clean rows is written
        return bins.index(block.confidence), *values(block)

    return sums_by_bin(rows, bin_values, bins.number)


def binned(rows: Rows, bins: Bins) -> tuple[Rows, jax.Array]:
    """Return clean rows, sorted if need be, and the bin of each."""
    return equal_mass(rows, bins.number) if bins.binning == "equal-mass" else (rows, bins.index(rows.confidence))
