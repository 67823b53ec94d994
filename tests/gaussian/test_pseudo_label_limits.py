"""Very many unlabeled points: the closed form against samples, and where the final classifier is under-confident."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mixjax.gaussian import (
    limit_pseudo_label_scores,
    limit_scores,
    overshoot_ratio,
    population_accuracy,
    sample_pseudo_label_scores,
)

CONFIGURATIONS = np.array([  # c_l, c_u, theta, theta_u, cosine
    (12.0, 0.5, 2.0, 2.0, 1.0), (0.5, 0.1, 1.0, 1.0, 1.0), (30.0, 2.0, 4.0, 4.0, 1.0),
    (2.0, 0.3, 1.5, 2.5, 0.6), (4.0, 0.2, 1.0, 0.7, -0.3),
])  # fmt: skip


@pytest.mark.slow
def test_samples_tend_to_it(key):
    """At n_u = 400,000, where a standard deviation is below 1 % of mean and variance; bias O(1/n)."""
    c_l, c_u, theta, theta_u, cosine = CONFIGURATIONS.T
    p = np.rint(c_u * 400_000)
    laws = sample_pseudo_label_scores(key, n_labeled=np.rint(p / c_l), n_unlabeled=400_000, p=p, theta_norm=theta,
                                      t=0.3, unlabeled_norm=theta_u, cosine=cosine, replicates=200,
                                      sums="gaussian")  # fmt: skip
    limits = limit_pseudo_label_scores(c_l, c_u, theta, 0.3, unlabeled_norm=theta_u, cosine=cosine)
    for name, law in laws.items():
        for drawn, limit in ((law.mean, limits[name].mean), (law.var, limits[name].var)):
            drawn, limit = np.asarray(drawn), np.asarray(limit)
            bound = 5 * drawn.std(axis=1) / np.sqrt(200) + 1e-4 * np.abs(limit)
            assert (np.abs(drawn.mean(axis=1) - limit) < bound).all(), name


def test_without_unlabeled_points_it_is_the_labeled_limit():
    """As p / n_u grows without end the pseudo-labels count for nothing."""
    laws = limit_pseudo_label_scores(0.8, 1e12, 1.3, 0.2)
    for name, t in (("init", 0.0), ("final", 0.0), ("mix", 0.2)):
        for one, other in zip(laws[name], limit_scores(0.8, 1.3, t), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)


def test_accuracy_of_endless_unlabeled_points():
    """|theta|^2 = 4, p / n_l = 12, all in closed form: Phi(a / sqrt q) with b = 1 is 0.9735."""
    final = limit_pseudo_label_scores(12.0, 0.0, 2.0, 0.0)["final"]
    k, s = 0.682689492137086, 0.483941449038287  # 2 Phi(1) - 1, 2 phi(1)
    np.testing.assert_allclose(final.mean, 4 * k + s, rtol=1e-12)
    np.testing.assert_allclose(final.var, 4 * k**2 + s**2 + 2 * k * s, rtol=1e-12)
    assert abs(float(population_accuracy(final)) - 0.9735) < 1e-3


@pytest.mark.medium
def test_overshoot():
    """At the ratio the slope is 1; below it is larger, so that the classifier is under-confident, and above smaller."""
    c_l, theta = np.array([2.0, 12.0, 12.0, 50.0, 12.0, 12.0, 0.0]), np.array([2.0, 2.0, 3.0, 4.0, 0.0, 1.0, 1.0])
    ratio = np.asarray(overshoot_ratio(c_l, theta))
    assert (ratio[:4] > 0).all()
    factors = np.array([[0.9], [1.0], [1.1]])
    slopes = np.asarray(jax.jit(limit_pseudo_label_scores)(c_l[:4], factors * ratio[:4], theta[:4], 0.0)["final"].slope)
    np.testing.assert_allclose(slopes[1], 1, atol=1e-12)
    assert (slopes[0] > 1).all()
    assert (slopes[2] < 1).all()
    np.testing.assert_array_equal(ratio[4:], [0, 0, np.nan])
