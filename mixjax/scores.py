"""From logits or probabilities of K classes to (confidence, correct), from which calibration errors are computed.

Logits have functions of their own; no range of numbers is taken for them.
"""

from __future__ import annotations

import jax
from jaxtyping import Array, Float

from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.predictions import Predictions
from mixjax.numerics.arguments import as_floats
from mixjax.numerics.meshes import jitted
from mixjax.typing import ArrayLike

__all__ = ["binary_from_logits", "top_label", "top_label_from_logits"]

Scored = tuple[Float[Array, " N"], Float[Array, " N"]]


def top_label(probs: ArrayLike, labels: ArrayLike) -> Scored:
    """Return (confidence, correct) of the predicted class, the first of the largest.

    Args:
      probs: shape [N, K], rows sum to 1.
      labels: whole numbers in [0, K), shape [N].

    Returns:
      Two arrays of shape [N] and the dtype of `probs` (float32 at least). Under `jit` wrong rows have a NaN confidence.

    Raises:
      ValueError, TypeError: as `top_label_ece`.

    Example:
      >>> from mixjax.scores import top_label
      >>> [part.tolist() for part in top_label([[0.25, 0.75], [0.5, 0.5]], [1, 1])]
      [[0.75, 0.5], [1.0, 0.0]]
    """
    return _top_label(Predictions.of(probs, labels))


def _top_label(predictions: Predictions) -> Scored:
    rows = predictions.top_label()
    return predictions.raise_if_invalid((rows.confidence, rows.correct))


def top_label_from_logits(logits: ArrayLike, labels: ArrayLike) -> Scored:
    """Return `top_label` of softmax(logits).

    Args:
      logits: shape [N, K], below infinity; -inf is a probability of 0, and not all of a row may be. K = 1 is always
        confident and right.
      labels: whole numbers in [0, K), shape [N].

    Returns, Raises: as `top_label`.

    Example:
      >>> from mixjax.scores import top_label_from_logits
      >>> [part.tolist() for part in top_label_from_logits([[0.0, 0.0]], [1])]
      [[0.5], [0.0]]
    """
    return _top_label(Predictions.of_logits(logits, labels))


def binary_from_logits(logits: ArrayLike, labels: ArrayLike) -> Scored:
    """Return (sigmoid(logits), labels): the probability of the positive class, and whether it came true.

    Args:
      logits: of the positive class, shape [N].
      labels: 0 or 1, shape [N].

    Returns, Raises: as `top_label`.

    Example:
      >>> from mixjax.scores import binary_from_logits
      >>> [part.tolist() for part in binary_from_logits([0.0], [1])]
      [[0.5], [1.0]]
    """
    (logits,) = as_floats(logits=logits)
    rows = Rows.of(jax.nn.sigmoid(logits), labels)
    return rows.raise_if_invalid(_scored(rows))


@jitted(rows=True)
def _scored(rows: Rows) -> Scored:
    rows = rows.clean()
    return rows.confidence, rows.correct
