"""Training sets of K classes without p-vectors: against literal ones, and against their limit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mixjax.gaussian import class_means, limit_class_sets, sample_class_sets

# n, p, |theta| by K: few rows (empty classes), as few dimensions as there are classes, and many; K is compiled
CONFIGURATIONS = {3: [(2, 4, 0.5), (5, 3, 1.0)], 2: [(1, 2, 1.0)], 4: [(7, 9, 0.0)], 5: [(20, 40, 2.0)]}
WEIGHTS = (0.0, 0.4)
DRAWS = 10_000
KS_LEVEL = 1e-6 / (5 * 13)  # a right sampler fails under a fresh key with probability 1e-6


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


def literal(rng, n, p, theta_norm, num_classes):
    """W(t) of the definition by NumPy, and the means."""
    means = np.asarray(class_means(num_classes, p, theta_norm), float)
    labels = rng.integers(0, num_classes, (DRAWS, n))
    x, z = means[labels] + rng.standard_normal((DRAWS, n, p)), np.eye(num_classes)[labels] * num_classes - 1
    plain, both = np.einsum("rnk,rnp->rkp", z, x) / n, z.mean(axis=1)[:, :, None] * x.mean(axis=1)[:, None]
    return [(1 - t) * plain + t * both for t in WEIGHTS], np.broadcast_to(means, (DRAWS, *means.shape))


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("num_classes", CONFIGURATIONS)
def test_equals_literal_training_sets(num_classes, key, rng):
    """KS of 13 numbers of the two classifiers of a training set."""
    cells = CONFIGURATIONS[num_classes]
    n, p, theta_norm = np.array(cells, np.float32).T
    sets = sample_class_sets(key, n=n, p=p, theta_norm=theta_norm, num_classes=num_classes, replicates=DRAWS)
    ours = [np.asarray(sets.estimator(t), float) for t in WEIGHTS]
    for index, cell in enumerate(cells):
        found = numbers([w[index] for w in ours], np.asarray(sets.means[index], float))
        for one, other in zip(found, numbers(*literal(rng, *cell, num_classes)), strict=True):
            assert stats.ks_2samp(*(np.round(v, 4) for v in (one, other)), method="asymp").pvalue > KS_LEVEL
    gram, wanted = np.asarray(sets.means[0, 0] @ sets.means[0, 0].T), np.full((num_classes, num_classes), -1.0)
    np.fill_diagonal(wanted, num_classes - 1)
    np.testing.assert_allclose(gram, float(theta_norm[0]) ** 2 * wanted / (num_classes - 1), atol=1e-6)
    counts = n[:, None, None] * np.asarray(sets.shares)
    np.testing.assert_allclose(counts, counts.round(), atol=1e-5)
    observed = np.bincount(counts[-1, :, 1].round().astype(int), minlength=int(n[-1]) + 1)
    expected = DRAWS * stats.binom.pmf(np.arange(n[-1] + 1), n[-1], 1 / num_classes)
    often = expected > 5  # false-alarm rate 1e-6
    assert stats.chi2.sf(np.sum((observed - expected)[often] ** 2 / expected[often]), often.sum()) > 1e-6


@pytest.mark.medium
def test_the_limit_has_equal_shares_and_orthogonal_rests():
    """<S_k, S_j> / n^2 = <mu_k, mu_j> / K^2, and c / K more for k = j; <S_k, mu_j> / n = <mu_k, mu_j> / K."""
    limit = limit_class_sets(0.2, 1.5, num_classes=3)
    sums, means = np.asarray(limit.sums)[0], np.asarray(class_means(3, 3, 1.5))
    np.testing.assert_allclose(sums @ sums.T, means @ means.T / 9 + 0.2 / 3 * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(sums @ np.asarray(limit.means)[0].T, means @ means.T / 3, atol=1e-12)
    np.testing.assert_allclose(limit.shares, 1 / 3)


@pytest.mark.slow
def test_training_sets_tend_to_their_limit(key):
    """n = 1e6, p = 2e5: inner products of W with means and with itself, within 2 %."""
    sets = sample_class_sets(key, n=1_000_000, p=200_000, theta_norm=1.5, num_classes=5, replicates=1)
    limit = limit_class_sets(0.2, 1.5, num_classes=5)
    for t in WEIGHTS:
        one, other = (np.asarray(s.estimator(t))[0] for s in (sets, limit))
        means = np.asarray(limit.means)[0]
        np.testing.assert_allclose(one @ means.T, other @ means.T, atol=0.05)
        np.testing.assert_allclose(one @ one.T, other @ other.T, atol=0.1)


def test_more_than_60_classes_are_refused(key):
    with pytest.raises(ValueError, match="num_classes must be at most 60, got 61"):
        sample_class_sets(key, n=3, p=99, theta_norm=1.0, num_classes=61, replicates=2)


@pytest.mark.slow
def test_cells_and_weights_broadcast(key):
    cells = {"n": np.array([[3.0], [8.0]]), "p": np.array([4.0, 5.0, 6.0]), "num_classes": 3, "replicates": 2}
    sets = sample_class_sets(key, theta_norm=1.0, **cells)
    assert sets.estimator(np.array([[0.0], [0.2]])).shape == (2, 3, 2, 3, 5)
    alone = sample_class_sets(key, n=8.0, p=5.0, theta_norm=1.0, num_classes=3, replicates=2)
    np.testing.assert_allclose(sets.sums[1, 1], alone.sums, atol=1e-12)
