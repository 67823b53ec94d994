"""The ECE of K-class scores of known law: quadrature where there is one, the limit, and literal predictions."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mixjax import classwise_ece, top_label_ece
from mixjax.gaussian import (
    class_ece,
    class_means,
    limit_class_ece,
    limit_class_sets,
    population_ece,
    sample_class_sets,
    score_law,
)

DRAWS = 1 << 16


def test_two_classes_are_the_papers(key):
    """Within 5 standard errors of the quadrature, and the bins' part where the sign changes within one."""
    theta = np.array([1.5, 0, 0])
    estimates = np.array([[1.0, 0.8, 0], [2.5, 0, 0.3], [0.5, 0, 0]])
    weights = np.stack([estimates, -estimates], axis=1)
    means = np.broadcast_to(np.stack([theta, -theta]), weights.shape)
    exact = population_ece(score_law(estimates, theta))
    for kind in ("top-label", "class-wise"):
        found = class_ece(key, weights, means, kind=kind, num_draws=DRAWS)
        assert (np.abs(found.value - exact) < 5 * found.standard_error + 1e-4).all()


def test_the_limit_is_that_of_its_own_formula(key):
    """Top label, five classes, at several p/n and t: within 5 standard errors of both."""
    ratio, t = np.array([0.05, 0.2, 1.0]), 0.2
    sets = limit_class_sets(ratio, 1.5, num_classes=5)
    one, other = jax.random.split(key)
    found = class_ece(one, sets.estimator(t)[:, 0], sets.means[:, 0], num_draws=DRAWS)
    exact = limit_class_ece(other, ratio, 1.5, t, num_classes=5)
    assert (np.abs(found.value - exact.value) < 5 * np.hypot(found.standard_error, exact.standard_error) + 2e-4).all()


@pytest.mark.parametrize("kind", ["top-label", "class-wise"])
def test_literal_predictions_have_this_ece(kind, key, rng):
    """60 rows in 30 dimensions: 400,000 labels in 50 bins, within 5 standard errors of both and 5e-4."""
    means = np.asarray(class_means(4, 30, 1.2))
    labels = rng.integers(0, 4, 60)
    onehot, x = np.eye(4)[labels], means[labels] + rng.standard_normal((60, 30))
    weights = (4 * onehot - 1).T @ x / 60
    truth = rng.integers(0, 4, 400_000)
    left, values, _ = np.linalg.svd(weights, full_matrices=False)  # W x ~ N(W mu_y, W W')
    logits = (means @ weights.T)[truth] + rng.standard_normal((truth.size, 4)) @ (left * values).T
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    measure = top_label_ece if kind == "top-label" else classwise_ece
    literal = float(np.mean(measure(probs, truth, num_bins=50, binning="equal-mass")))
    found = class_ece(key, weights, means, kind=kind, num_draws=DRAWS)
    error = np.hypot(float(found.standard_error), 0.5 / np.sqrt(truth.size))
    assert abs(literal - float(found.value)) < 5 * error + 5e-4


def test_a_calibrated_classifier_has_none(key):
    """Below 5 standard errors and rounding: W = the means themselves."""
    means = np.asarray(class_means(3, 4, 1.0))
    found = class_ece(key, means, means, num_draws=DRAWS)
    assert abs(found.value) < 5 * found.standard_error + 1e-12


def test_positions_share_draws_and_degenerate_cases(key):
    sets = sample_class_sets(key, n=[[1], [9]], p=4, theta_norm=1.0, num_classes=3, replicates=2)
    weights = np.array(sets.estimator(0.0))  # of one row two classes are empty: W has rank 1
    found = class_ece(key, weights, sets.means, num_draws=1000)
    assert found.value.shape == (2, 1, 2)
    assert (found.value > 0).all()
    weights[0, 0, 1] = np.nan
    again = class_ece(key, weights, sets.means, num_draws=1000)
    assert np.isnan(again.value[0, 0, 1])
    np.testing.assert_array_equal(np.delete(again.value, 1), np.delete(found.value, 1))
    zero = class_ece(key, np.zeros((3, 2)), np.eye(3, 2), num_draws=10)
    assert abs(zero.value) < 1e-6  # the claim is 1/3, and so is what is right
    with pytest.raises(ValueError, match="kind must be one of"):
        class_ece(key, weights, sets.means, kind="top")
    with pytest.raises(ValueError, match="one shape"):
        class_ece(key, weights, sets.means[0])
