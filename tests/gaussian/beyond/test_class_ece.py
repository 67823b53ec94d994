"""The ECE of K-class scores of known law: quadrature where there is one, the limit, and literal predictions."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest

from mixjax.gaussian import class_ece, class_means, limit_class_ece, limit_class_sets, population_ece, score_law

pytestmark = pytest.mark.medium

DRAWS = 16_000  # rounded up to 16,128
K, P = 3, 5  # of all tests but one: each shape compiles
MEANS = np.asarray(class_means(K, P, 1.2))


@pytest.mark.slow
def test_two_classes_are_the_papers(key):
    """Within 5 standard errors of the quadrature, and the bins' part where the sign changes within one."""
    theta = np.array([1.5, 0, 0])
    estimates = np.array([[1.0, 0.8, 0], [2.5, 0, 0.3], [0.5, 0, 0]])
    estimator = np.stack([estimates, -estimates], axis=1)
    means = np.broadcast_to(np.stack([theta, -theta]), estimator.shape)
    exact = population_ece(score_law(estimates, theta))
    for kind in ("top-label", "class-wise"):
        found = class_ece(key, estimator, means, kind=kind, num_draws=4 * DRAWS)
        assert (np.abs(found.value - exact) < 5 * found.standard_error + 1e-4).all()


@pytest.mark.slow
def test_the_limit_is_that_of_its_own_formula(key):
    """Top label at several p/n and t: within 5 standard errors of both."""
    ratio, t = np.array([0.05, 0.2, 1.0]), 0.2
    sets = jax.jit(partial(limit_class_sets, num_classes=K))(ratio, 1.5)
    one, other = jax.random.split(key)
    found = class_ece(one, sets.estimator(t)[:, 0], sets.means[:, 0], num_draws=DRAWS)
    exact = limit_class_ece(other, ratio, 1.5, t, num_classes=K)
    assert (np.abs(found.value - exact.value) < 5 * np.hypot(found.standard_error, exact.standard_error) + 2e-4).all()


def literal_ece(claim, event):
    """The plug-in sum over 50 bins of equal mass."""
    order = np.argsort(claim)
    return sum(abs(np.sum(event[part] - claim[part])) for part in np.array_split(order, 50)) / claim.size


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["top-label", "class-wise"])
def test_literal_predictions_have_this_ece(kind, key, rng):
    """Three estimators, two far from the means and one of rank 1: 400,000 labels, within 5 s.e. and 5e-4."""
    estimator = MEANS + rng.standard_normal((3, K, P)) * np.array([0.5, 1.0, 0.5])[:, None, None]
    estimator[2] = np.outer([1.0, 0.0, -1.0], estimator[2, 0])
    found = class_ece(key, estimator, np.broadcast_to(MEANS, estimator.shape), kind=kind, num_draws=DRAWS)
    truth = rng.integers(0, K, 400_000)
    x = MEANS[truth] + rng.standard_normal((truth.size, P))
    for w, value, error in zip(estimator, found.value, found.standard_error, strict=True):
        logits = x @ w.T
        probs = np.exp(logits - logits.max(axis=1, keepdims=True))
        probs /= probs.sum(axis=1, keepdims=True)
        if kind == "top-label":
            literal = literal_ece(probs.max(axis=1), probs.argmax(axis=1) == truth)
        else:
            literal = np.mean([literal_ece(probs[:, k], truth == k) for k in range(K)])
        assert abs(literal - value) < 5 * np.hypot(error, 0.5 / np.sqrt(truth.size)) + 5e-4


def test_calibrated_constant_and_wrong_classifiers(key):
    """W = the means has no ECE, below 5 standard errors and rounding; nor has W = 0, which claims 1/3; NaN has NaN."""
    estimator = np.stack([MEANS, np.zeros((K, P)), np.full((K, P), np.nan)])
    found = class_ece(key, estimator, np.broadcast_to(MEANS, estimator.shape), num_draws=DRAWS)
    assert (np.abs(found.value[:2]) < 5 * found.standard_error[:2] + 1e-6).all()
    assert np.isnan(found.value[2])
    estimator[2] = estimator[1]
    again = class_ece(key, estimator, np.broadcast_to(MEANS, estimator.shape), num_draws=DRAWS)
    np.testing.assert_array_equal(again.value[:2], found.value[:2])
    with pytest.raises(ValueError, match="kind must be one of"):
        class_ece(key, MEANS, MEANS, kind="top")
    with pytest.raises(ValueError, match="one shape"):
        class_ece(key, estimator, MEANS)
