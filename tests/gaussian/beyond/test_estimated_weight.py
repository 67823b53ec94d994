"""The weight that is estimated from the training set: literal data against the dimension-free law, and its limit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mixjax.gaussian import (
    best_weight,
    estimated_weight,
    mean_estimator,
    sample_training_sets,
    score_law,
    weighted_estimator,
)

# n, p, theta_norm, sigma
CONFIGURATIONS = [(1, 1, 1.0, 1.0), (4, 1, 0.5, 1.0), (6, 2, 1.0, 2.0), (10, 30, 1.5, 0.7), (20, 5, 0.0, 1.0)]
KS_LEVEL = 1e-6 / (len(CONFIGURATIONS) * 3)  # a right sampler fails under a fresh key with probability 1e-6


@pytest.fixture(scope="module")
def exact(module_key):
    n, p, theta_norm, sigma = np.array(CONFIGURATIONS, np.float32).T
    sets = sample_training_sets(module_key, n=n, p=p, theta_norm=theta_norm, sigma=sigma, replicates=50_000)
    return sets.scores(sets.estimated_weights()), sets.estimated_weights()


@pytest.mark.parametrize("index", range(len(CONFIGURATIONS)), ids=[str(c) for c in CONFIGURATIONS])
def test_equals_literal_simulation(index, exact, rng):
    """KS of the weight, the mean and the gap."""
    n, p, theta_norm, sigma = CONFIGURATIONS[index]
    theta = np.zeros(p)
    theta[0] = theta_norm
    y = rng.choice([-1.0, 1.0], (30_000, n, 1))
    x = y * theta + sigma * rng.standard_normal((30_000, n, p))
    plain, other = np.mean(x * y, axis=1), np.mean(x, axis=1) * np.mean(y, axis=1)
    t = np.minimum(p * sigma**2 / (n * np.sum(plain**2, axis=1)), 0.5)
    estimate = (1 - t)[:, None] * plain + t[:, None] * other
    theirs = t, estimate @ theta / sigma**2, np.sum(estimate * (estimate - theta), axis=1) / sigma**2
    law, weight = exact
    for ours, literal in zip((weight, law.mean, law.gap), theirs, strict=True):
        samples = (np.round(np.asarray(v, float), 4) for v in (ours[index], literal))  # atoms: t = 1/2, mean 0
        assert stats.ks_2samp(*samples, method="asymp").pvalue > KS_LEVEL


def test_the_library_has_a_literal_form_of_the_same(rng):
    """`estimated_weight` of `mean_estimator`, for `weighted_estimator`: one training set by hand."""
    x, y, sigma = rng.standard_normal((7, 3)) + 0.5, np.array([1.0, -1, 1, 1, -1, 1, -1]), 0.8
    plain = np.mean(x * y[:, None], axis=0)
    t = min(3 * sigma**2 / (7 * np.sum(plain**2)), 0.5)
    np.testing.assert_allclose(estimated_weight(mean_estimator(x, y), n=7, sigma=sigma), t, rtol=1e-12)
    theta_hat = weighted_estimator(x, y, estimated_weight(mean_estimator(x, y), n=7, sigma=sigma))
    expected = (1 - t) * plain + t * x.mean(axis=0) * y.mean()
    np.testing.assert_allclose(theta_hat, expected, rtol=1e-12)
    assert score_law(theta_hat, np.ones(3), sigma=sigma).mean.shape == ()
    np.testing.assert_allclose(estimated_weight(np.stack([plain, 10 * plain]), n=7, sigma=sigma), [t, t / 100])


def test_theta_hat_without_an_axis_is_refused():
    with pytest.raises(ValueError, match=r"theta_hat must have shape \[\.\.\., p\]"):
        estimated_weight(1.0, n=3)


def test_it_tends_to_the_best_weight_or_to_one_half(key):
    """At n = 1e8 within 1e-3 of it, and so does the gap to 0 where the weight is below one half."""
    sets = sample_training_sets(key, n=np.float32(1e8), p=np.float32([2e7, 1e8, 4e8]), theta_norm=1.5, replicates=20)
    t = sets.estimated_weights()
    best = np.minimum(best_weight([0.2, 1.0, 4.0], 1.5), 0.5)
    np.testing.assert_allclose(t, np.broadcast_to(best[:, None], t.shape), atol=1e-3)
    assert (np.asarray(t[2]) == 0.5).all()
    assert np.abs(sets.scores(t).gap[:2]).max() < 1e-3
