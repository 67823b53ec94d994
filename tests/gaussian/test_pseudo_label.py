"""Algorithm 1: the exact law against the literal algorithm, and sums over unlabeled points against their moments."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mixjax.gaussian import population_ece, pseudo_label_estimators, sample_pseudo_label_scores
from mixjax.gaussian.unlabeled_sums import _POINTS, unlabeled_sums
from mixjax.numerics.threefry import Source
from mixjax.random import normals

jitted_sums = jax.jit(unlabeled_sums, static_argnums=3)
REPLICATES = 5_000
CONFIGURATIONS = [  # n_u, n_l, p, theta_norm, unlabeled_norm, cosine, t
    (7, 1, 1, 1.0, 1.0, 1.0, 0.3),
    (7, 3, 1, 0.5, 2.0, -1.0, 0.5),
    (7, 1, 2, 1.0, 1.0, 1.0, 0.3),
    (7, 4, 2, 0.7, 1.5, 0.3, 1.0),
    (7, 2, 3, 1.0, 1.0, 1.0, 0.45),
    (7, 5, 3, 1.0, 0.5, -0.6, 0.9),
    (40, 1, 4, 0.8, 0.8, 1.0, 1 / 3),
    (40, 10, 4, 0.5, 1.0, 0.0, 0.8),
    (40, 5, 12, 1.5, 1.5, 1.0, 0.3),
    (40, 20, 6, 0.0, 1.0, 0.5, 0.45),
    (40, 3, 30, 2.0, 1.0, 0.8, 0.2),
    (7, 3, 30, 0.5, 1.0, 0.8, 1.0),  # nearly all of the variance lies in directions that only mean(x) has
]
ALARM = 1e-6 / (6 * len(CONFIGURATIONS))  # of one test, so that the file's is about 1e-6
NAMES = ("init", "final", "mix")


@pytest.fixture(scope="module")
def exact(module_key):
    """The laws of the configurations."""
    names = ("n_unlabeled", "n_labeled", "p", "theta_norm", "unlabeled_norm", "cosine", "t")
    cell = dict(zip(names, np.array(CONFIGURATIONS).T, strict=True))
    return jax.tree.map(np.asarray, sample_pseudo_label_scores(module_key, **cell, replicates=REPLICATES))


def literal(rng, n_u, n_l, p, theta_norm, unlabeled_norm, cosine, t):
    """Mean and variance of the three classifiers' scores, from data that are drawn: nothing here is from mixjax."""
    theta, theta_u = np.zeros(p), np.zeros(p)
    theta[0], theta_u[0] = theta_norm, unlabeled_norm * cosine
    if p > 1:
        theta_u[1] = unlabeled_norm * np.sqrt(1 - cosine**2)
    y = rng.choice([-1.0, 1.0], (REPLICATES, n_l, 1))
    x = y * theta + rng.standard_normal((REPLICATES, n_l, p))
    other = rng.choice([-1.0, 1.0], (REPLICATES, n_u, 1)) * theta_u + rng.standard_normal((REPLICATES, n_u, p))
    init = (x * y).mean(axis=1)
    pseudo = np.sign(np.einsum("rip,rp->ri", other, init))[..., None]
    x, y = np.concatenate([x, other], axis=1), np.concatenate([y, pseudo], axis=1)
    final = (x * y).mean(axis=1)
    mix = (1 - t) * final + t * x.mean(axis=1) * y.mean(axis=1)
    return {name: (part @ theta, (part**2).sum(axis=1)) for name, part in zip(NAMES, (init, final, mix), strict=True)}


@pytest.mark.few(3)
@pytest.mark.parametrize("index", range(len(CONFIGURATIONS)))
def test_equals_the_literal_algorithm(exact, index, rng):
    """All six scalars by Kolmogorov-Smirnov, rounded so that atoms agree."""
    theirs = literal(rng, *CONFIGURATIONS[index])
    for name in NAMES:
        law = exact[name]
        for ours, their in zip((law.mean[index], law.mean[index] + law.gap[index]), theirs[name], strict=True):
            ours, their = np.round(ours, 6), np.round(their, 6)
            assert stats.ks_2samp(ours, their, method="asymp").pvalue > ALARM, name


def test_scores_move_together(exact, rng):
    """Not only each scalar: the differences between the classifiers, ranked, too (false alarm 2e-6)."""
    index = 8
    theirs = literal(rng, *CONFIGURATIONS[index])
    for first, second in (("init", "final"), ("final", "mix")):
        for part, k in (("mean", 0), ("var", 1)):
            ours = getattr(exact[second], part)[index] - getattr(exact[first], part)[index]
            their = theirs[second][k] - theirs[first][k]
            assert stats.ks_2samp(ours, their, method="asymp").pvalue > 1e-6 / 2


@pytest.mark.medium
def test_the_public_algorithm_is_the_literal_one(rng):
    theta = np.array([1.0, 0.0, 0.0])
    y, hidden = rng.choice([-1.0, 1.0], 5), rng.choice([-1.0, 1.0], 9)
    x = y[:, None] * theta + rng.standard_normal((5, 3))
    unlabeled = hidden[:, None] * theta + rng.standard_normal((9, 3))
    found = pseudo_label_estimators(x, y, unlabeled, 0.3)
    init = (x * y[:, None]).mean(axis=0)
    labels = np.concatenate([y, np.sign(unlabeled @ init)])
    points = np.concatenate([x, unlabeled])
    final = (points * labels[:, None]).mean(axis=0)
    mix = 0.7 * final + 0.3 * points.mean(axis=0) * labels.mean()
    for name, expected in zip(NAMES, (init, final, mix), strict=True):
        np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_gaussian_sums_have_the_moments_of_the_exact_ones(key):
    """Means and covariances of the five sums over 50 points, each within 5 standard errors of 20,000 draws."""
    draws, sums = 20_000, {}
    b = np.repeat(np.float32([[0.0], [0.7], [-1.5], [2.0]]), draws, axis=1)
    for law, k in zip(("exact", "gaussian"), jax.random.split(key), strict=True):
        drawn = jitted_sums(Source.of(k, b.shape), b, np.float32(50), law)
        sums[law] = np.stack([np.asarray(part, float) for part in drawn], axis=1)
    for exact, gaussian in zip(sums["exact"], sums["gaussian"], strict=True):
        deviation = exact.std(axis=1)
        spread = deviation / np.sqrt(draws)
        assert (np.abs(exact.mean(axis=1) - gaussian.mean(axis=1)) <= 5 * np.sqrt(2) * spread + 1e-6).all()
        error = 5 * np.sqrt(2 * 3 / draws) * np.outer(deviation, deviation)
        assert (np.abs(np.cov(exact) - np.cov(gaussian)) <= error + 1e-5).all()


@pytest.mark.slow
def test_sums_of_many_points_keep_their_digits(key):
    """Over 100,000 points in float32: what float64 has of the same m to 0.1, 3e-4 of a standard deviation."""
    count, b = 100_000, np.float32(0.8)
    source = Source.of(key, (2,))
    found = jitted_sums(source, np.full(2, b), np.float32(count), "exact")
    points = source._replace(position=jnp.arange(4, dtype=np.uint32)).fold_in(_POINTS)  # two groups of each draw
    pairs = jax.lax.map(lambda k: jnp.stack(normals(points, k, np.dtype(np.float32))), jnp.arange(count // 2))
    m = np.float64(b + np.asarray(pairs).reshape(count, 2, 2))  # [point, draw, pseudo-label +1 or -1]
    positive = 0.5 * (count + np.asarray(found.pseudo_label, float))
    counts = np.arange(count)[:, None, None] < np.stack([positive, count - positive], axis=-1)
    pseudo = np.array([1.0, -1.0])
    sums = (np.abs(m), pseudo * np.abs(m), np.sign(m), pseudo * np.sign(m), pseudo + 0 * m)
    for part, values in zip(found, sums, strict=True):
        np.testing.assert_allclose(part, (values * counts).sum(axis=(0, 2)), atol=0.1)


@pytest.mark.slow
def test_gaussian_sums_give_the_same_errors(key):
    """ECE of the final classifier at n_u = 400, within 5 standard errors, 2e-3 of it."""
    options = {"n_labeled": 10, "n_unlabeled": 400, "p": 20, "theta_norm": 1.5, "t": 0.3, "replicates": 20_000}
    errors = []
    for law in ("exact", "gaussian"):
        laws = sample_pseudo_label_scores(key, sums=law, **options)
        errors.append(np.array([np.asarray(population_ece(laws[name]), float) for name in NAMES]))
    means, spread = [e.mean(axis=1) for e in errors], errors[0].std(axis=1) / np.sqrt(20_000)
    assert (np.abs(means[0] - means[1]) < 5 * np.sqrt(2) * spread).all()


@pytest.mark.slow
def test_pseudo_labels_can_make_it_underconfident(key):
    """p = 600, n_l = 50, n_u = 30,000, |theta| = 2: rho = 1.16 by literal simulation, and every Mixup hurts."""
    laws = sample_pseudo_label_scores(key, n_labeled=50, n_unlabeled=30_000, p=600, theta_norm=2.0, t=0.3,
                                      replicates=400, sums="gaussian")  # fmt: skip
    slope = np.asarray(laws["final"].slope)
    assert abs(slope.mean() - 1.16) < 5 * slope.std() / 20 + 5e-3
    assert (population_ece(laws["mix"]) > population_ece(laws["final"])).all()


CELL = {"n_labeled": 5, "n_unlabeled": 4, "p": 3, "theta_norm": 1.0, "t": 0.2, "replicates": 2}


@pytest.mark.parametrize("wrong, words", [  # of "exact" sums; others are in test_wrong_values.py
    ({"n_unlabeled": -1}, r"n_unlabeled must be a whole number from 0 to 2\^24, got -1"),
    ({"n_unlabeled": 2**24 + 1}, r"n_unlabeled must be a whole number from 0 to 2\^24, got 16777217"),
    ({"t": -0.1}, r"t must be in \[0, 1\]"),
    ({"sums": "normal"}, r"sums must be one of \('exact', 'gaussian'\), got 'normal'"),
])  # fmt: skip
def test_wrong_values_are_refused(key, wrong, words):
    with pytest.raises(ValueError, match=words):
        sample_pseudo_label_scores(key, **CELL | wrong)


@pytest.mark.slow
def test_numbers_of_points_side_by_side(key):
    """What is drawn for one number of points does not depend on the others of the call."""
    together = sample_pseudo_label_scores(key, **CELL | {"n_unlabeled": [0, 3, 40]})
    for place, count in enumerate((0, 3, 40)):
        alone = sample_pseudo_label_scores(key, **CELL | {"n_unlabeled": count})
        for one, other in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(one[place], other, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_shapes_and_one_dimension(key):
    laws = sample_pseudo_label_scores(key, **CELL | {"t": [0.0, 0.2, 0.4], "theta_norm": [[1.0], [2.0]]})
    assert {law.mean.shape for law in laws.values()} == {(2, 3, 2)}
    np.testing.assert_array_equal(laws["final"].gap[:, 0], laws["mix"].gap[:, 0])
    np.testing.assert_array_equal(laws["init"].mean[:, :1], laws["init"].mean[:, 1:2])
    options = {"p": [1, 3], "cosine": 0.5, "n_unlabeled": 0, "sums": "gaussian"}
    nothing = sample_pseudo_label_scores(key, **CELL | options)
    assert np.isnan(nothing["final"].mean[0]).all()  # one dimension has one direction
    np.testing.assert_allclose(nothing["final"].gap[1], nothing["init"].gap[1], rtol=1e-4, atol=1e-5)
