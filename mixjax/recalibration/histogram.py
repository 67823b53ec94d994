"""Histogram binning: a confidence becomes the accuracy of its bin.

Reference: B. Zadrozny, C. Elkan (ICML 2001).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from mixjax.calibration.reliability_table import Reliability, reliability
from mixjax.calibration.rows.bins import DEFAULT_BINS, Binning, Bins, Closed, NumBins
from mixjax.calibration.rows.clean import as_shares
from mixjax.numerics.arguments import as_floats
from mixjax.numerics.meshes import jitted
from mixjax.numerics.pytree import pytree
from mixjax.recalibration.labeled import raise_if_outside
from mixjax.typing import ArrayLike


@pytree
@dataclass(frozen=True, eq=False)
class HistogramBinning:
    """A map from a confidence to the accuracy of its bin; a bin without rows leaves confidences unchanged.

    Attributes:
      edges: edges between the bins, ascending, shape [bins - 1].
      accuracy: accuracy of each bin in [0, 1], shape [bins]; NaN for a bin without rows.
      count: rows of each bin, or their total weight, shape [bins].
      closed: the side on which a bin holds its edge, static.

    Example:
      >>> from mixjax.recalibration import fit_histogram_binning
      >>> print(fit_histogram_binning([0.2, 0.2, 0.7, 0.9], [0, 1, 1, 1], num_bins=2).accuracy)
      [0.5 1. ]
    """

    edges: Float[Array, " inner"]
    accuracy: Float[Array, " bins"]
    count: Float[Array, " bins"]
    closed: Closed = field(default="left", metadata={"static": True})

    def __call__(self, confidence: ArrayLike) -> Float[Array, "*batch"]:
        """Return calibrated confidences in the shape and dtype (float32 at least) of `confidence`.

        A confidence outside [0, 1] raises ValueError, and is NaN under `jit`.
        """
        (confidence,) = as_floats(confidence=confidence)
        edges, accuracy, count = (jnp.asarray(p, confidence.dtype) for p in (self.edges, self.accuracy, self.count))
        return raise_if_outside(confidence, _apply(confidence, HistogramBinning(edges, accuracy, count, self.closed)))


def fit_histogram_binning(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    num_bins: NumBins = DEFAULT_BINS,
    binning: Binning = "equal-width",
    edges: ArrayLike | None = None,
    closed: Closed = "left",
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> HistogramBinning:
    """Fit the accuracy of each bin to held-out rows.

    Args:
      confidence, correct, num_bins, binning, edges, closed: as for `ece`, and with the same bins; an equal-mass bin
        goes from its smallest confidence to below that of the next.
      weights, where: as in docs/conventions.md.

    Returns:
      A function of confidences, and a pytree. On the rows that it was fitted to, the ECE of its results is 0, to
      rounding. NaN as in `mixjax.recalibration`.

    Raises:
      ValueError, TypeError: as `ece`.

    Example:
      >>> from mixjax.recalibration import fit_histogram_binning
      >>> calibrated = fit_histogram_binning([0.2, 0.2, 0.7, 0.9], [0, 1, 1, 1], num_bins=2)
      >>> print(calibrated([0.1, 0.8]))
      [0.5 1. ]
    """
    table = reliability(
        confidence,
        correct,
        num_bins=num_bins,
        binning=binning,
        edges=edges,
        closed=closed,
        weights=weights,
        where=where,
    )
    lowest, accuracy, count = _parts(table)
    if binning == "equal-mass":
        return HistogramBinning(lowest, accuracy, count)
    inner = Bins.of(len(count), edges=edges).edges(np.dtype(count.dtype))[1:-1]
    return HistogramBinning(jnp.asarray(inner), accuracy, count, closed)


@jitted()
def _parts(table: Reliability) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the smallest confidence of each bin but the first, accuracy and count, which are NaN if no row counts.

    An empty bin has the smallest confidence of the next with rows, or inf.
    """
    lowest = lax.cummin(jnp.where(table.count > 0, table.lowest, jnp.inf), reverse=True)[1:]
    count = jnp.where(jnp.sum(table.count) > 0, table.count, jnp.nan)
    return lowest, jnp.where(count > 0, table.accuracy, jnp.nan), count


@jitted(rows=True)
def _apply(confidence: jax.Array, bins: HistogramBinning) -> jax.Array:
    side = "right" if bins.closed == "left" else "left"
    confidence = as_shares(confidence)
    index = jnp.searchsorted(bins.edges, confidence, side=side)
    value = jnp.where(bins.count[index] == 0, confidence, bins.accuracy[index])
    return jnp.where(jnp.isnan(confidence), jnp.nan, value)
