"""Mixup with finitely many random pairs: literal pairs of literal data against the law without p-vectors."""

from __future__ import annotations

import math
from functools import partial

import jax
import numpy as np
import pytest
from scipy import integrate, stats

from mixjax.gaussian import (
    class_mean,
    limit_pairs_scores,
    limit_scores,
    population_ece,
    random_pairs_estimator,
    sample_data,
    sample_pairs_scores,
    score_law,
)
from tests.gaussian.beyond.draws import REPLICATES

# n, alpha, beta, numbers of pairs; of each, the first of these p, theta_norm and sigma
CONFIGURATIONS = [
    (3, 0.5, 2.0, (2, 3)),
    (1, 1.0, 1.0, (1, 4)),
    (10, 0.2, 0.2, (5, 40)),
    (8, 0.0, 1.0, (8, 16)),
]
CELLS = np.array([(2, 0.5, 2.0), (1, 1.0, 1.0), (20, 1.5, 1.0), (3, 0.0, 1.0), (5, 1.0, 0.7)], np.float32)
KS_LEVEL = 1e-6 / (len(CONFIGURATIONS) * 3 * 10)  # a right sampler fails under a fresh key with probability 1e-6
LITERAL = 10_000


@partial(jax.jit, static_argnums=(3, 4))
def drawn(key, alpha, beta, n, num_pairs):
    """The laws of all cells: one program for each n and numbers of pairs."""
    p, theta_norm, sigma = CELLS.T
    cells = {"p": p, "theta_norm": theta_norm, "sigma": sigma, "alpha": alpha, "beta": beta}
    return sample_pairs_scores(key, n=n, num_pairs=num_pairs, replicates=REPLICATES, **cells)


def literal(rng, n, alpha, beta, num_pairs, p, theta_norm, sigma):
    """(mean, gap) of plain, the paper's Mixup and each number of pairs, by NumPy from the definition."""
    theta = np.zeros(p)
    theta[0] = theta_norm
    y = rng.choice([-1.0, 1.0], (LITERAL, n))
    x = y[..., None] * theta + sigma * rng.standard_normal((LITERAL, n, p))
    first, second = rng.integers(0, n, (2, LITERAL, num_pairs[-1]))
    lam = rng.beta(alpha, beta, first.shape) if alpha else np.zeros(first.shape)
    rows = np.arange(LITERAL)[:, None]
    mixed_x = lam[..., None] * x[rows, first] + (1 - lam)[..., None] * x[rows, second]
    mixed_y = lam * y[rows, first] + (1 - lam) * y[rows, second]
    products = mixed_y[..., None] * mixed_x
    plain, t = np.mean(y[..., None] * x, axis=1), 2 * alpha * beta / ((alpha + beta) * (alpha + beta + 1))
    other = np.mean(x, axis=1) * np.mean(y, axis=1)[:, None]
    estimates = [plain, (1 - t) * plain + t * other, *(products[:, :m].mean(axis=1) for m in num_pairs)]
    for estimate in estimates:
        yield estimate @ theta / sigma**2, np.sum(estimate * (estimate - theta), axis=1) / sigma**2


@pytest.mark.few(1)
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
def test_equals_literal_simulation(configuration, key, rng):
    """KS of each mean and gap, and of the differences of gaps that random pairs make; of three of five cells."""
    n, alpha, beta, num_pairs = configuration
    law = drawn(key, np.float32(alpha), beta, n, num_pairs)
    for index in range(3):
        means, gaps = (np.asarray(part, float)[:, index] for part in law)
        p, theta_norm, sigma = CELLS[index]
        theirs = list(literal(rng, *configuration, int(p), theta_norm, sigma))
        pairs = [both for k, (mean, gap) in enumerate(theirs) for both in ((means[k], mean), (gaps[k], gap))]
        pairs += [(gaps[k] - gaps[1], theirs[k][1] - theirs[1][1]) for k in (2, 3)]
        for samples in pairs:
            assert stats.ks_2samp(*(np.round(v, 4) for v in samples), method="asymp").pvalue > KS_LEVEL


def test_a_wrong_alpha_leaves_the_plain_classifier_no_number_either(key):
    """Under `jit`, of every cell."""
    n, _, beta, num_pairs = CONFIGURATIONS[0]
    assert np.isnan(drawn(key, np.float32(np.nan), beta, n, num_pairs)).all()


@pytest.mark.slow
def test_the_librarys_literal_estimator_has_this_law(key):
    """`random_pairs_estimator` of `sample_data`, by KS."""
    theta = class_mean(4, 1.2)

    @jax.jit
    @jax.vmap
    def replicate(key):
        key_data, key_pairs = jax.random.split(key)
        x, y = sample_data(key_data, n=9, theta=theta)
        return score_law(random_pairs_estimator(key_pairs, x, y, alpha=2.0, beta=0.7, num_pairs=15), theta)

    ours = sample_pairs_scores(
        key, n=9, num_pairs=(15,), p=4, theta_norm=1.2, alpha=np.float32(2), beta=0.7, replicates=6000
    )
    theirs = replicate(jax.random.split(jax.random.fold_in(key, 1), 6000))
    for one, other in zip(ours, theirs, strict=True):
        assert stats.ks_2samp(np.asarray(one[2]), np.asarray(other), method="asymp").pvalue > 5e-7


@pytest.mark.slow
def test_the_mean_is_the_papers_and_the_calibration_is_not(key):
    """Mean scores agree within 5 standard errors (paired); one pair for each training point makes over-confidence."""
    law = sample_pairs_scores(key, n=20, num_pairs=(20, 400), p=[4, 20], theta_norm=1.0, alpha=np.float32(1), beta=1,
                              replicates=3000)  # fmt: skip
    mean, ece = np.asarray(law.mean, float), np.asarray(population_ece(law), float)
    for number in (2, 3):
        change = mean[number] - mean[1]
        assert (np.abs(change.mean(axis=-1)) < 5 * change.std(axis=-1) / math.sqrt(3000)).all()
    worse = ece[2, 1] - ece[1, 1]
    assert worse.mean() > 0.01 + 5 * worse.std() / math.sqrt(3000)


@pytest.mark.medium
def test_the_share_of_the_limit_is_its_integral():
    """gap(r = 1) - gap(r = inf) = c tau."""
    alpha, beta, tau = np.array([0.2, 1.0, 3.0]), np.array([0.2, 1.0, 0.5]), 0.0
    for low, high in ((0, 0.5), (0.5, 1)):
        tau = tau + np.array([
            integrate.quad(lambda lam, law=law: law.pdf(lam) * (lam**2 + (1 - lam) ** 2) ** 2, low, high)[0]
            for law in map(stats.beta, alpha, beta)
        ])  # fmt: skip
    ratios = np.array([[1.0], [np.inf]])
    law = jax.jit(limit_pairs_scores)(0.7, 1.3, alpha=alpha, beta=beta, pairs_ratio=ratios)
    np.testing.assert_allclose(law.gap[0] - law.gap[1], 0.7 * tau, rtol=1e-6)
    t = 2 * alpha * beta / ((alpha + beta) * (alpha + beta + 1))
    paper = jax.jit(limit_scores)(0.7, 1.3, t)
    np.testing.assert_allclose((law.mean[1], law.gap[1]), (paper.mean, paper.gap), rtol=1e-12)


def test_resampling_alone_adds_noise():
    """alpha = 0: tau = 1, as of a bootstrap sample of r n points."""
    law = jax.jit(limit_pairs_scores)(0.5, 1.0, alpha=0.0, beta=1.0, pairs_ratio=2.0)
    np.testing.assert_allclose((law.mean, law.gap), (1.0, 0.5 + 0.25), rtol=1e-12)


@pytest.mark.slow
def test_the_law_tends_to_its_limit(key):
    """At n = 500 means of mean and gap within 1 % and 5 standard errors of the limit, for three numbers of pairs."""
    ratios = np.array([0.5, 1.0, 4.0])
    law = sample_pairs_scores(key, n=500, num_pairs=tuple(map(int, 500 * ratios)), p=400, theta_norm=1.1,
                              alpha=np.float32(0.5), beta=0.5, replicates=300)  # fmt: skip
    limit = limit_pairs_scores(0.8, 1.1, alpha=0.5, beta=0.5, pairs_ratio=ratios)
    for part, expected in zip(law, limit, strict=True):
        part = np.asarray(part, float)[2:]
        error = part.std(axis=-1) / math.sqrt(300)
        assert (np.abs(part.mean(axis=-1) - expected) < 0.01 * np.abs(expected) + 5 * error).all()


@pytest.mark.slow
def test_numbers_of_pairs_increase_and_are_at_most_61(key):
    options = {"n": 3, "p": 2, "theta_norm": 1.0, "alpha": 1.0, "beta": 1.0, "replicates": 2}
    for num_pairs in ((), (3, 3), (5, 2)):
        with pytest.raises(ValueError, match="num_pairs must increase"):
            sample_pairs_scores(key, num_pairs=num_pairs, **options)
    with pytest.raises(ValueError, match="num_pairs must be at most 61 numbers, got 62"):
        sample_pairs_scores(key, num_pairs=range(1, 63), **options)
