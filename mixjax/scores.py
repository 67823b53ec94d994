"""From logits or probabilities of K classes to (confidence, correct), what calibration errors are computed from.

Whether numbers are logits is said by the function that is called, never guessed from their range.
"""

from __future__ import annotations

import jax
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.predictions import Predictions
from mixjax.numerics.arguments import as_floats

__all__ = ["binary_from_logits", "top_label", "top_label_from_logits"]

Scored = tuple[Float[Array, " N"], Float[Array, " N"]]


def top_label(probs: ArrayLike, labels: ArrayLike) -> Scored:
    """(confidence, correct) of the predicted class, the first of the largest, each of shape [N].

    Args:
      probs: shape [N, K], each row sums to 1.
      labels: whole numbers in [0, K), shape [N].

    Returns:
      Two arrays of the dtype of `probs` (float32 at least). Under `jit` NaN confidences for rows that are wrong.

    Raises:
      ValueError, TypeError: for wrong shapes, dtypes or values, with the first offending row.
    """
    return _top_label(Predictions.of(probs, labels))


def _top_label(predictions: Predictions) -> Scored:
    rows = predictions.top_label()
    return predictions.answer((rows.confidence, rows.correct))


def top_label_from_logits(logits: ArrayLike, labels: ArrayLike) -> Scored:
    """`top_label` of softmax(logits).

    Args:
      logits: shape [N, K], below infinity; -inf is a probability of 0, and not all of a row may be. K = 1 is always
        confident and right.
      labels: whole numbers in [0, K), shape [N].

    Returns:
      As `top_label`.

    Raises:
      ValueError, TypeError: for wrong shapes, dtypes or values, with the first offending row.
    """
    return _top_label(Predictions.of_logits(logits, labels))


def binary_from_logits(logits: ArrayLike, labels: ArrayLike) -> Scored:
    """(sigmoid(logits), labels): the probability of the positive class, and whether it came true.

    Args:
      logits: of the positive class, shape [N].
      labels: 0 or 1, shape [N].

    Returns:
      Two arrays of the dtype of `logits` (float32 at least). Under `jit` NaN confidences for rows that are wrong.

    Raises:
      ValueError, TypeError: for wrong shapes, dtypes or values.
    """
    (logits,) = as_floats(logits=logits)
    rows = Rows.of(jax.nn.sigmoid(logits), labels)
    cleaned = rows.clean()
    return rows.answer((cleaned.confidence, cleaned.correct))
