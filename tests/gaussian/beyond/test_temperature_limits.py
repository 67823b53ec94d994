"""Temperature scaling with many points: the expansion against quadrature and simulation, and where Mixup equals it."""

from __future__ import annotations

import math
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from mixjax.gaussian import (
    ScoreLaw,
    best_weight,
    critical_held_out_ratio,
    held_out_ece,
    held_out_size_matching,
    population_ece,
    sample_training_sets,
    scale_on_held_out,
    scaled_ece,
)
from tests.gaussian.beyond.draws import REPLICATES, estimated_weights, scores, training_sets


def size_and_information(strength):
    """K and I from their definitions, by SciPy."""

    def expectation(f):
        density = stats.norm(strength, math.sqrt(strength)).pdf
        ends = strength - 12 * math.sqrt(strength), 0, strength + 12 * math.sqrt(strength)
        return sum(
            integrate.quad(lambda x: density(x) * f(x) / np.cosh(x) ** 2, low, high, epsabs=1e-14, limit=200)[0]
            for low, high in pairwise(ends)
        )

    return 0.5 * expectation(abs), expectation(np.square)


@pytest.mark.medium
def test_the_expansion_is_what_it_says():
    """Where the mean or the variance is not positive, NaN."""
    mean, var = np.array([0.1, 1.0, 9.0, -1.0, 1.0]), np.array([0.3, 1.0, 6.0, 1.0, 0.0])
    size, information = np.transpose([size_and_information(strength) for strength in mean[:3] ** 2 / var[:3]])
    law, expected = ScoreLaw(mean, var - mean), size * np.sqrt(2 / (math.pi * 500 * information))
    found = np.asarray(held_out_ece(law, 500))
    np.testing.assert_allclose(found[:3], expected, rtol=1e-9)
    assert np.isnan(found[3:]).all()
    positive = ScoreLaw(law.mean[:3], law.gap[:3])
    np.testing.assert_allclose(held_out_size_matching(positive, found[:3]), 500, rtol=1e-9)


@pytest.mark.slow
def test_float32_and_shapes():
    law = ScoreLaw(jnp.float32([1.0, 2.0]), jnp.float32([0.5, -0.2]))
    ece = held_out_ece(law, np.array([[100], [400]]))
    assert ece.shape == (2, 2)
    assert ece.dtype == np.float32
    np.testing.assert_allclose(ece[0], 2 * ece[1], rtol=1e-6)


@pytest.mark.slow
def test_new_values_do_not_recompile(compilations):
    def called(value):
        law = ScoreLaw(value, value / 2)
        held_out_ece(law, 500), held_out_size_matching(law, value), critical_held_out_ratio(value, 2 * value)

    called(np.full(5, 0.3))
    jax.jit(lambda x: x + 1)(1.0)  # a compilation to be seen, in case that all of the above was compiled before
    assert compilations
    compilations.clear()
    called(np.full(5, 0.4))
    assert not compilations


@pytest.mark.slow
@pytest.mark.parametrize("count, tolerance, replicates", [(1000, 0.03, 10_000), (10_000, 0.01, 3_000)])
def test_the_expansion_is_near_from_1000_points_on(key, count, tolerance, replicates):
    """Accuracies 0.69, 0.84 and 0.98; beside the tolerance 4.5 standard errors, a false alarm in 2e4 (six checks)."""
    strength = jnp.float32([[0.25], [1.0], [4.0]])
    law = ScoreLaw(strength, jnp.zeros_like(strength))
    sets = sample_training_sets(key, n=np.float32(3), p=3, theta_norm=1, replicates=replicates)
    ece = np.asarray(scaled_ece(scale_on_held_out(sets, law, n_held_out=count)), float)
    expected = np.asarray(held_out_ece(law, count))[:, 0]
    ratio, error = ece.mean(axis=1) / expected, ece.std(axis=1) / expected / math.sqrt(replicates)
    assert (np.abs(ratio - 1) < tolerance + 4.5 * error).all()


@pytest.mark.slow
def test_the_variances_of_the_training_sets_are_those_of_the_limit(key):
    """n Var(rho) I = 1 / critical ratio at n = 1e5, for both weights: 5 standard errors of a variance, 10 checks."""
    ratio, theta_norm = np.array([[0.5, 1.0, 0.05, 3.0, 0.3], [1.0, 2.0, 0.5, 2.0, 1.5]])
    sets, n = training_sets(key, 1e5, 1e5 * ratio, theta_norm), 1e5
    best = np.broadcast_to(np.asarray(best_weight(ratio, theta_norm))[:, None], (5, REPLICATES))
    _, information = np.transpose([size_and_information(m) for m in theta_norm**4 / (theta_norm**2 + ratio)])
    for weight, t in (("best", best), ("estimated", estimated_weights(sets))):
        expected = 1 / (information * critical_held_out_ratio(ratio, theta_norm, weight=weight))
        slopes = np.asarray(scores(sets, t).slope, float)
        assert (np.abs(n * np.var(slopes, axis=1) / expected - 1) < 5 * math.sqrt(2 / REPLICATES)).all()


@pytest.mark.slow
def test_mixup_and_temperature_scaling_are_equal_there(key):
    """End to end at n = 2000, p/n = 0.5, |theta| = 1, 7.04 n held-out points: mean ECEs within 3 % and 4.5 s.e."""
    n, replicates = 2000, 2000
    points = round(n * float(critical_held_out_ratio(0.5, 1.0)))
    assert points == 14080
    sets = sample_training_sets(key, n=np.float32(n), p=n / 2, theta_norm=1, replicates=replicates)
    fit = scale_on_held_out(sets, sets.scores(best_weight(0.5, 1.0)), n_held_out=points)
    mixed, scaled = (np.asarray(ece, float) for ece in (population_ece(fit.before), scaled_ece(fit)))
    error = 0.76 * math.sqrt(2 / replicates)  # a half-normal has sd / mean of 0.756
    assert abs(mixed.mean() / scaled.mean() - 1) < 0.03 + 4.5 * error


@pytest.mark.medium
def test_nothing_is_critical_beyond_what_beta_laws_reach():
    ratio, theta_norm = np.array([1.0, 1.5, 2.0, 0.0, 0.0]), np.array([1.0, 1.0, 1.0, 0.0, 1.0])
    for weight in ("best", "estimated"):
        found = critical_held_out_ratio(ratio, theta_norm, weight=weight)
        np.testing.assert_allclose(found, [0, 0, 0, 0, 1 / size_and_information(1.0)[1]], rtol=1e-9)
    with pytest.raises(ValueError, match=r"weight must be one of \('best', 'estimated'\), got 'worst'"):
        critical_held_out_ratio(1.0, 2.0, weight="worst")
