"""Proper scores of predictions, and the signed gap: means over rows, in float32 without drift.

References: G. W. Brier (1950), in its form for K classes; T. Gneiting, A. E. Raftery (JASA 2007).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mixjax.calibration.rows.clean import Rows, as_scores
from mixjax.calibration.rows.predictions import Predictions
from mixjax.calibration.rows.sums import mean
from mixjax.numerics.meshes import jitted, pooled
from mixjax.typing import ArrayLike, Real


def nll(
    probs: ArrayLike, labels: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> Float[Array, ""]:
    r"""Return the mean negative log likelihood :math:`-\frac1n \sum_i \log p_{i, y_i}`, in nats.

    Small probabilities have lost digits. If you have logits, use `nll_from_logits`.

    Args:
      probs, labels, weights, where: probabilities [N, K] and classes [N], as for `top_label_ece`, with the same errors.

    Returns:
      At least 0 (up to the slack of the sums); infinite if a true label had probability 0. NaN without rows.

    Example:
      >>> from mixjax.calibration import nll
      >>> round(float(nll([[0.25, 0.75], [0.5, 0.5]], [1, 0])), 3)
      0.49
    """
    predictions = Predictions.of(probs, labels, weights, where)
    return predictions.raise_if_invalid(_nll(predictions))


def nll_from_logits(
    logits: ArrayLike, labels: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> Float[Array, ""]:
    r"""Return `nll` of softmax(logits) without loss of digits, as the mean of logsumexp(logits) - logits[label].

    Args:
      logits: shape [N, K], below infinity; -inf is a probability of 0, and not all of a row may be.
      labels, weights, where: as for `nll`, with the same errors.

    Returns:
      As `nll`; its gradient is softmax(logits) minus the labels, over n.

    Example:
      >>> from mixjax.calibration import nll_from_logits
      >>> round(float(nll_from_logits([[0.0, 1.0], [0.0, 0.0]], [1, 0])), 3)
      0.503
    """
    predictions = Predictions.of_logits(logits, labels, weights, where)
    logits = as_scores("logits", logits, where)
    return predictions.raise_if_invalid(_nll_from_logits(pooled(logits, kept=1), predictions))


def brier_score(
    probs: ArrayLike, labels: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> Float[Array, ""]:
    r"""Return the Brier score :math:`\frac1n \sum_i \sum_k (p_{ik} - 1[y_i = k])^2`, the sum over classes.

    For two classes it is twice the score of the positive class, which `brier_decomposition` returns.

    Args:
      probs, labels, weights, where: as for `nll`, with the same errors.

    Returns:
      A number in [0, 2]; NaN without rows.

    Example:
      >>> from mixjax import brier_score
      >>> round(float(brier_score([[0.25, 0.75], [0.5, 0.5]], [1, 0])), 4)
      0.3125
    """
    predictions = Predictions.of(probs, labels, weights, where)
    return predictions.raise_if_invalid(_brier_score(predictions))


def signed_gap(
    confidence: ArrayLike, correct: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> Float[Array, ""]:
    r"""Return mean confidence minus accuracy, :math:`\bar f - \bar y`: above 0 is overconfident.

    Args:
      confidence, correct, weights, where: as for `ece`, with the same errors.

    Returns:
      A number in [-1, 1], whose size is the ECE of one bin; NaN without rows.

    Example:
      >>> from mixjax.calibration import signed_gap
      >>> round(float(signed_gap([0.9, 0.6], [1, 0])), 3)
      0.25
    """
    rows = Rows.of(confidence, correct, weights, where)
    return rows.raise_if_invalid(_signed_gap(rows))


@jitted()
def _nll(predictions: Predictions) -> jax.Array:
    return _mean(0.0 - jnp.log(_of_label(predictions.checked_probs(), predictions, 1.0)), predictions)


@jitted()
def _nll_from_logits(logits: jax.Array, predictions: Predictions) -> jax.Array:
    checked = predictions.checked_probs()
    wrong = jnp.where(jnp.isnan(checked[:, :1]), jnp.nan, jnp.zeros((), logits.dtype))
    if predictions.where is not None:  # the derivative of a row that counts for nothing is 0, whatever it holds
        logits = jnp.where(predictions.where[:, None], logits, 0.0)
    losses = 0.0 - _of_label(jax.nn.log_softmax(logits, axis=-1), predictions, 0.0)
    return _mean(losses + wrong[:, 0], predictions)


@jitted()
def _brier_score(predictions: Predictions) -> jax.Array:
    probs = predictions.checked_probs()
    outcome = jax.nn.one_hot(predictions.labels, probs.shape[1], dtype=probs.dtype)
    return _mean(jnp.sum((probs - outcome) ** 2, axis=-1), predictions)


@jitted()
def _signed_gap(rows: Rows) -> jax.Array:
    rows = rows.clean()
    return mean(rows.confidence - rows.correct, rows.counted)


def _of_label(values: jax.Array, predictions: Predictions, otherwise: Real) -> jax.Array:
    """Return values[i, labels[i]]; for rows that count nothing `otherwise`, for the sake of the gradient."""
    column = jnp.clip(predictions.labels, 0, values.shape[1] - 1)
    chosen = jnp.take_along_axis(values, column[:, None], axis=-1)[:, 0]
    return chosen if predictions.where is None else jnp.where(predictions.where, chosen, otherwise)


def _mean(losses: jax.Array, predictions: Predictions) -> jax.Array:
    """Return the mean over the rows that count; masked ones may hold anything, wrong weights are NaN."""
    zeros = jnp.zeros_like(losses)
    rows = Rows(zeros, zeros, predictions.weights, predictions.where).clean()
    losses = jnp.where(jnp.isnan(rows.confidence), jnp.nan, losses)
    return mean(losses if rows.where is None else jnp.where(rows.where, losses, 0.0), rows.counted)
