"""Temperature scaling on held-out points: against literal data in p dimensions, and bisection point by point."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from mixjax.gaussian import ScoreLaw, at_best_temperature, population_accuracy, population_nll
from mixjax.gaussian.beyond.temperature import TemperatureFit, scale_on_held_out, scaled_ece
from mixjax.random import normals
from tests.gaussian.beyond.draws import REPLICATES, literal_means, scores, training_sets

# n, p, theta_norm, t, sigma, n_held_out
CONFIGURATIONS = [
    (5, 1, 0.5, 0.3, 1.0, 4),
    (6, 2, 1.0, 0.3, 2.0, 9),
    (10, 8, 1.5, 1 / 3, 1.0, 20),
    (20, 30, 1.0, 0.45, 0.7, 40),
    (4, 3, 0.0, 0.2, 1.0, 30),
]
LITERAL = 6000
KS_LEVEL = 1e-6 / (len(CONFIGURATIONS) * 2 * 3)  # a right sampler fails under a fresh key with probability 1e-6


def bisected(margins):
    """The best inverse temperature in [0, inf] of each row of y v, from the definition of the likelihood."""

    def slope(inverse):  # of the mean of log(1 + exp(-2 y v / T)) in 1/T
        return np.sum(-2 * margins * special.expit(-2 * inverse[:, None] * margins), axis=1)

    low, high = np.zeros(len(margins)), np.full(len(margins), 1e4)
    for _ in range(60):
        middle = (low + high) / 2
        rising = slope(middle) > 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    best = np.where(margins.mean(axis=1) <= 0, 0.0, high)
    return np.where((margins > 0).all(axis=1), np.inf, best)


def literal(rng, n, p, theta_norm, t, sigma, m):
    """(inverse temperature, mean, variance) of the score for t = 0 and t: data, held-out data and scores, by NumPy."""
    theta, plain, x_mean, y_mean = literal_means(rng, n, p, theta_norm, sigma, replicates=LITERAL)
    y_out = rng.choice([-1.0, 1.0], (LITERAL, m, 1))
    x_out = y_out * theta + sigma * rng.standard_normal((LITERAL, m, p))
    for weight in (0.0, t):
        estimate = (1 - weight) * plain + weight * x_mean * y_mean
        margins = np.einsum("rip,rp->ri", y_out * x_out, estimate) / sigma**2
        yield bisected(margins), estimate @ theta / sigma**2, np.sum(estimate**2, axis=1) / sigma**2


@pytest.fixture(scope="module")
def sets(module_key):
    n, p, theta_norm, _, sigma, _ = np.array(CONFIGURATIONS, np.float32).T
    return training_sets(module_key, n, p, theta_norm, sigma)


@pytest.fixture(scope="module")
def exact(sets):
    """Fits [2 weights, configurations, replicates]."""
    t, m = np.array(CONFIGURATIONS, np.float32).T[[3, 5]]
    weights = np.broadcast_to(np.stack([0 * t, t])[..., None], (2, 5, REPLICATES))
    fit = scale_on_held_out(sets, scores(sets, weights), n_held_out=m)
    assert fit.temperature.dtype == fit.after.gap.dtype == np.float32
    return jax.tree.map(lambda part: np.asarray(part, float), fit)


@pytest.mark.few(2)
@pytest.mark.parametrize("index", range(len(CONFIGURATIONS)), ids=[str(c) for c in CONFIGURATIONS])
def test_equals_literal_simulation(index, exact, rng):
    """KS of the temperature (0 and inf are atoms), and of the mean and standard deviation of the scaled score."""
    for k, (inverse, mean, var) in enumerate(literal(rng, *CONFIGURATIONS[index])):
        fit = jax.tree.map(lambda part, k=k: part[k, index], exact)
        with np.errstate(divide="ignore", invalid="ignore"):  # T = 0; inf times a mean of 0, where theta is 0
            ours = 1 / fit.temperature, fit.before.mean / fit.temperature, np.sqrt(fit.before.var) / fit.temperature
            theirs = inverse, inverse * mean, inverse * np.sqrt(var)
        for samples in zip(ours, theirs, strict=True):
            finite = (np.nan_to_num(np.round(v, 4), nan=-1e9, posinf=1e9, neginf=-1e8) for v in samples)
            assert stats.ks_2samp(*finite, method="asymp").pvalue > KS_LEVEL


ece_of = jax.jit(scaled_ece)


@pytest.mark.medium
def test_both_ends_occur_and_their_errors_are_the_limits(exact):
    """In the first two configurations all points right (0.20, 0.02) and wrong on average (0.25, 0.20)."""
    assert not np.isnan(exact.temperature).any()
    few = jax.tree.map(lambda part: part[:, :2, :4000], exact)
    ece, accuracy = np.asarray(ece_of(few)), stats.norm.cdf(few.before.mean / np.sqrt(few.before.var))
    assert np.isfinite(ece).all()
    for end, expected in ((0, 1 - accuracy), (np.inf, np.abs(accuracy - 0.5))):
        at_end = few.temperature == end
        assert at_end.sum() > 300
        np.testing.assert_allclose(ece[at_end], expected[at_end], rtol=1e-12, atol=1e-15)
        assert np.isnan(few.after.gap[at_end]).all()


def test_the_ends_continue_what_lies_between():
    """ECE at temperatures of 1e-4 and 1e4 beside those of 0 and inf."""
    ones = np.ones((2, 2, 4000))  # compiled already
    before, inverse = ScoreLaw(1.2 * ones, 0.8 * ones), np.array([1e4, 1e-4]).reshape(2, 1, 1) * ones
    near = ScoreLaw(inverse * 1.2, inverse * (inverse * 2.0 - 1.2))
    at_end = np.array([0.0, np.inf]).reshape(2, 1, 1) * ones
    ends, between = (ece_of(TemperatureFit(before, t, near)) for t in (at_end, 1 / inverse))
    np.testing.assert_allclose(ends, between, rtol=0, atol=2e-4)


def check_minimum(noise, z, inverse, gap, tolerance):
    """1/T and the gap of unit-variance laws N(z, 1) are those of the best b for this noise [replicates, points]."""
    best = bisected(z[:, None] + noise)
    np.testing.assert_array_equal((inverse == 0, np.isinf(inverse)), (best == 0, np.isinf(best)))
    inside = np.isfinite(best) & (best > 0)
    b, z = best[inside], z[inside]
    assert (np.abs(inverse[inside] - b) < tolerance * np.maximum(b, np.maximum(np.abs(z), 0.01))).all()
    assert (np.abs(gap[inside] - b * (b - z)) < 10 * tolerance * (b**2 + 1)).all()


def noise_of(sets, dtype, pairs):
    """The held-out points of each set: [cells, replicates, 2 pairs]."""
    source = sets.source(16, sets.n)
    words = jax.jit(jax.vmap(lambda k: jnp.stack(normals(source, k, np.dtype(dtype)))))(jnp.arange(pairs))
    return np.moveaxis(np.asarray(words, float).reshape(2 * pairs, *words.shape[2:]), 0, -1)


@pytest.mark.medium
def test_is_the_minimum_for_its_points(sets, exact):
    """For the points that belong to a training set, by bisection."""
    noise, rows = noise_of(sets, np.float32, 20), slice(0, 300)
    for k in range(2):
        fit = jax.tree.map(lambda part, k=k: part[k, :, rows], exact)
        deviation = np.sqrt(fit.before.var)
        for index, (*_, m) in enumerate(CONFIGURATIONS):
            z = fit.before.mean[index] / deviation[index]
            with np.errstate(divide="ignore"):
                inverse = deviation[index] / fit.temperature[index]
            check_minimum(noise[index, rows, :m], z, inverse, fit.after.gap[index], 1e-5)


@pytest.fixture(scope="module")
def double(sets):
    """(sets, fit): the first 200 of a cell in float64; the fit [5 laws, 2 numbers of points, 200] of any laws."""
    few = jax.tree.map(lambda part: part[:1, :200].astype(float) if part.dtype == np.float32 else part[:1], sets)
    few = few._replace(position=sets.position[:, :200])

    def fitted(z, scale, counts):
        z, scale = (np.broadcast_to(v, 5)[:, None, None].astype(float) for v in (z, scale))
        law = ScoreLaw(jnp.asarray(scale * z), jnp.asarray(scale * (scale - z)))
        return scale_on_held_out(few, law, n_held_out=counts)

    return few, fitted


@pytest.mark.slow
def test_is_the_minimum_in_double_precision(double):
    """13 points and 1000, the fewer the first of the more."""
    (few, fitted), z = double, np.array([-0.5, 0.0, 0.4, 1.1, 2.0])
    noise, fit = noise_of(few, np.float64, 500)[0], fitted(z, 1.0, np.array([13, 1000]))
    for row, shift in enumerate(z):
        for column, count in enumerate((13, 1000)):
            with np.errstate(divide="ignore"):
                inverse = 1 / np.asarray(fit.temperature[row, column])
            gap = np.asarray(fit.after.gap[row, column])
            check_minimum(noise[:, :count], np.full(200, shift), inverse, gap, 1e-11)


@pytest.mark.medium
def test_only_the_accuracy_matters(double):
    """Scores of one accuracy and of any scale: the same law after scaling, and temperatures in proportion."""
    scale = np.array([1.0, 0.25, 8.0, 3.0, 0.5])
    fit = double[1](0.8, scale, np.array([13, 50]))
    np.testing.assert_allclose(fit.after.mean, np.broadcast_to(fit.after.mean[:1], (5, 2, 200)), rtol=1e-9)
    np.testing.assert_allclose(fit.temperature, scale[:, None, None] * fit.temperature[:1], rtol=1e-9)


def test_sets_have_points_of_their_own(sets):
    noise = noise_of(sets, np.float32, 1)
    assert len(np.unique(noise)) > 0.99 * noise.size


@pytest.mark.medium
def test_the_best_temperature_minimises_the_nll():
    law = ScoreLaw.from_moments([1.0, 2.0, 0.3], [2.0, 1.0, 4.0])
    best = population_nll(at_best_temperature(law))
    for factor in (0.5, 0.9, 1.1, 2.0):  # of the temperature var / mean
        b = factor * np.asarray(law.mean) / np.asarray(law.var)
        other = population_nll(ScoreLaw.from_moments(b * law.mean, b**2 * law.var))
        assert (np.asarray(other) > np.asarray(best)).all()
    np.testing.assert_allclose(population_accuracy(at_best_temperature(law)), population_accuracy(law), rtol=1e-12)


def test_a_score_that_is_wrong_on_average_is_left_without_confidence():
    np.testing.assert_allclose(population_nll(at_best_temperature(ScoreLaw(-1.0, 3.0))), np.log(2), rtol=1e-6)
