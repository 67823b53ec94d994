"""What the studies of the logistic fit tell of a score's law, and the literal fits that they put beside its limit."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np

from mixjax.gaussian import (
    ScoreLaw,
    at_best_temperature,
    class_mean,
    mixup_logistic_coefficients,
    population_accuracy,
    population_ece,
    population_nll,
    population_signed_gap,
    sample_data,
    score_law,
)

METRICS = {
    "ece": "ECE",
    "signed": "mean confidence - accuracy",
    "accuracy": "accuracy",
    "nll": "negative log likelihood",
    "nll_scaled": "negative log likelihood after the best temperature",
}


def metrics_of(law: ScoreLaw) -> dict[str, np.ndarray]:
    """Compute the METRICS of laws, in float64 where x64 is on."""
    return {name: np.asarray(value) for name, value in _metrics(law).items()}


@jax.jit
def _metrics(law: ScoreLaw) -> dict[str, jax.Array]:
    return {
        "ece": population_ece(law),
        "signed": population_signed_gap(law),
        "accuracy": population_accuracy(law),
        "nll": population_nll(law),
        "nll_scaled": population_nll(at_best_temperature(law)),
    }


@partial(jax.jit, static_argnames=("n", "p", "replicates"))
def fitted_laws(
    key: jax.Array, theta_norm: jax.Array, penalty: jax.Array, arms: jax.Array, *, n: int, p: int, replicates: int
) -> ScoreLaw:
    """Fit training sets of n rows literally, over all pairs, and return the laws of their scores, [replicates, arms].

    Args:
      key: of all training sets; every arm and penalty has the same ones.
      theta_norm, penalty: of the fits.
      arms: alpha = beta of Mixup and smoothing eps of each arm, shape [arms, 2].
      n, p, replicates: rows and columns of a training set, and how many of them.
    """
    theta = class_mean(p, theta_norm)

    def of_set(key: jax.Array) -> ScoreLaw:
        x, y = sample_data(key, n=n, theta=theta)

        def of_arm(arm: jax.Array) -> ScoreLaw:
            w = mixup_logistic_coefficients(x, y, penalty=penalty, alpha=arm[0], smoothing=arm[1])
            return score_law(0.5 * w, theta)

        return jax.lax.map(of_arm, arms)

    return jax.lax.map(of_set, jax.random.split(key, replicates))
