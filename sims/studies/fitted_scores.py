"""Measured scores of penalized logistic fits with Mixup and label smoothing: a few training sets of real rows.

A training set of n rows has as many of either class, drawn without replacement; the fit to it is scored on all other
rows of the pair. The score is v = w'x / 2, and the confidence s(2 |v|), as in the paper.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mixjax.calibration import ece
from mixjax.gaussian import mixup_logistic_coefficients

BINS = 15
MEASURED = {
    "mean": "mean of y v",
    "var": "variance of y v",
    "accuracy": "accuracy",
    "signed": "mean confidence - accuracy",
    "ece": "ECE, plug-in",
}


class Setting(NamedTuple):
    """What is changed of the plain fit."""

    name: str
    alpha: float = 0.0
    smoothing: float = 0.0


def measured(key: jax.Array, rows: np.ndarray, n: int, penalties: np.ndarray, settings: list[Setting]) -> np.ndarray:
    """Fit one training set of n rows in every way, and return what is MEASURED of each, [penalties, settings, 5].

    Args:
      key: of the training set.
      rows: [2 classes, N, p], centered.
      n: even, less than 2 N.
      penalties: mu.
      settings: of the fits.
    """
    count, p = rows.shape[1:]
    orders = np.stack([np.asarray(jax.random.permutation(part, count)) for part in jax.random.split(key)])
    half = n // 2
    x = np.concatenate([of_class[order[:half]] for of_class, order in zip(rows, orders, strict=True)])
    y = np.repeat(np.array([1.0, -1.0], rows.dtype), half)
    weights = jnp.stack([_fitted(x, y, penalty, setting) for penalty in penalties for setting in settings])
    found = _summaries(weights, rows.reshape(-1, p), np.concatenate([orders[0, half:], count + orders[1, half:]]))
    return np.asarray(found, np.float64).reshape(len(penalties), len(settings), len(MEASURED))


def _fitted(x: np.ndarray, y: np.ndarray, penalty: float, setting: Setting) -> jax.Array:
    mu, alpha, smoothing = (np.asarray(value, x.dtype) for value in (penalty, setting.alpha, setting.smoothing))
    return mixup_logistic_coefficients(jnp.asarray(x), jnp.asarray(y), penalty=mu, alpha=alpha, smoothing=smoothing)


@jax.jit
def _summaries(weights: jax.Array, rows: jax.Array, tested: jax.Array) -> jax.Array:
    """Return what is MEASURED of fits [fits, p] on the `tested` of rows [2 N, p], the first half of y = +1."""
    side = jnp.where(tested < len(rows) // 2, 1.0, -1.0).astype(rows.dtype)

    def of_scores(scores: jax.Array) -> jax.Array:
        margins = side * scores[tested]
        lost = jnp.any(jnp.isnan(margins))
        margins = jnp.where(lost, 0.0, margins)
        confidence, correct = jax.nn.sigmoid(2.0 * jnp.abs(margins)), (margins > 0).astype(margins.dtype)
        accuracy = jnp.mean(correct)
        error = ece(confidence, correct, num_bins=BINS, binning="equal-mass")
        numbers = [jnp.mean(margins), jnp.var(margins), accuracy, jnp.mean(confidence) - accuracy, error]
        return jnp.where(lost, jnp.nan, jnp.stack(numbers))

    return jax.lax.map(of_scores, 0.5 * jnp.matmul(weights, rows.T, precision="highest"))
