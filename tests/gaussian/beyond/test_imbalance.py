"""Classes of unequal size: the law against literal data and labels, and its limit."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

from mixjax.gaussian import limit_imbalanced_scores, limit_scores, with_positive_rate
from tests.gaussian.beyond.draws import REPLICATES, literal_means, scores, training_sets

# n, p, theta_norm, sigma, t, positive_rate
CONFIGURATIONS = [
    (1, 1, 1.0, 1.0, 0.3, 0.7),
    (2, 3, 1.0, 2.0, 0.5, 0.1),
    (9, 2, 0.5, 1.0, 1.0, 0.9),
    (20, 15, 1.5, 0.5, 1 / 3, 0.5),
    (30, 10, 0.2, 1.0, 0.5, 0.8),
]
KS_LEVEL = 1e-6 / (2 * len(CONFIGURATIONS))  # a right sampler fails under a fresh key with probability 1e-6


def test_equals_literal_simulation(key, rng):
    """KS of mean and gap with theta_hat of n labels and n x p inputs, by NumPy from the definition."""
    *cells, t, rate = np.array(CONFIGURATIONS, np.float32).T
    drawn = scores(with_positive_rate(training_sets(key, *cells), rate), np.broadcast_to(t[:, None], (5, REPLICATES)))
    for index, (n, p, theta_norm, sigma, weight, rate) in enumerate(CONFIGURATIONS):
        theta, plain, x_mean, y_mean = literal_means(rng, n, p, theta_norm, sigma, rate)
        estimate = (1 - weight) * plain + weight * x_mean * y_mean
        mean = estimate @ theta / sigma**2
        gap = np.sum(estimate**2, axis=1) / sigma**2 - mean
        for ours, literal in zip(drawn, (mean, gap), strict=True):
            samples = (np.round(np.asarray(v, float), 5) for v in (ours[index], literal))
            assert stats.ks_2samp(*samples, method="asymp").pvalue > KS_LEVEL


def test_labels_are_binomial_and_nested(key):
    """Chi-square of the counts of n = 9 (level 1e-6 over five rates); a larger rate has no fewer positive labels."""
    rates = np.float32([0.05, 0.2, 0.5, 0.8, 0.9])
    sets = training_sets(key, 9, 2, 1.0)  # equal cells have equal draws
    count = (np.asarray(with_positive_rate(sets, rates).noise.mean_label) + 1) * 4.5
    np.testing.assert_allclose(count, np.round(count), atol=1e-5)
    count = np.round(count).astype(int)
    assert (np.diff(count, axis=0) >= 0).all()
    for row, rate in zip(count, rates.astype(float), strict=True):
        expected = REPLICATES * stats.binom.pmf(np.arange(10), 9, rate)
        counts = np.bincount(row, minlength=10)
        often = expected >= 5
        observed, wanted = ([*v[often], v[~often].sum()] for v in (counts, expected))
        assert stats.chi2.sf(sum((o - w) ** 2 / w for o, w in zip(observed, wanted, strict=True) if w > 0),
                             often.sum()) > 1e-6 / 5  # fmt: skip


@pytest.mark.medium
def test_the_law_tends_to_its_limit(key):
    """At n = 1000 means of mean and gap within 5 standard errors and 5e-3 of the limit."""
    rates = np.float32([0.05, 0.3, 0.5, 0.7, 0.95])
    law = scores(with_positive_rate(training_sets(key, 1000, 800, 1.2), rates), np.full((5, REPLICATES), 0.4))
    limit = limit_imbalanced_scores(0.8, 1.2, 0.4, positive_rate=rates.astype(float))
    for part, expected in zip(law, limit, strict=True):
        part = np.asarray(part, float)
        allowed = 5 * part.std(axis=-1) / np.sqrt(REPLICATES) + 5e-3
        assert (np.abs(part.mean(axis=-1) - expected) < allowed).all()


@pytest.mark.medium
def test_balanced_limit_is_the_papers_and_mixup_weakens_with_imbalance():
    rates = np.array([0.5, 0.9, 0.1, 0.5, 0.5])
    law = limit_imbalanced_scores(0.7, 1.1, 0.3, positive_rate=rates)
    balanced = jax.jit(limit_scores)(0.7, 1.1, 0.3)
    np.testing.assert_allclose((law.mean[0], law.gap[0]), (balanced.mean, balanced.gap), rtol=1e-12)
    np.testing.assert_allclose(law.mean[1], 1.21 * (1 - 0.3 * 0.36), rtol=1e-12)
    np.testing.assert_allclose(law.var[1], (1 - 0.3 * 0.36) ** 2 * 1.91 + 0.09 * 0.64 * 0.36 * 0.7, rtol=1e-12)


@pytest.mark.slow
def test_more_points_than_can_be_drawn_are_refused(key):
    sets = training_sets(key, 1e8, 2, 1.0)
    with pytest.raises(ValueError, match="n must be a whole number from 1 to 1e7, got 100000000"):
        with_positive_rate(sets, 0.3)
