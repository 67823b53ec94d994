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


@pytest.fixture(scope="module")
def exact(module_key):
    """Laws of CONFIGURATIONS, and of one in the domain."""
    columns = np.array([*CONFIGURATIONS, (30, 20, 1.2, 1.2, 1.0, 0.3, 1.0)]).T
    law = sample_ood_scores(module_key, **dict(zip(NAMES, columns, strict=True)), replicates=REPLICATES)
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


def test_in_domain_is_the_usual_law(exact, key):
    """In law, cosine 1 and the same norm: Kolmogorov-Smirnov, false alarm 2e-6; and in the limit, exactly."""
    theirs = sample_scores(key, n=30, p=20, theta_norm=1.2, t=0.3, replicates=REPLICATES)
    for one, other in zip(exact, theirs, strict=True):
        assert stats.ks_2samp(one[-1], np.asarray(other), method="asymp").pvalue > 1e-6
    in_limit = limit_ood_scores(0.7, 1.2, 0.3, test_norm=1.2, cosine=1.0)
    for one, other in zip(in_limit, limit_scores(0.7, 1.2, 0.3), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


TESTS = np.array([(norm, cosine) for norm in (0.5, 2.5) for cosine in (-0.5, 0.3, 0.8)]).T


@pytest.fixture(scope="module")
def small(module_key):
    """In float32, at t = 0.2: all TESTS at n = 10 and in the limit p/n = 1/2, and p = 1 with cosine 1/2 and -1."""
    n, p = np.repeat([10, 10**8, 5], (6, 6, 2)), np.repeat([4, 5 * 10**7, 1], (6, 6, 2))
    norm, cosine = (np.float32([*tests, *tests, *ends]) for tests, ends in zip(TESTS, [(1, 1), (0.5, -1)], strict=True))
    options = {"theta_norm": 1.0, "t": 0.2, "test_norm": norm, "cosine": cosine, "replicates": 100}
    return jax.tree.map(np.asarray, sample_ood_scores(module_key, n=n, p=p, **options))


def test_training_sets_are_shared_by_all_tests(small):
    """The variance, which is of the training set alone, is the same for every test mean."""
    var = (small.mean + small.gap)[:6]
    np.testing.assert_allclose(var, np.broadcast_to(var[:1], var.shape), rtol=2e-5, atol=2e-6)


def test_tends_to_the_limit(small):
    """Within 6 standard deviations, sqrt(5 / n) or less each, at n = 1e8."""
    limit = limit_ood_scores(0.5, 1.0, 0.2, test_norm=TESTS[0], cosine=TESTS[1])
    np.testing.assert_allclose(small.mean[6:12], np.repeat(limit.mean[:, None], 100, axis=1), atol=2e-3)
    np.testing.assert_allclose(small.gap[6:12], np.repeat(limit.gap[:, None], 100, axis=1), atol=2e-3)


def test_one_dimension_has_one_direction(small):
    assert np.isnan(small.mean[12]).all()
    assert np.isfinite(small.gap[13]).all()


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


def test_the_number_of_replicates_is_checked(key):
    with pytest.raises(ValueError, match="replicates must be at least 1"):
        sample_ood_scores(key, n=5, p=3, theta_norm=1.0, t=0.2, test_norm=1.0, cosine=0.5, replicates=0)
