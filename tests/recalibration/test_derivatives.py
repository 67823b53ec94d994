"""Derivatives of fitted parameters in the scores: against differences, in random directions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax import recalibration
from tests.recalibration.samples import N, binary, drawn

pytestmark = pytest.mark.medium

WHERE = np.arange(N) % 5 > 0  # masked rows hold NaN


def of_logits(rng):
    return drawn(rng)


def of_confidences(rng):
    confidence = rng.random(N)
    return confidence, (rng.random(N) < confidence**2).astype(int)


FITS = {
    "platt": (recalibration.fit_platt, binary),
    "vector": (recalibration.fit_vector_scaling, of_logits),
    "dirichlet": (recalibration.fit_dirichlet_calibration, of_logits),
    "beta": (recalibration.fit_beta_calibration, of_confidences),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", FITS)
def test_differences_agree(name, rng):
    fit, draw = FITS[name]
    scores, labels = draw(rng)

    def summary(scores):
        return sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(fit(scores, labels, where=WHERE)))

    summary, slope = jax.jit(summary), jax.jit(jax.grad(summary))
    found = slope(np.where(WHERE.reshape(-1, *[1] * (scores.ndim - 1)), scores, np.nan))
    assert not np.any(found[~WHERE])
    for _ in range(3):
        way = rng.standard_normal(scores.shape)
        expected = (summary(scores + 1e-5 * way) - summary(scores - 1e-5 * way)) / 2e-5
        np.testing.assert_allclose((found * way).sum(), expected, rtol=1e-6, atol=1e-8)
