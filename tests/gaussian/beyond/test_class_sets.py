"""Training sets of K classes without p-vectors: against literal ones, and against their limit."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

from mixjax.gaussian import class_estimator, class_means, limit_class_sets, sample_class_sets, sample_scores

# n, p, K, |theta|: few rows (empty classes), as few dimensions as there are classes, and many
CONFIGURATIONS = [(1, 2, 2, 1.0), (2, 4, 3, 0.5), (5, 3, 3, 1.0), (7, 9, 4, 0.0), (20, 40, 5, 2.0)]
WEIGHTS = (0.0, 0.4)
DRAWS = 10_000
KS_CHECKS = len(CONFIGURATIONS) * 13
KS_LEVEL = 1e-6 / KS_CHECKS  # a right sampler fails under a fresh key with probability 1e-6


def numbers(weights, means):
    """Of W(t) at both t: inner products with means and with each other, alone and together; 13 a training set."""
    plain, mixed = weights
    with_means = [np.einsum("rkp,rjp->rkj", w, means) for w in weights]
    gram = [np.einsum("rkp,rjp->rkj", w, w) for w in weights]
    largest = np.linalg.eigvalsh(gram[0])[:, -1]
    return [
        *(m[:, 0, 0] for m in with_means), *(m[:, 0, 1] for m in with_means),
        *(g[:, 0, 0] for g in gram), *(g[:, 1, 0] for g in gram), largest,
        np.einsum("rkk->r", gram[0]) - np.einsum("rkk->r", gram[1]), np.sum(plain * mixed, axis=(1, 2)),
        with_means[0][:, 0, 0] * gram[0][:, 0, 0], np.einsum("rkk->r", with_means[0]) - largest,
    ]  # fmt: skip


def literal(rng, n, p, num_classes, theta_norm):
    means = np.asarray(class_means(num_classes, p, theta_norm), float)
    labels = rng.integers(0, num_classes, (DRAWS, n))
    x = means[labels] + rng.standard_normal((DRAWS, n, p))
    estimate = jax.vmap(lambda x, y, t: class_estimator(x, y, t, num_classes=num_classes), (0, 0, None))
    return [np.asarray(estimate(x, labels, t), float) for t in WEIGHTS], np.broadcast_to(means, (DRAWS, *means.shape))


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
def test_equals_literal_training_sets(configuration, key, rng):
    """KS of 13 numbers of the two classifiers of a training set."""
    n, p, num_classes, theta_norm = configuration
    sets = sample_class_sets(
        key, n=n, p=p, theta_norm=np.float32(theta_norm), num_classes=num_classes, replicates=DRAWS
    )
    ours = numbers([np.asarray(sets.estimator(t), float) for t in WEIGHTS], np.asarray(sets.means, float))
    theirs = numbers(*literal(rng, *configuration))
    assert len(ours) == 13
    for one, other in zip(ours, theirs, strict=True):
        assert stats.ks_2samp(*(np.round(v, 4) for v in (one, other)), method="asymp").pvalue > KS_LEVEL


def test_two_classes_are_the_papers(key):
    """KS with `sample_scores` of mean and gap: W has theta_hat in its first row."""
    cell = {"n": 6, "p": 1000, "theta_norm": np.float32(1.5), "replicates": DRAWS}
    sets = sample_class_sets(key, num_classes=2, **cell)
    weights, means = (np.asarray(a, float)[:, 0] for a in (sets.estimator(0.3), sets.means))
    mean = np.sum(weights * means, axis=1)
    law = sample_scores(key, t=0.3, **cell)
    for one, other in ((mean, law.mean), (np.sum(weights**2, axis=1) - mean, law.gap)):
        assert stats.ks_2samp(one, np.asarray(other, float), method="asymp").pvalue > 5e-7


def test_the_means_are_a_simplex_and_shares_those_of_labels(key):
    sets = sample_class_sets(key, n=10, p=5, theta_norm=1.5, num_classes=4, replicates=4000)
    gram = np.asarray(sets.means[0] @ sets.means[0].T)
    literal_means = np.asarray(class_means(4, 5, 1.5))
    np.testing.assert_allclose(gram, literal_means @ literal_means.T, atol=1e-12)
    counts = 10 * np.asarray(sets.shares)
    np.testing.assert_allclose(counts, counts.round(), atol=1e-12)
    np.testing.assert_allclose(counts.sum(axis=1), 10)
    observed = np.bincount(counts[:, 2].round().astype(int), minlength=11)
    expected = 4000 * stats.binom.pmf(np.arange(11), 10, 0.25)
    few = slice(0, 7)  # where 5 or more are expected; false-alarm rate 1e-6
    assert stats.chi2.sf(np.sum((observed - expected)[few] ** 2 / expected[few]), 7) > 1e-6


def test_training_sets_tend_to_their_limit(key):
    """n = 1e6, p = 2e5: inner products of W with means and with itself, within 2 %."""
    sets = sample_class_sets(key, n=1_000_000, p=200_000, theta_norm=1.5, num_classes=5, replicates=1)
    limit = limit_class_sets(0.2, 1.5, num_classes=5)
    for t in WEIGHTS:
        one, other = (np.asarray(s.estimator(t))[0] for s in (sets, limit))
        means = np.asarray(limit.means)[0]
        np.testing.assert_allclose(one @ means.T, other @ means.T, atol=0.05)
        np.testing.assert_allclose(one @ one.T, other @ other.T, atol=0.1)


@pytest.mark.slow
def test_cells_weights_and_wrong_values(key):
    cells = {"n": np.array([[3.0], [8.0]]), "p": np.array([4.0, 5.0, 6.0]), "num_classes": 3, "replicates": 2}
    sets = sample_class_sets(key, theta_norm=1.0, **cells)
    assert sets.estimator(np.array([[0.0], [0.2]])).shape == (2, 3, 2, 3, 5)
    alone = sample_class_sets(key, n=8.0, p=5.0, theta_norm=1.0, num_classes=3, replicates=2)
    np.testing.assert_allclose(sets.sums[1, 1], alone.sums, atol=1e-12)
    wrong = {"n": 3, "p": 4, "theta_norm": 1.0, "num_classes": 3, "replicates": 2}
    for change, words in (({"p": 2}, "p must be a whole number from 3 to 1e10, got 2"), ({"n": 0}, "n must be"),
                          ({"num_classes": 1}, "num_classes must be at least 2"), ({"theta_norm": -1.0}, "theta_norm"),
                          ({"num_classes": 61}, "at most 60, got 61"), ({"replicates": 0}, "replicates")):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            sample_class_sets(key, **wrong | change)
    traced = jax.jit(lambda cell: sample_class_sets(key, num_classes=3, replicates=2, **cell).estimator(0.1))
    found = traced(
        {"n": np.array([3, 0.5, 3, 3]), "p": np.array([4, 4, 2.0, 4]), "theta_norm": np.array([1, 1, 1, -1.0])}
    )
    np.testing.assert_array_equal(np.isnan(found).all(axis=(1, 2, 3)), [False, True, True, True])
    np.testing.assert_array_equal(np.isnan(found).any(axis=(1, 2, 3)), [False, True, True, True])
