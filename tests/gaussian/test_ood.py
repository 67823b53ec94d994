"""Out of domain: the exact law against literal training sets, its limit, and the condition of Theorem 3.4."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

from mixjax.gaussian import (
    ScoreLaw,
    best_ood_weight,
    limit_ood_scores,
    limit_scores,
    mixup_can_help_ood,
    mixup_helps_ood,
    population_ece,
    sample_ood_scores,
    sample_scores,
)

REPLICATES = 20_000
# n, p, theta_norm, test_norm, cosine, t, sigma
CONFIGURATIONS = [
    (1, 1, 1.0, 0.5, -1.0, 0.3, 1.0),
    (4, 1, 0.5, 2.0, 1.0, 0.5, 2.0),
    (1, 2, 1.0, 1.0, 0.5, 0.3, 1.0),
    (3, 2, 0.7, 1.5, -0.4, 1.0, 1.0),
    (5, 3, 1.0, 1.0, 0.0, 0.4, 0.5),
    (4, 3, 0.3, 2.0, 0.9, 0.9, 1.0),
    (20, 8, 1.5, 1.0, 0.7, 1 / 3, 1.0),
    (40, 30, 0.0, 1.0, 0.2, 0.45, 1.0),
    (10, 5, 1.0, 0.0, 0.2, 0.3, 1.0),
]
ALARM = 1e-6 / (3 * len(CONFIGURATIONS))  # of a Kolmogorov-Smirnov test, so that the file's is 1e-6


@pytest.fixture(scope="module")
def exact(module_key):
    n, p, theta_norm, test_norm, cosine, t, sigma = np.array(CONFIGURATIONS).T
    with jax.enable_x64(True):
        law = sample_ood_scores(module_key, n=n, p=p, theta_norm=theta_norm, test_norm=test_norm, cosine=cosine, t=t,
                                sigma=sigma, replicates=REPLICATES)  # fmt: skip
        return jax.tree.map(np.asarray, law)


def literal(rng, n, p, theta_norm, test_norm, cosine, t, sigma):
    """Mean and variance of the score, from data sets that are drawn; nothing here is from mixjax."""
    theta, test = np.zeros(p), np.zeros(p)
    theta[0], test[0] = theta_norm, test_norm * cosine
    if p > 1:
        test[1] = test_norm * np.sqrt(1 - cosine**2)
    y = rng.choice([-1.0, 1.0], (REPLICATES, n, 1))
    x = y * theta + sigma * rng.standard_normal((REPLICATES, n, p))
    mixed = (1 - t) * (x * y).mean(axis=1) + t * x.mean(axis=1) * y.mean(axis=1)
    return mixed @ test / sigma**2, (mixed**2).sum(axis=1) / sigma**2


@pytest.mark.parametrize("index", range(len(CONFIGURATIONS)), ids=[f"n={c[0]}-p={c[1]}" for c in CONFIGURATIONS])
def test_equals_literal_simulation(exact, index, rng):
    """Mean, variance and slope by Kolmogorov-Smirnov, rounded so that atoms agree; gap is var - mean."""
    mean, var = literal(rng, *CONFIGURATIONS[index])
    law = ScoreLaw(exact.mean[index], exact.gap[index])
    np.testing.assert_allclose(law.gap, law.var - law.mean, rtol=1e-9, atol=1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        pairs = [(law.mean, mean), (law.var, var), (law.mean / law.var, mean / var)]
    for ours, theirs in pairs:
        ours, theirs = (np.nan_to_num(np.round(part, 6), nan=-1e9) for part in (ours, theirs))
        assert stats.ks_2samp(ours, theirs, method="asymp").pvalue > ALARM


def test_in_domain_is_the_usual_law(key):
    """In law, cosine 1 and the same norm: Kolmogorov-Smirnov, false alarm 2e-6; and in the limit, exactly."""
    options = {"n": 30, "p": 20, "theta_norm": 1.2, "t": 0.3, "replicates": 20_000}
    ours = sample_ood_scores(key, test_norm=1.2, cosine=1.0, **options)
    theirs = sample_scores(key, **options)
    for one, other in zip(ours, theirs, strict=True):
        assert stats.ks_2samp(np.asarray(one), np.asarray(other), method="asymp").pvalue > 1e-6
    for one, other in zip(limit_ood_scores(0.7, 1.2, 1.2, 1.0, 0.3), limit_scores(0.7, 1.2, 0.3), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_training_sets_are_shared_by_all_tests(key):
    """The variance, which is of the training set alone, is the same for every test mean."""
    law = sample_ood_scores(key, n=10, p=4, theta_norm=1.0, test_norm=[[0.5], [2.0]], cosine=[-0.5, 0.0, 1.0], t=0.2,
                            replicates=100)  # fmt: skip
    assert law.mean.shape == (2, 3, 100)
    np.testing.assert_allclose(law.var, np.broadcast_to(law.var[:1, :1], law.var.shape), rtol=2e-5, atol=2e-6)


def test_tends_to_the_limit(key):
    """Within 6 standard deviations, sqrt(5 / n) or less each, at n = 1e8."""
    cell = {"theta_norm": 1.0, "test_norm": [[0.5], [2.5]], "cosine": [-0.5, 0.3, 0.8], "t": 0.2}
    law = sample_ood_scores(key, n=10**8, p=5 * 10**7, replicates=100, **cell)
    limit = limit_ood_scores(0.5, **cell)
    np.testing.assert_allclose(law.mean, np.broadcast_to(limit.mean[..., None], law.mean.shape), atol=2e-3)
    np.testing.assert_allclose(law.gap, np.broadcast_to(limit.gap[..., None], law.gap.shape), atol=2e-3)


def test_the_condition_is_sufficient_and_not_necessary():
    """Some t > 0 lowers the ECE of the limit exactly where <theta' - theta, theta> < c, twice what the paper asks."""
    with jax.enable_x64(True):
        c, theta = 0.8, 1.3
        norm, cosine = np.linspace(0.05, 3.0, 40)[:, None], np.linspace(-1, 1, 21)
        helps, sufficient = mixup_can_help_ood(c, theta, norm, cosine), mixup_helps_ood(c, theta, norm, cosine)
        product = norm * cosine * theta - theta**2
        np.testing.assert_array_equal(helps, product < c)
        np.testing.assert_array_equal(sufficient, product <= c / 2)
        assert (helps | ~sufficient).all()
        plain, mixed = (population_ece(limit_ood_scores(c, theta, norm, cosine, t)) for t in (0.0, 1e-4))
        np.testing.assert_array_equal(mixed < plain, helps)


def test_the_best_weight_calibrates():
    with jax.enable_x64(True):
        norm = np.array([0.5, 1.0, 1.4, 3.0])
        t = best_ood_weight(0.8, 1.0, norm, 0.9)
        law = limit_ood_scores(0.8, 1.0, norm, 0.9, t)
        np.testing.assert_allclose(law.gap[:3], 0, atol=1e-15)
        np.testing.assert_array_equal(t[3], 0)  # under-confident as it is
        np.testing.assert_array_equal(best_ood_weight(0.8, 1.0, 1.0, -0.5), 1)


CELL = {"n": 5, "p": 3, "theta_norm": 1.0, "test_norm": 1.0, "cosine": 0.5, "t": 0.2, "replicates": 2}


@pytest.mark.parametrize("wrong, words", [
    ({"cosine": 1.1}, r"cosine must be in \[-1, 1\], got 1.1"),
    ({"cosine": np.nan}, r"cosine must be in \[-1, 1\], got nan"),
    ({"test_norm": -1.0}, "test_norm must be finite and not negative"),
    ({"n": 0}, "n must be a whole number from 1 to 1e10"),
    ({"p": 1.5}, "p must be a whole number from 1 to 1e10"),
    ({"replicates": 0}, "replicates must be at least 1"),
])  # fmt: skip
def test_wrong_values_are_refused(key, wrong, words):
    with pytest.raises(ValueError, match=words):
        sample_ood_scores(key, **CELL | wrong)


def test_degenerate_values(key):
    """One dimension has one direction; without signal every direction is the same; NaN under jit."""
    assert np.isnan(sample_ood_scores(key, **CELL | {"p": 1}).mean).all()
    assert np.isfinite(sample_ood_scores(key, **CELL | {"p": 1, "cosine": -1.0}).gap).all()
    traced = jax.jit(lambda cosine: sample_ood_scores(key, **CELL | {"cosine": cosine}))
    assert np.isnan(traced(np.float32(2.0)).mean).all()
