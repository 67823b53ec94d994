r"""Calibration errors of a stream: a state of O(bins) that is updated, merged, and summed over devices.

A bin keeps its rows (or their weight) and the sum of its residuals, correct - confidence; the pooled error follows
from these, not from errors of batches. Counts are two 32-bit words, exact to 2^47 rows; weights and residuals are two
floats, of which the second holds what the first has rounded away, so that a long stream loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from mixjax.calibration.binned import error_of
from mixjax.calibration.rows.bins import DEFAULT_BINS, Bins, BinSums, Closed
from mixjax.calibration.rows.clean import Rows, known_nan, refuse
from mixjax.calibration.rows.predictions import Predictions
from mixjax.calibration.rows.scatter import sums_by_bin
from mixjax.calibration.rows.sums import added
from mixjax.numerics.meshes import jitted
from mixjax.numerics.options import check_norm, check_size
from mixjax.numerics.pytree import pytree
from mixjax.typing import ArrayLike, Real

_WORD = 1 << 16  # of counts; sums of low words over 2^15 devices still fit


@pytree
@dataclass(frozen=True)
class CalibrationState:
    """Sums over bins between fixed edges; a pytree: `jax.lax.psum(state, axis_name)` is the state of all devices.

    Example:
      >>> from mixjax.calibration import CalibrationState
      >>> state = CalibrationState.empty().update([0.9, 0.6], [1, 0])
      >>> round(float(state.ece()), 3)
      0.35
    """

    counts: Int[Array, "2 *classes bins"]  # rows, as low and high words
    mass: Float[Array, "2 *classes bins"]  # sum of weights, as a float and its remainder
    confidence: Float[Array, "2 *classes bins"]  # of weight * confidence
    residual: Float[Array, "2 *classes bins"]  # of weight * (correct - confidence)
    bins: Bins = field(metadata={"static": True})
    num_classes: int | None = field(default=None, metadata={"static": True})  # K of a state with classes

    @classmethod
    def empty(
        cls,
        num_bins: int = DEFAULT_BINS,
        *,
        edges: ArrayLike | None = None,
        closed: Closed = "left",
        num_classes: int | None = None,
    ) -> CalibrationState:
        """Return the state before any row.

        Args:
          num_bins: equal-width bins of confidence.
          edges, closed: bins of one's own, and which end of a bin belongs to it, as in `ece`.
          num_classes: K of a state that takes probabilities by `update_probs`, and has one error for each class.

        The carry of a loop inside `jax.shard_map` differs between devices, and has to from the start:
        `jax.lax.pcast(CalibrationState.empty(), axis_name, to="varying")`.
        """
        return cls.with_bins(Bins.of(num_bins, closed=closed, edges=edges), num_classes)

    @classmethod
    def with_bins(cls, bins: Bins, num_classes: int | None) -> CalibrationState:
        """Return the state before any row, with bins that are checked."""
        shape: tuple[int, ...] = (2, bins.number)
        if num_classes is not None:
            shape = (2, check_size("num_classes", num_classes), bins.number)
        mass, confidence, residual = (jnp.zeros(shape, np.float32) for _ in range(3))  # each its own, to be donated
        return cls(jnp.zeros(shape, np.int32), mass, confidence, residual, bins, num_classes)

    @property
    def num_bins(self) -> int:
        """The number of bins of confidence."""
        return self.bins.number

    def update(
        self,
        confidence: ArrayLike,
        correct: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> CalibrationState:
        """Return the state with one more batch.

        Call it under `jit`, with padded batches masked by `where`. For a state with classes it is `update_probs`.

        Args:
          confidence, correct: as for `ece`.
          weights: shape [N], 0 or from 1e-30 to 1e30, and of a sum below 1e38, for the largest of a stream is not known
            before its end; where: shape [N], as in docs/conventions.md.

        Raises:
          ValueError, TypeError: as `ece`. Under `jit` wrong values turn all later errors into NaN.
        """
        if self.num_classes is not None:
            return self.update_probs(confidence, correct, weights=weights, where=where)
        rows = Rows.of(confidence, correct, weights, where)
        return _raise_if_invalid(rows, _updated(self, rows))

    def update_probs(
        self, probs: ArrayLike, labels: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
    ) -> CalibrationState:
        """Return the state with one more batch of class probabilities.

        Args:
          probs: shape [N, K], rows sum to 1.
          labels: whole numbers in [0, K), shape [N].
          weights, where: as for `update`.

        Raises:
          ValueError: for a state without classes, or of another number of them.
          ValueError, TypeError: as `top_label_ece`. Under `jit` wrong values turn all later errors into NaN.
        """
        if self.num_classes is None:
            raise ValueError("update_probs needs a state made with num_classes")
        predictions = Predictions.of(probs, labels, weights, where)
        if predictions.probs.shape[1] != self.num_classes:
            raise ValueError(f"probs must have {self.num_classes} classes, got shape {predictions.probs.shape}")
        return _raise_if_invalid(predictions, _updated_by_class(self, predictions))

    def merge(self, other: CalibrationState) -> CalibrationState:
        """Return the state of both streams together.

        Raises:
          ValueError: for states of other bins or classes, and for a batch of states.
          TypeError: for what is no state.
        """
        if not isinstance(other, CalibrationState):
            raise TypeError(f"other must be a CalibrationState, got {type(other).__name__}")
        self._check_alone()
        for name, own, others in (("bins", self.bins, other.bins), ("classes", self.num_classes, other.num_classes)):
            if own != others:
                raise ValueError(f"states must have the same {name}, got {own} and {others}")
        return _merged(self, other)

    def ece(self, norm: Real = 1) -> Float[Array, "..."]:
        """Return ECE_p of all rows so far as `ece` does, with classes the mean over them; NaN without rows."""
        check_norm(norm)
        self._check_alone()
        return _mean_error(self, float(norm))

    def mce(self) -> Float[Array, "..."]:
        """Return the largest gap of a bin, as `mce` does."""
        return self.ece(np.inf)

    def errors(self, norm: Real = 1) -> Float[Array, "*classes"]:
        """Return ECE_p of each class, shape [K], or of all rows, shape []."""
        self._check_alone()
        return _errors(self, float(norm))

    def num_rows(self) -> int:
        """Return how many rows counted, exactly; not under `jit`."""
        self._check_alone()
        low, high = np.asarray(self.counts).astype(object).reshape(2, -1)
        total = int(low.sum() + _WORD * high.sum())
        return total if self.num_classes is None else total // self.num_classes

    def _check_alone(self) -> None:
        """Raise ValueError for a batch of states, which `vmap` makes."""
        batch = self.counts.shape[: -2 if self.num_classes is None else -3]
        if batch:
            raise ValueError(
                f"a batch of states, shape {batch}, has no errors or rows outside of vmap: take one of them"
            )


def _raise_if_invalid(batch: Rows | Predictions, state: CalibrationState) -> CalibrationState:
    """Return the state; raise ValueError for the first wrong value that is known, if it made the state NaN."""
    batch.raise_if_invalid(state)
    if batch.weights is not None and known_nan(batch, state):
        weights = np.asarray(batch.weights)
        refuse("weights", weights, _in_range(weights), "0 or from 1e-30 to 1e30 in a stream", batch.where)
    return state


def _in_range(weights: Any) -> Any:
    """Return whether sums of a stream can hold such weights, of NumPy or of JAX."""
    return (weights == 0) | ((weights >= 1e-30) & (weights <= 1e30))


@jitted()
def _merged(state: CalibrationState, other: CalibrationState) -> CalibrationState:
    return replace(
        state,
        counts=_carried(state.counts + other.counts),
        mass=_added(state.mass, other.mass),
        confidence=_added(state.confidence, other.confidence),
        residual=_added(state.residual, other.residual),
    )


@jitted(static=("norm",))
def _errors(state: CalibrationState, norm: float) -> jax.Array:
    mass = state.mass.sum(axis=0)
    return error_of(BinSums(mass, state.residual.sum(axis=0), mass.sum(axis=-1)), norm)


@jitted(static=("norm",))
def _mean_error(state: CalibrationState, norm: float) -> jax.Array:
    return jnp.mean(_errors(state, norm))


@jitted()
def _updated(state: CalibrationState, rows: Rows) -> CalibrationState:
    return state.merge(_of_rows(rows, state.bins))


@jitted()
def _updated_by_class(state: CalibrationState, predictions: Predictions) -> CalibrationState:
    batch = predictions.over_classes(lambda rows: _of_rows(rows, state.bins))
    batch = jax.tree.map(lambda sums: jnp.moveaxis(sums, 0, 1), batch)
    return state.merge(replace(batch, num_classes=state.num_classes))


def _of_rows(rows: Rows, bins: Bins) -> CalibrationState:
    """Return the state of one batch, whose rows need not be clean."""
    counts, confidence, residual, *weight = sums_by_bin(rows, partial(_columns, bins), bins.number)
    mass = weight[0] if weight else counts.astype(np.float32)
    return CalibrationState(
        counts=jnp.stack([counts % _WORD, counts // _WORD]),
        mass=_split(mass),
        confidence=_split(confidence),
        residual=_split(residual),
        bins=bins,
    )


def _columns(bins: Bins, rows: Rows) -> tuple[jax.Array, ...]:
    """Return of each row its bin, whether it counts, its confidence and residual, and its weight if there are any."""
    if rows.weights is not None:
        rows = rows._replace(weights=jnp.where(_in_range(rows.weights), rows.weights, jnp.nan))
    rows = rows.clean_block()
    index = bins.index(rows.confidence)
    if rows.weights is None:
        return index, rows.counted, rows.confidence, rows.residual
    return index, (rows.weights > 0).astype(np.int32), rows.weights * rows.confidence, rows.residual, rows.weights


def _split(total: jax.Array) -> jax.Array:
    """Return a sum as a float32 and the remainder that float64 has beyond it."""
    high = total.astype(np.float32)
    return jnp.stack([high, (total - high.astype(total.dtype)).astype(np.float32)])


def _added(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return the sum of two numbers that are each a float and a remainder, stacked."""
    return jnp.stack(added((a[0], a[1]), (b[0], b[1])))


def _carried(words: jax.Array) -> jax.Array:
    return jnp.stack([words[0] % _WORD, words[1] + words[0] // _WORD])
