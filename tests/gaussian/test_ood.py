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
NAMES = ("n", "p", "theta_norm", "test_norm", "cosine", "t", "sigma")
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
IN_SHORT = (1, 3, 4, 6)  # the others in the long run
ALARM = 1e-6 / (3 * len(CONFIGURATIONS))  # of a Kolmogorov-Smirnov test, so that the file's is 1e-6


TESTS = [(norm, cosine) for norm in (0.5, 2.5) for cosine in (-0.5, 0.3, 0.8)]
SMALL, LARGE = (slice(len(CONFIGURATIONS) + k, len(CONFIGURATIONS) + k + 6) for k in (0, 6))


@pytest.fixture(scope="module")
def exact(module_key):
    """CONFIGURATIONS; all TESTS at n = 10, and near the limit p/n = 1/2; one in the domain; p = 1, cosine 1/2."""
    cells = [
        *CONFIGURATIONS,
        *((10, 4, 1.0, *test, 0.2, 1.0) for test in TESTS),
        *((1e8, 5e7, 1.0, *test, 0.2, 1.0) for test in TESTS),
        (30, 20, 1.2, 1.2, 1.0, 0.3, 1.0),
        (5, 1, 1.0, 1.0, 0.5, 0.2, 1.0),
    ]
    law = sample_ood_scores(module_key, **dict(zip(NAMES, np.array(cells).T, strict=True)), replicates=REPLICATES)
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


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "index", [pytest.param(k, marks=() if k in IN_SHORT else pytest.mark.slow) for k in range(len(CONFIGURATIONS))]
)
def test_equals_literal_simulation(exact, index, rng):
    """Mean, variance and slope by Kolmogorov-Smirnov, rounded so that atoms agree; gap is var - mean."""
    mean, var = literal(rng, *CONFIGURATIONS[index])
    law = ScoreLaw(exact.mean[index], exact.gap[index])
    with np.errstate(divide="ignore", invalid="ignore"):
        pairs = [(law.mean, mean), (law.var, var), (law.mean / law.var, mean / var)]
    for ours, theirs in pairs:
        ours, theirs = (np.nan_to_num(np.round(part, 6), nan=-1e9) for part in (ours, theirs))
        assert stats.ks_2samp(ours, theirs, method="asymp").pvalue > ALARM


@pytest.mark.slow
def test_in_domain_is_the_usual_law(exact, key):
    """Cosine 1 and the same norm: Kolmogorov-Smirnov, false alarm 2e-6."""
    theirs = sample_scores(key, n=30, p=20, theta_norm=1.2, t=0.3, replicates=REPLICATES)
    for one, other in zip(exact, theirs, strict=True):
        assert stats.ks_2samp(one[-2], np.asarray(other), method="asymp").pvalue > 1e-6


def test_in_domain_is_the_usual_limit():
    in_limit = limit_ood_scores(0.7, 1.2, 0.3, test_norm=1.2, cosine=1.0)
    for one, other in zip(in_limit, limit_scores(0.7, 1.2, 0.3), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_training_sets_are_shared_by_all_tests(exact):
    """The variance, which is of the training set alone, is the same for every test mean."""
    var = (exact.mean + exact.gap)[SMALL]
    np.testing.assert_allclose(var, np.broadcast_to(var[:1], var.shape), rtol=1e-12, atol=1e-13)


def test_tends_to_the_limit(exact):
    """Within 6 standard deviations, sqrt(5 / n) or less each, at n = 1e8."""
    limit = limit_ood_scores(0.5, 1.0, 0.2, test_norm=np.array(TESTS)[:, 0], cosine=np.array(TESTS)[:, 1])
    for found, expected in ((exact.mean, limit.mean), (exact.gap, limit.gap)):
        assert np.abs(found[LARGE] - np.asarray(expected)[:, None]).max() < 1.5e-3


def test_one_dimension_has_one_direction(exact):
    assert np.isnan(exact.mean[-1]).all()
    assert np.isfinite(exact.gap[:2]).all()  # p = 1, cosine -1 and 1


@pytest.mark.slow
def test_the_condition_is_sufficient_and_not_necessary():
    """Some t > 0 lowers the ECE of the limit exactly where <theta' - theta, theta> < c, twice what the paper asks."""
    c, theta = 0.8, 1.3
    test = {"test_norm": np.linspace(0.05, 3.0, 20)[:, None], "cosine": np.linspace(-1, 1, 21)}
    helps, sufficient = (np.asarray(f(c, theta, **test)) for f in (mixup_can_help_ood, mixup_helps_ood))
    product = test["test_norm"] * test["cosine"] * theta - theta**2
    np.testing.assert_array_equal(helps, product < c)
    np.testing.assert_array_equal(sufficient, product <= c / 2)
    assert (helps | ~sufficient).all()
    plain, mixed = (np.asarray(population_ece(limit_ood_scores(c, theta, t, **test))) for t in (0.0, 1e-4))
    np.testing.assert_array_equal(mixed < plain, helps)


def test_the_best_weight_calibrates():
    test = {"test_norm": np.array([0.5, 1.0, 1.4, 3.0, 1.0]), "cosine": np.array([0.9, 0.9, 0.9, 0.9, -0.5])}
    t = best_ood_weight(0.8, 1.0, **test)
    law = limit_ood_scores(0.8, 1.0, t, **test)
    np.testing.assert_allclose(law.gap[:3], 0, atol=1e-15)
    np.testing.assert_array_equal(t[3:], [0, 1])  # under-confident as it is; worse than chance
