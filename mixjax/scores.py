"""From logits or probabilities of K classes to (confidence, correct), from which calibration errors are computed.

Logits have functions of their own; no range of numbers is taken for them.
"""

from __future__ import annotations

import jax
from jaxtyping import Array, Float

from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.predictions import Predictions
from mixjax.numerics.arguments import as_array, as_floats
from mixjax.numerics.meshes import jitted, reshaped
from mixjax.typing import ArrayLike

__all__ = ["binary_from_logits", "top_label", "top_label_from_logits"]

Scored = tuple[Float[Array, "..."], Float[Array, "..."]]


def top_label(probs: ArrayLike, labels: ArrayLike) -> Scored:
    """Return (confidence, correct) of the predicted class, the first of the largest.

    Args:
      probs: shape [N, K] or [..., K], rows sum to 1.
      labels: whole numbers in [0, K), of the shape of `probs` without its last axis.

    Returns:
      Two arrays of the shape of the labels and the dtype of `probs` (float32 at least). Under `jit` the confidence of a
      wrong row is NaN.

    Raises:
      ValueError, TypeError: as `top_label_ece`.

    Example:
      >>> from mixjax.scores import top_label
      >>> [part.tolist() for part in top_label([[0.25, 0.75], [0.5, 0.5]], [1, 1])]
      [[0.75, 0.5], [1.0, 0.0]]
    """
    return _top_label(Predictions.of(probs, labels), as_array("labels", labels).shape)


def _top_label(predictions: Predictions, shape: tuple[int, ...]) -> Scored:
    rows = predictions.top_label()
    predictions.raise_if_invalid(rows)
    return reshaped(rows.confidence, shape), reshaped(rows.correct, shape)


def top_label_from_logits(logits: ArrayLike, labels: ArrayLike) -> Scored:
    """Return `top_label` of softmax(logits).

    Args:
      logits: shape [N, K] or [..., K], below infinity; -inf is a probability of 0, and not all of a row may be. K = 1
        is always confident and right.
      labels: whole numbers in [0, K), of the shape of `logits` without its last axis.

    Returns, Raises: as `top_label`.

    Example:
      >>> from mixjax.scores import top_label_from_logits
      >>> [part.tolist() for part in top_label_from_logits([[0.0, 0.0]], [1])]
      [[0.5], [0.0]]
    """
    return _top_label(Predictions.of_logits(logits, labels), as_array("labels", labels).shape)


def binary_from_logits(logits: ArrayLike, labels: ArrayLike) -> Scored:
    """Return (sigmoid(logits), labels): the probability of the positive class, and whether it came true.

    Args:
      logits: of the positive class, shape [N] or [...].
      labels: 0 or 1, of the same shape.

    Returns, Raises: as `top_label`.

    Example:
      >>> from mixjax.scores import binary_from_logits
      >>> [part.tolist() for part in binary_from_logits([0.0], [1])]
      [[0.5], [1.0]]
    """
    (logits,) = as_floats(logits=logits)
    rows = Rows.of(jax.nn.sigmoid(logits), labels)
    confidence, correct = rows.raise_if_invalid(_scored(rows))
    return reshaped(confidence, logits.shape), reshaped(correct, logits.shape)


@jitted(rows=True)
def _scored(rows: Rows) -> Scored:
    rows = rows.clean()
    return rows.confidence, rows.correct
