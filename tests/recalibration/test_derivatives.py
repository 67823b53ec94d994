"""Derivatives of fitted parameters in scores and weights: against differences, in random directions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax import recalibration
from mixjax.recalibration.likelihood import softmax
from tests.recalibration.samples import N, binary, drawn

pytestmark = pytest.mark.medium

WHERE = np.arange(N) % 5 > 0  # masked rows hold NaN


def of_confidences(rng):
    confidence = rng.random(N)
    return confidence, (rng.random(N) < confidence**2).astype(int)


FITS = {
    "platt": (recalibration.fit_platt, binary),
    "vector": (recalibration.fit_vector_scaling, drawn),
    "dirichlet": (recalibration.fit_dirichlet_calibration, drawn),
    "beta": (recalibration.fit_beta_calibration, of_confidences),
    "temperature": (recalibration.fit_temperature, drawn),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", FITS)
def test_differences_agree(name, rng):
    fit, draw = FITS[name]
    (scores, labels), weights = draw(rng), rng.random(N) + 0.5

    def summary(scores, weights):
        leaves = jax.tree.leaves(fit(scores, labels, weights=weights, where=WHERE))
        return sum(jnp.sum(jnp.sin(leaf)) for leaf in leaves)

    summary, slopes = jax.jit(summary), jax.jit(jax.grad(summary, (0, 1)))
    hidden = np.where(WHERE.reshape(-1, *[1] * (scores.ndim - 1)), scores, np.nan)
    by_scores, by_weights = slopes(hidden, weights)
    assert not np.any(by_scores[~WHERE]) and not np.any(by_weights[~WHERE])
    for _ in range(3):
        way, of_weights = 1e-5 * rng.standard_normal(scores.shape), 1e-5 * rng.standard_normal(N)
        expected = summary(scores + way, weights) - summary(scores - way, weights)
        np.testing.assert_allclose((by_scores * way).sum(), expected / 2, rtol=1e-7, atol=1e-13)
        expected = summary(scores, weights + of_weights) - summary(scores, weights - of_weights)
        np.testing.assert_allclose((by_weights * of_weights).sum(), expected / 2, rtol=1e-7, atol=1e-13)


@pytest.mark.parametrize("derivative", [jax.jacfwd, jax.jacrev])
def test_probabilities_that_are_nan_have_derivatives_that_are(derivative):
    assert np.isnan(derivative(softmax)(jnp.array([1.0, np.nan]))).all()
