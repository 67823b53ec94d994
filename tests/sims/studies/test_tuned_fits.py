"""The best regularizers of a fit: a law with a minimum that is known, and the limit against SciPy's own line search."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from mixjax.gaussian import ScoreLaw, limit_logistic_scores, population_nll
from mixjax.sims.studies.tuned_fits import ARMS, tuned_arms

pytestmark = pytest.mark.medium

TRIED = {
    "penalty": np.array([1e-3, 1e-3, 0.1, 10.0]),
    "alpha": np.array([0.0, 0.5, 4.0]),
    "smoothing": np.array([0.0, 0.1, 0.9]),
}


def bowl(height, *, penalty, alpha, smoothing):
    """A calibrated law, the better the nearer log mu, t and eps are to a point: mu = 0.05, alpha = 1, eps = 0.3."""
    t = alpha / (2.0 * alpha + 1.0)
    distance = 0.1 * (jnp.log(penalty) - jnp.log(0.05)) ** 2 + (t - 1 / 3) ** 2 + (smoothing - 0.3) ** 2
    return ScoreLaw(height - distance, jnp.zeros_like(distance))


def test_each_arm_ends_at_the_minimum_of_what_it_may_choose():
    """Of a law with one minimum: what is free is there, and the rest is at no choice."""
    found = tuned_arms(bowl, (np.float64(6.0),), TRIED)
    for choice, (name, tried) in enumerate(TRIED.items()):
        best = (0.05, 1.0, 0.3)[choice]
        expected = [best if free[choice] else tried[0] for free in ARMS.values()]
        for criterion in range(2):
            np.testing.assert_allclose(found[name][criterion], expected, rtol=2e-3)


def test_a_minimum_outside_is_cut_at_the_bounds():
    tried = TRIED | {"penalty": np.array([1e-3, 1e-3, 0.01]), "smoothing": np.array([0.0, 0.1, 0.2])}
    found = tuned_arms(bowl, (np.float64(6.0),), tried)
    np.testing.assert_allclose(found["penalty"][0, list(ARMS).index("all three")], 0.01, rtol=1e-6)
    np.testing.assert_allclose(found["smoothing"][0, list(ARMS).index("all three")], 0.2, rtol=1e-6)


@pytest.mark.slow
def test_the_best_weight_decay_is_that_of_a_line_search():
    """At |theta| = 0.5, p/n = 0.7, by Brent's method without derivatives; no Mixup law does better beside it."""
    found = tuned_arms(limit_logistic_scores, (np.float64(0.7), np.float64(0.5)), TRIED)
    with jax.enable_x64(True):

        def nll(log_mu, alpha=0.0):
            return float(population_nll(limit_logistic_scores(0.7, 0.5, penalty=np.exp(log_mu), alpha=alpha)))

        decay, *mixed = (
            minimize_scalar(nll, bracket=(-2.0, -0.5, 1.0), args=(alpha,), tol=1e-6) for alpha in (0.0, 0.05, 0.5, 5.0)
        )
    decayed, both = (list(ARMS).index(arm) for arm in ("weight decay", "weight decay, Mixup"))
    np.testing.assert_allclose(found["nll"][0, decayed], decay.fun, atol=1e-9)
    np.testing.assert_allclose(found["penalty"][0, decayed], np.exp(decay.x), rtol=1e-3)
    assert decay.fun - 1e-9 < found["nll"][0, both] < min(each.fun for each in mixed)
