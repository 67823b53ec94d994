"""K classes: two of them are the paper's, and the limit against literal data and predictions."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax import top_label_ece
from mixjax.gaussian import (
    best_class_weight,
    best_weight,
    class_estimator,
    class_means,
    limit_class_ece,
    limit_scores,
    population_ece,
)


@pytest.mark.few(1)
@pytest.mark.parametrize("num_classes", [2, 10])
def test_means_are_a_simplex(num_classes):
    means = np.asarray(class_means(num_classes, 12, 1.5))
    expected = np.full((num_classes, num_classes), -2.25 / (num_classes - 1))
    np.fill_diagonal(expected, 2.25)
    np.testing.assert_allclose(means @ means.T, expected, atol=1e-12)


@pytest.mark.slow
def test_the_estimator_is_the_mean_over_all_pairs(rng):
    """lambda = 0.3 for all pairs, t = 2 * 0.3 * 0.7, by the double sum of the definition."""
    labels, x = rng.integers(0, 3, 8), rng.standard_normal((8, 5))
    z, total = np.eye(3)[labels], 0.0
    for i in range(8):
        for j in range(8):
            mixed = 0.3 * z[i] + 0.7 * z[j]
            total = total + np.outer(3 * mixed - 1, 0.3 * x[i] + 0.7 * x[j]) / 64
    np.testing.assert_allclose(class_estimator(x, labels, 0.42, num_classes=3), total, atol=1e-14)


@pytest.mark.slow
def test_the_limit_of_two_classes_is_the_exact_one(key):
    """Within 5 standard errors of the quadrature."""
    ratio, theta, t = np.array([[0.1], [0.5], [4.0]]), np.array([0.5, 1.0, 2.0]), 0.2
    ours = limit_class_ece(key, ratio, theta, t, num_classes=2)
    exact = population_ece(limit_scores(ratio, theta, t))
    assert (np.abs(ours.value - exact) < 5 * ours.standard_error).all()
    np.testing.assert_allclose(best_class_weight(0.5, 1.0, num_classes=2), best_weight(0.5, 1.0), rtol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("t", [0.0, 1 / 3])
def test_literal_predictions_have_the_limits_ece(t, key, rng):
    """Five classes, n = 3000, p = 600, a million predictions in 50 bins: mean of 10 sets, 5 s.e. and 3 %."""
    n, p, means, found = 3000, 600, np.asarray(class_means(5, 600, 1.5)), []
    for _ in range(10):
        labels = rng.integers(0, 5, n)
        estimate = np.asarray(class_estimator(means[labels] + rng.standard_normal((n, p)), labels, t, num_classes=5))
        truth = rng.integers(0, 5, 1_000_000)
        left, values, _ = np.linalg.svd(estimate, full_matrices=False)  # W x ~ N(W mu_y, W W')
        logits = (means @ estimate.T)[truth] + rng.standard_normal((truth.size, 5)) @ (left * values).T
        probs = np.exp(logits - logits.max(axis=1, keepdims=True))
        found.append(float(top_label_ece(probs / probs.sum(axis=1, keepdims=True), truth, num_bins=50)))
    limit = limit_class_ece(key, 0.2, 1.5, t, num_classes=5)
    error = np.hypot(np.std(found, ddof=1) / np.sqrt(10), limit.standard_error)
    assert abs(np.mean(found) - limit.value) < 0.03 * limit.value + 1e-3 + 5 * error


def test_the_best_weight_calibrates(key):
    """Equal claims and truths, to rounding; half of it does not. Without means the ECE is NaN."""
    t = np.asarray(best_class_weight(0.2, 1.5, num_classes=3))
    np.testing.assert_allclose(t, 0.4 / (1.5**2 + 0.4), rtol=1e-14)
    ratio, theta = np.array([0.2, 0.2, 0.0]), np.array([1.5, 1.5, 0.0])
    best, half, none = limit_class_ece(key, ratio, theta, np.array([t, t / 2, 0]), num_classes=3).value
    assert best < 1e-12 < 0.01 < half
    assert np.isnan(none)


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"shapes \[n, p\] and \[n\], got \(3, 2\) and \(2,\)"):
        class_estimator(np.ones((3, 2)), np.zeros(2, int), 0.1, num_classes=2)
