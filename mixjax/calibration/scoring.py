"""Proper scores of predictions, and the signed gap: means over rows, in float32 without drift.

References: G. W. Brier (1950), in its form for K classes; T. Gneiting, A. E. Raftery (JASA 2007).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from mixjax.calibration.rows.clean import Rows, weight_unit
from mixjax.calibration.rows.predictions import Predictions
from mixjax.calibration.rows.sums import mean
from mixjax.numerics.arguments import as_floats

__all__ = ["brier_score", "nll", "nll_from_logits", "signed_gap"]


def nll(
    probs: ArrayLike, labels: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> Float[Array, ""]:
    r"""Mean negative log likelihood :math:`-\frac1n \sum_i \log p_{i, y_i}`, in nats.

    Args:
      probs: shape [N, K], rows sum to 1 (within 1e-4, or 1e-2 in half precision).
      labels: whole numbers in [0, K), shape [N].
      weights: of the rows, finite and not negative, shape [N]; a weight of 2 is the row twice.
      where: rows that count, boolean, shape [N]; the others may hold anything.

    Returns:
      At least 0 (up to the slack of the sums), of the dtype of `probs`; infinite where a label that came true had
      probability 0. NaN for NaN in a row that counts and where no row does; under `jit` also for the wrong values
      that raise outside of it. Small probabilities have lost digits: from logits use `nll_from_logits`.

    Raises:
      ValueError: for wrong shapes or values, with the first offending row.
      TypeError: for wrong dtypes.
    """
    predictions = Predictions.of(probs, labels, weights, where)
    return predictions.answer(_nll(predictions))


def nll_from_logits(
    logits: ArrayLike, labels: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> Float[Array, ""]:
    r"""`nll` of softmax(logits), without loss: mean of logsumexp(logits) - logits[label].

    Args:
      logits: shape [N, K], below infinity; -inf is a probability of 0, and not all of a row may be.
      labels, weights, where: as for `nll`.

    Returns:
      As `nll`; its gradient is softmax(logits) minus the labels, over n.

    Raises:
      ValueError, TypeError: as `nll`.
    """
    predictions = Predictions.of_logits(logits, labels, weights, where)
    (logits,) = as_floats(logits=logits)
    return predictions.answer(_nll_from_logits(logits, predictions))


def brier_score(
    probs: ArrayLike, labels: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> Float[Array, ""]:
    r"""Brier score :math:`\frac1n \sum_i \sum_k (p_{ik} - 1[y_i = k])^2`, the sum over classes.

    For two classes it is twice that of the positive class, which is the score of `brier_decomposition`.

    Args:
      probs, labels, weights, where: as for `nll`.

    Returns:
      In [0, 2], of the dtype of `probs`; NaN as for `nll`.

    Raises:
      ValueError, TypeError: as `nll`.
    """
    predictions = Predictions.of(probs, labels, weights, where)
    return predictions.answer(_brier_score(predictions))


def signed_gap(
    confidence: ArrayLike, correct: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> Float[Array, ""]:
    r"""Mean confidence minus accuracy, :math:`\bar f - \bar y`: above 0 is overconfident.

    Args:
      confidence, correct, weights, where: as for `ece`.

    Returns:
      In [-1, 1], of the dtype of the confidences; its size is the ECE of one bin. NaN as for `ece`.

    Raises:
      ValueError, TypeError: as `ece`.
    """
    rows = Rows.of(confidence, correct, weights, where)
    return rows.answer(_signed_gap(rows))


@jax.jit
def _nll(predictions: Predictions) -> jax.Array:
    return _mean(-jnp.log(_of_label(predictions.checked_probs(), predictions, 1.0)), predictions)


@jax.jit
def _nll_from_logits(logits: jax.Array, predictions: Predictions) -> jax.Array:
    checked = predictions.checked_probs()
    wrong = jnp.where(jnp.isnan(checked[:, :1]), jnp.nan, jnp.zeros((), logits.dtype))
    losses = -_of_label(jax.nn.log_softmax(logits, axis=-1), predictions, 0.0)
    return _mean(losses + wrong[:, 0], predictions)


@jax.jit
def _brier_score(predictions: Predictions) -> jax.Array:
    probs = predictions.checked_probs()
    outcome = jax.nn.one_hot(predictions.labels, probs.shape[1], dtype=probs.dtype)
    return _mean(jnp.sum((probs - outcome) ** 2, axis=-1), predictions)


@jax.jit
def _signed_gap(rows: Rows) -> jax.Array:
    rows = rows.clean()
    return mean(rows.confidence - rows.correct, rows.counted)


def _of_label(values: jax.Array, predictions: Predictions, otherwise: float) -> jax.Array:
    """values[i, labels[i]]; of rows that count for nothing `otherwise`, for the sake of the gradient."""
    column = jnp.clip(predictions.labels, 0, values.shape[1] - 1)
    chosen = jnp.take_along_axis(values, column[:, None], axis=-1)[:, 0]
    if predictions.weights is not None:
        chosen = jnp.where((predictions.weights == 0) & ~jnp.isnan(chosen), otherwise, chosen)
    return chosen if predictions.where is None else jnp.where(predictions.where, chosen, otherwise)


def _mean(losses: jax.Array, predictions: Predictions) -> jax.Array:
    """Over the rows that count; masked ones may hold anything, wrong weights are NaN."""
    weights, where = predictions.weights, predictions.where
    if weights is not None:
        valid = (weights >= 0) & jnp.isfinite(weights)
        losses, weights = jnp.where(valid, losses, jnp.nan), jnp.where(valid, weights, 0.0)
        weights = weights / weight_unit(weights, where, weights.dtype)
    if where is not None:
        losses = jnp.where(where, losses, 0.0)
        weights = where.astype(np.int32) if weights is None else jnp.where(where, weights, 0.0)
    return mean(losses, jnp.ones(losses.shape, np.int32) if weights is None else weights)
