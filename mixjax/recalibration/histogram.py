"""Histogram binning: a confidence becomes the accuracy of its bin.

Reference: B. Zadrozny, C. Elkan (ICML 2001).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from mixjax.calibration.reliability_table import Reliability, reliability
from mixjax.calibration.rows.bins import Binning, Closed, equal_width_edges
from mixjax.numerics.arguments import as_floats
from mixjax.recalibration.labeled import refuse_outside

__all__ = ["HistogramBinning", "fit_histogram_binning"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class HistogramBinning:
    """The accuracy of each bin; a bin without rows leaves confidences as they are.

    Attributes:
      edges: between the bins, ascending.
      accuracy: in [0, 1]; NaN for a bin without rows.
      count: rows of each bin, or their total weight.
      closed: the side on which a bin holds its edge.
    """

    edges: Float[Array, " bins-1"]
    accuracy: Float[Array, " bins"]
    count: Float[Array, " bins"]
    closed: Closed = field(default="left", metadata={"static": True})

    def __call__(self, confidence: ArrayLike) -> Float[Array, "*batch"]:
        """Confidences of the shape and dtype of `confidence` (float32 at least).

        Raises:
          ValueError: for a confidence outside [0, 1], which under `jit` gives NaN.
        """
        (confidence,) = as_floats(confidence=confidence)
        edges, accuracy, count = (jnp.asarray(p, confidence.dtype) for p in (self.edges, self.accuracy, self.count))
        return refuse_outside(confidence, _apply(confidence, HistogramBinning(edges, accuracy, count, self.closed)))


def fit_histogram_binning(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    num_bins: int = 15,
    binning: Binning = "equal-width",
    closed: Closed = "left",
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> HistogramBinning:
    """The accuracy of each bin of held-out rows.

    Args:
      confidence, correct, num_bins, binning, closed, weights, where: as for `ece`, and with the same bins; an
        equal-mass bin goes from its smallest confidence to below that of the next.

    Returns:
      A function of confidences, and a pytree; on the rows that it was fitted to, the ECE of what it returns is 0, to
      rounding. NaN for NaN in a row that counts and where no row does; under `jit` also for the wrong values that
      raise outside of it.

    Raises:
      ValueError, TypeError: as `ece`.
    """
    table = reliability(
        confidence, correct, num_bins=num_bins, binning=binning, closed=closed, weights=weights, where=where
    )
    accuracy, count = _heights(table)
    if binning == "equal-mass":
        return HistogramBinning(_lowest(table), accuracy, count)
    inner = equal_width_edges(num_bins, np.dtype(count.dtype))[1:-1]
    return HistogramBinning(jnp.asarray(inner), accuracy, count, closed)


@jax.jit
def _heights(table: Reliability) -> tuple[jax.Array, jax.Array]:
    """Accuracy and count, all NaN where there are no rows."""
    rows = jnp.sum(table.count)
    count = jnp.where(rows > 0, table.count, jnp.nan)
    return jnp.where(count > 0, table.accuracy, jnp.nan), count


@jax.jit
def _lowest(table: Reliability) -> jax.Array:
    """The smallest confidence of each bin but the first, of an empty one that of the next with rows, or inf."""
    own = jnp.where(table.count > 0, table.lowest, jnp.inf)
    return lax.cummin(own, reverse=True)[1:]


@jax.jit
def _apply(confidence: jax.Array, bins: HistogramBinning) -> jax.Array:
    side = "right" if bins.closed == "left" else "left"
    index = jnp.searchsorted(bins.edges, confidence, side=side)
    value = jnp.where(bins.count[index] == 0, confidence, bins.accuracy[index])
    return jnp.where((confidence >= 0) & (confidence <= 1), value, jnp.nan)
