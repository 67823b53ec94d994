"""Classes of unequal size: the law against literal data and labels, and its limit."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest
from scipy import stats

from mixjax.gaussian import limit_imbalanced_scores, limit_scores, sample_training_sets, with_positive_rate

# n, p, theta_norm, sigma, t, positive_rate
CONFIGURATIONS = [
    (1, 1, 1.0, 1.0, 0.3, 0.7),
    (2, 3, 1.0, 2.0, 0.5, 0.1),
    (9, 2, 0.5, 1.0, 1.0, 0.9),
    (20, 15, 1.5, 0.5, 1 / 3, 0.5),
    (30, 10, 0.2, 1.0, 0.5, 0.8),
]
REPLICATES = 20_000
KS_LEVEL = 1e-6 / (2 * len(CONFIGURATIONS))  # a right sampler fails under a fresh key with probability 1e-6


@pytest.fixture(scope="module")
def drawn(module_key):
    """Laws of every configuration, [configurations, replicates], from one call."""
    n, p, theta_norm, sigma, t, rate = np.array(CONFIGURATIONS, np.float32).T
    sets = sample_training_sets(module_key, n=n, p=p, theta_norm=theta_norm, sigma=sigma, replicates=REPLICATES)
    return with_positive_rate(sets, rate).scores(t[:, None])


@pytest.mark.parametrize("index", range(len(CONFIGURATIONS)), ids=[str(c) for c in CONFIGURATIONS])
def test_equals_literal_simulation(index, drawn, rng):
    """KS of mean and gap with theta_hat of n labels and n x p inputs, by NumPy from the definition."""
    n, p, theta_norm, sigma, t, rate = CONFIGURATIONS[index]
    y = np.where(rng.random((REPLICATES, n)) < rate, 1.0, -1.0)
    x = sigma * rng.standard_normal((REPLICATES, n, p))
    x[..., 0] += y * theta_norm
    plain = np.mean(y[..., None] * x, axis=1)
    estimate = (1 - t) * plain + t * x.mean(axis=1) * y.mean(axis=1)[:, None]
    mean = estimate[:, 0] * theta_norm / sigma**2
    gap = np.sum(estimate**2, axis=1) / sigma**2 - mean
    for ours, literal in zip(drawn, (mean, gap), strict=True):
        ours, literal = np.round(np.asarray(ours[index], float), 5), np.round(literal, 5)
        assert stats.ks_2samp(ours, literal, method="asymp").pvalue > KS_LEVEL


def test_labels_are_binomial_and_nested(key):
    """Chi-square of the counts of n = 9 (level 1e-6 over three rates); a larger rate has no fewer positive labels."""
    rates = np.float32([0.05, 0.5, 0.8])
    sets = sample_training_sets(key, n=np.full(3, 9, np.float32), p=2, theta_norm=1.0, replicates=50_000)
    same = jax.tree.map(lambda part: part[:1] if part.shape[0] == 3 else part, sets)  # one set of draws for all rates
    count = np.asarray((with_positive_rate(same, rates).noise.mean_label + 1) * 4.5)
    np.testing.assert_allclose(count, np.round(count), atol=1e-5)
    count = np.round(count).astype(int)
    assert (np.diff(count, axis=0) >= 0).all()
    for row, rate in zip(count, rates.astype(float), strict=True):
        expected = 50_000 * stats.binom.pmf(np.arange(10), 9, rate)
        counts = np.bincount(row, minlength=10)
        often = expected >= 5
        observed, wanted = ([*v[often], v[~often].sum()] for v in (counts, expected))
        assert stats.chi2.sf(sum((o - w) ** 2 / w for o, w in zip(observed, wanted, strict=True) if w > 0),
                             often.sum()) > 1e-6 / 3  # fmt: skip


def test_the_law_tends_to_its_limit(key):
    """At n = 20,000 means of mean and gap within 5 standard errors and 1e-3 of the limit."""
    rates = np.float32([0.5, 0.7, 0.95])
    sets = sample_training_sets(key, n=np.float32(20_000), p=16_000, theta_norm=1.2, replicates=200)
    law = with_positive_rate(sets, rates).scores(0.4)
    limit = limit_imbalanced_scores(0.8, 1.2, 0.4, positive_rate=rates.astype(float))
    for part, expected in zip(law, limit, strict=True):
        part = np.asarray(part, float)
        allowed = 5 * part.std(axis=-1) / math.sqrt(200) + 1e-3
        assert (np.abs(part.mean(axis=-1) - expected) < allowed).all()


def test_balanced_limit_is_the_papers_and_mixup_weakens_with_imbalance():
    law, balanced = limit_imbalanced_scores(0.7, 1.1, 0.3, positive_rate=[0.5, 0.9]), limit_scores(0.7, 1.1, 0.3)
    np.testing.assert_allclose((law.mean[0], law.gap[0]), (balanced.mean, balanced.gap), rtol=1e-12)
    np.testing.assert_allclose(law.mean[1], 1.21 * (1 - 0.3 * 0.36), rtol=1e-12)
    np.testing.assert_allclose(law.var[1], (1 - 0.3 * 0.36) ** 2 * 1.91 + 0.09 * 0.64 * 0.36 * 0.7, rtol=1e-12)


def test_more_points_than_can_be_drawn_are_refused(key):
    sets = sample_training_sets(key, n=1e8, p=2, theta_norm=1.0, replicates=1)
    with pytest.raises(ValueError, match="n must be a whole number from 1 to 1e7, got 100000000"):
        with_positive_rate(sets, 0.3)
