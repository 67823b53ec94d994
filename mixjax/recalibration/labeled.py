"""Held-out logits with their labels, checked and made safe to fit to, and the errors of a fit without a minimum.

A masked row counts for nothing, whatever it holds. Wrong values and fits without a minimum raise where they are known,
and give NaN where they are traced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from mixjax.calibration.rows.clean import (
    as_numbers,
    as_scores,
    beside,
    is_share,
    known_nan,
    refuse,
    refuse_labels,
    refuse_weights,
    weight_unit,
)
from mixjax.calibration.rows.predictions import as_labels
from mixjax.calibration.rows.sums import total
from mixjax.numerics.meshes import pooled
from mixjax.recalibration.likelihood import one_hot
from mixjax.typing import ArrayLike


class CleanLogits(NamedTuple):
    """Rows to compute with.

    Attributes:
      logits: NaN where a row is wrong, 0 where it is masked, and where the logit is -inf.
      possible: False where the logit is -inf: a class of probability 0.
      labels: class of each row, 0 where the row is wrong or masked.
      share: weights that sum to 1.
      lost: True if a wrong row counts, or if no row does.
    """

    logits: Float[Array, "N *K"]
    possible: Bool[Array, "N *K"]
    labels: Int[Array, " N"]
    share: Float[Array, " N"]
    lost: Bool[Array, ""]

    def zeros(self, size: int) -> Float[Array, " size"]:
        """Return zeros that vary over devices, in `shard_map`, as the rows do."""
        return jnp.zeros(size, self.share.dtype) + jnp.where(self.lost, 0.0, jnp.zeros((), self.share.dtype))

    def of_classes(self) -> CleanLogits:
        """Return logits of the positive class as those of two classes, (0, logit)."""
        if self.logits.ndim == 2:
            return self
        logits, possible = jnp.stack([jnp.zeros_like(self.logits), self.logits], axis=1), self.possible[:, None]
        return self._replace(logits=logits, possible=jnp.concatenate([possible, possible], axis=1))


class FitResult(NamedTuple):
    """The end of a fit.

    Attributes:
      parameters: those of the minimum, or NaN.
      status: 0 for a minimum, otherwise 1 + the index of the reason.
      gradient_norm: norm of the gradient of the mean loss.
    """

    parameters: tuple[jax.Array, ...]
    status: Int[Array, ""]
    gradient_norm: Float[Array, ""]

    @classmethod
    def of(
        cls, parameters: tuple[jax.Array, ...], problems: Sequence[jax.Array], norm: jax.Array, lost: jax.Array
    ) -> FitResult:
        """Replace the parameters by NaN if there is a problem (the first counts), or if data are lost."""
        status = jnp.select(list(problems), list(jnp.arange(1, len(problems) + 1, dtype=np.int32)), jnp.int32(0))
        status = jnp.where(lost, 0, status)
        good = (status == 0) & ~lost
        return cls(tuple(jnp.where(good, value, jnp.nan) for value in parameters), status, norm)

    def parameters_or_reason(self, rows: Any, reasons: Sequence[str]) -> tuple[jax.Array, ...]:
        """Return the parameters of a fit to rows, or raise the reason why there are none.

        Raises:
          ValueError: for data that have no minimum.
          RuntimeError: for the last of the reasons, with the norm of the gradient.
        """
        status = int(self.status) if known_nan(rows, self.parameters) else 0
        if status == len(reasons):
            raise RuntimeError(f"{reasons[-1]} (the norm of the gradient is {float(self.gradient_norm):.3g})")
        if status:
            raise ValueError(reasons[status - 1])
        return self.parameters


class LabeledLogits(NamedTuple):
    """Logits and labels, checked in shape and dtype, not in value; `clean` makes them safe to compute with."""

    logits: Float[Array, "N *K"]
    labels: Int[Array, " N"]
    weights: Float[Array, " N"] | None
    where: Bool[Array, " N"] | None

    @classmethod
    def of(
        cls, logits: ArrayLike, labels: ArrayLike, weights: ArrayLike | None, where: ArrayLike | None
    ) -> LabeledLogits:
        """Check logits of K classes, shape [N, K], or [..., K], whose rows are pooled.

        Raises:
          ValueError, TypeError: for wrong shapes or dtypes.
        """
        array = as_scores("logits", logits, where)
        if array.ndim < 2 or array.shape[-1] < 2:
            raise ValueError(f"logits must have shape [N, K] or [..., K] with K at least 2, got {array.shape}")
        rule = f"the shape of logits without classes, {array.shape[:-1]}"
        others = beside(array, array.shape[:-1], rule, weights, where, labels=as_labels(labels, where))
        return cls(pooled(array, kept=1), *others)

    @classmethod
    def binary(
        cls, logits: ArrayLike, labels: ArrayLike, weights: ArrayLike | None, where: ArrayLike | None
    ) -> LabeledLogits:
        """Check logits of the positive class, shape [N], or [...], whose rows are pooled, and labels 0 or 1.

        Raises:
          ValueError, TypeError: for wrong shapes or dtypes.
        """
        array = as_scores("logits", logits, where)
        if array.ndim == 0:
            raise ValueError("logits must have shape [N], got one number")
        numbers = as_numbers("labels", labels, np.dtype(array.dtype), where)
        rule = f"the shape of logits of the positive class, {array.shape}"
        return cls(pooled(array), *beside(array, array.shape, rule, weights, where, labels=numbers))

    def clean(self) -> CleanLogits:
        """Return rows to compute with under `jit`."""
        right = self._right_logits() & self._right_labels()
        counted = jnp.ones(right.shape, np.int32)
        if self.weights is not None:
            valid = (self.weights >= 0) & jnp.isfinite(self.weights)
            unit = weight_unit(self.weights, self.where, np.dtype(self.logits.dtype))
            right, counted = right & valid, jnp.where(valid, self.weights / unit, 0.0)
        kept = jnp.ones(right.shape, bool) if self.where is None else self.where
        counted = jnp.where(kept, counted, jnp.zeros((), counted.dtype))
        mass = total(counted).astype(self.logits.dtype)

        def over_rows(row: jax.Array) -> jax.Array:
            return row.reshape(row.shape + (1,) * (self.logits.ndim - 1))

        possible = (self.logits != -jnp.inf) | ~over_rows(kept)
        logits = jnp.where(over_rows(right), self.logits, jnp.nan)
        return CleanLogits(
            jnp.where(over_rows(kept) & possible, logits, 0.0),
            possible,
            jnp.where(kept & right, self.labels, jnp.zeros((), self.labels.dtype)).astype(np.int32),
            counted.astype(self.logits.dtype) / mass,
            jnp.any(kept & ~right) | ~(mass > 0),
        )

    def raise_if_invalid(self, result: FitResult, reasons: Sequence[str]) -> tuple[jax.Array, ...]:
        """Return the parameters, or raise the reason why there are none.

        Raises:
          ValueError: for the first row that counts and is wrong, and for data that have no minimum.
          RuntimeError: for the last of the reasons, with the norm of the gradient.
        """
        if known_nan(self, result.parameters):
            self._refuse_wrong()
        return result.parameters_or_reason(self, reasons)

    def _right_logits(self) -> jax.Array:
        """Return whether each row is finite; classes other than the label may have probability 0."""
        if self.logits.ndim == 1:
            return jnp.isfinite(self.logits)
        below = jnp.all(self.logits < jnp.inf, axis=-1)
        return below & jnp.all((self.logits > -jnp.inf) | ~one_hot(self.labels, self.logits.shape[1]), axis=-1)

    def _right_labels(self) -> jax.Array:
        if self.logits.ndim == 1:
            return (self.labels == 0) | (self.labels == 1)
        return (self.labels >= 0) & (self.labels < self.logits.shape[1])

    def _refuse_wrong(self) -> None:
        logits, labels = np.asarray(self.logits), np.asarray(self.labels)
        if logits.ndim == 1:
            refuse("labels", labels, (labels == 0) | (labels == 1), "0 or 1", self.where)
            refuse("logits", logits, np.isfinite(logits), "finite", self.where)
        else:
            refuse_labels(labels, logits.shape[1], self.where)
            refuse("logits", logits, logits < np.inf, "below infinity", self.where)
            of_label = np.take_along_axis(logits, np.clip(labels, 0, logits.shape[1] - 1)[:, None], axis=1)
            refuse("logits", of_label, of_label > -np.inf, "above -inf for the label", self.where)
        refuse_weights(self.weights, self.where)


def raise_if_infinite(logits: jax.Array, probs: jax.Array, *, classes: bool = False) -> jax.Array:
    """Return the probabilities of logits, or raise if they are NaN because a known logit is infinite.

    Raises:
      ValueError: for the first row (of the first axis) with a logit that is not below infinity, and of `classes`, which
        are the last axis, for one that has only -inf.
    """
    if known_nan(logits, probs):
        given = np.atleast_1d(np.asarray(logits))
        refuse("logits", given, given < np.inf, "below infinity", None)
        if classes:
            largest = np.atleast_1d(given.max(axis=-1))
            refuse("logits", largest, largest > -np.inf, "above -inf for one class", None)
    return probs


def raise_if_outside(confidence: jax.Array, result: jax.Array) -> jax.Array:
    """Return the calibrated confidences, or raise if they are NaN because a known confidence is outside [0, 1].

    Raises:
      ValueError: for the first row with such a confidence.
    """
    if known_nan(confidence, result):
        given = np.atleast_1d(np.asarray(confidence))
        refuse("confidence", given, is_share(given), "in [0, 1]", None)
    return result
