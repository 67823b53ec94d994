"""From logits or probabilities of K classes to (confidence, correct), from which calibration errors are computed.

Logits have functions of their own; no range of numbers is taken for them.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from mixjax.calibration.rows.clean import Rows, known_nan, refuse
from mixjax.calibration.rows.predictions import Predictions
from mixjax.numerics.arguments import as_array
from mixjax.numerics.meshes import jitted, reshaped
from mixjax.recalibration.labeled import LabeledLogits
from mixjax.typing import ArrayLike

__all__ = ["binary_from_logits", "top_label", "top_label_from_logits"]

Scored = tuple[Float[Array, "..."], Float[Array, "..."]]


def top_label(probs: ArrayLike, labels: ArrayLike, *, where: ArrayLike | None = None) -> Scored:
    """Return (confidence, correct) of the predicted class, the first of the largest.

    Args:
      probs: shape [N, K] or [..., K], rows sum to 1.
      labels: whole numbers in [0, K), of the shape of `probs` without its last axis.
      where: of the shape of the labels; False for a row to leave out, which may contain anything.

    Returns:
      Two arrays of the shape of the labels and the dtype of `probs` (float32 at least). The confidence of a row that is
      left out is NaN, so that what is computed from it needs the same `where`. Under `jit` that of a wrong row is too.

    Raises:
      ValueError, TypeError: as `top_label_ece`.

    Example:
      >>> from mixjax.scores import top_label
      >>> [part.tolist() for part in top_label([[0.25, 0.75], [0.5, 0.5]], [1, 1])]
      [[0.75, 0.5], [1.0, 0.0]]
    """
    return _top_label(Predictions.of(probs, labels, where=where), as_array("labels", labels).shape)


def _top_label(predictions: Predictions, shape: tuple[int, ...]) -> Scored:
    return _scored(predictions.raise_if_invalid(predictions.top_label()), shape)


def top_label_from_logits(logits: ArrayLike, labels: ArrayLike, *, where: ArrayLike | None = None) -> Scored:
    """Return `top_label` of softmax(logits).

    Args:
      logits: shape [N, K] or [..., K], below infinity; -inf is a probability of 0, and not all of a row may be. K = 1
        is always confident and right.
      labels, where: as for `top_label`, of the shape of `logits` without its last axis.

    Returns, Raises: as `top_label`.

    Example:
      >>> from mixjax.scores import top_label_from_logits
      >>> [part.tolist() for part in top_label_from_logits([[0.0, 0.0]], [1])]
      [[0.5], [0.0]]
    """
    return _top_label(Predictions.of_logits(logits, labels, where=where), as_array("labels", labels).shape)


def binary_from_logits(logits: ArrayLike, labels: ArrayLike, *, where: ArrayLike | None = None) -> Scored:
    """Return (sigmoid(logits), labels): the probability of the positive class, and whether it came true.

    Args:
      logits: of the positive class, shape [N] or [...].
      labels: 0 or 1, of the same shape.
      where: as for `top_label`.

    Returns, Raises: as `top_label`.

    Example:
      >>> from mixjax.scores import binary_from_logits
      >>> [part.tolist() for part in binary_from_logits([0.0], [1])]
      [[0.5], [1.0]]
    """
    given = LabeledLogits.binary(logits, labels, None, where)
    rows = _clean(Rows(jax.nn.sigmoid(given.logits), *given[1:]))
    if known_nan(given, rows):
        host = np.asarray(given.labels)
        refuse("labels", host, (host == 0) | (host == 1), "0 or 1", given.where)
    return _scored(rows, as_array("logits", logits).shape)


@jitted(rows=True)
def _clean(rows: Rows) -> Rows:
    return rows.clean()


def _scored(rows: Rows, shape: tuple[int, ...]) -> Scored:
    confidence = rows.confidence if rows.where is None else _where(rows.where, rows.confidence)
    return reshaped(confidence, shape), reshaped(rows.correct, shape)


@jitted(rows=True)
def _where(where: jax.Array, confidence: jax.Array) -> jax.Array:
    """Return the confidence of each row, NaN for one that is left out."""
    return jnp.where(where, confidence, jnp.nan)
