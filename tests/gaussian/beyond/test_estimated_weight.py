"""The weight that is estimated from the training set: literal data against the dimension-free law, and its limit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mixjax.gaussian import best_weight, estimated_weight
from tests.gaussian.beyond.draws import estimated_weights, literal_means, scores, training_sets

# n, p, theta_norm, sigma
CONFIGURATIONS = [(1, 1, 1.0, 1.0), (4, 1, 0.5, 1.0), (6, 2, 1.0, 2.0), (10, 30, 1.5, 0.7), (20, 5, 0.0, 1.0)]
KS_LEVEL = 1e-6 / (len(CONFIGURATIONS) * 3)  # a right sampler fails under a fresh key with probability 1e-6


def test_equals_literal_simulation(key, rng):
    """KS of the weight, the mean and the gap."""
    sets = training_sets(key, *np.array(CONFIGURATIONS).T)
    weight = estimated_weights(sets)
    law = scores(sets, weight)
    for index, (n, p, theta_norm, sigma) in enumerate(CONFIGURATIONS):
        theta, plain, x_mean, y_mean = literal_means(rng, n, p, theta_norm, sigma)
        t = np.minimum(p * sigma**2 / (n * np.sum(plain**2, axis=1)), 0.5)
        estimate = (1 - t)[:, None] * plain + t[:, None] * x_mean * y_mean
        theirs = t, estimate @ theta / sigma**2, np.sum(estimate * (estimate - theta), axis=1) / sigma**2
        for ours, literal in zip((weight, law.mean, law.gap), theirs, strict=True):
            samples = (np.round(np.asarray(v, float), 4) for v in (ours[index], literal))  # atoms: t = 1/2, mean 0
            assert stats.ks_2samp(*samples, method="asymp").pvalue > KS_LEVEL


@pytest.mark.medium
def test_the_formula_of_estimates(rng):
    plain, sigma = rng.standard_normal((4, 3)) * np.array([[0.1], [1.0], [2.0], [10.0]]), 0.8
    expected = np.minimum(3 * sigma**2 / (7 * np.sum(plain**2, axis=1)), 0.5)
    np.testing.assert_allclose(estimated_weight(plain, n=7, sigma=sigma), expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"theta_hat must have shape \[\.\.\., p\]"):
        estimated_weight(1.0, n=3)


def test_it_tends_to_the_best_weight_or_to_one_half(key):
    """At n = 1e8 within 1e-3 of it, and so does the gap to 0 where the weight is below one half."""
    ratio = np.array([0.1, 0.2, 1.0, 2.0, 4.0])
    sets = training_sets(key, 1e8, 1e8 * ratio, 1.5)
    t = np.asarray(estimated_weights(sets))
    best = np.minimum(np.asarray(best_weight(ratio, 1.5)), 0.5)
    np.testing.assert_allclose(t, np.broadcast_to(best[:, None], t.shape), atol=1e-3)
    assert (t[4] == 0.5).all()
    assert np.abs(scores(sets, t).gap[:4]).max() < 2e-3
