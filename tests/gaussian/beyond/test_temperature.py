"""Temperature scaling on held-out points: against literal data in p dimensions, and bisection point by point."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from mixjax.gaussian import ScoreLaw, population_accuracy, population_ece, sample_training_sets
from mixjax.gaussian.beyond.temperature import TemperatureFit, scale_on_held_out, scaled_ece
from mixjax.random import normals

# n, p, theta_norm, t, sigma, n_held_out
CONFIGURATIONS = [
    (5, 1, 0.5, 0.3, 1.0, 4),
    (6, 2, 1.0, 0.3, 2.0, 9),
    (10, 8, 1.5, 1 / 3, 1.0, 20),
    (20, 30, 1.0, 0.45, 0.7, 40),
    (4, 3, 0.0, 0.2, 1.0, 30),
]
LITERAL, EXACT = 10_000, 20_000
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
    theta = np.zeros(p)
    theta[0] = theta_norm
    y, y_out = (rng.choice([-1.0, 1.0], (LITERAL, size, 1)) for size in (n, m))
    x, x_out = (labels * theta + sigma * rng.standard_normal((*labels.shape[:2], p)) for labels in (y, y_out))
    plain, other = np.mean(x * y, axis=1), np.mean(x, axis=1) * np.mean(y, axis=1)
    for weight in (0.0, t):
        estimate = (1 - weight) * plain + weight * other
        margins = np.einsum("rip,rp->ri", y_out * x_out, estimate) / sigma**2
        yield bisected(margins), estimate @ theta / sigma**2, np.sum(estimate**2, axis=1) / sigma**2


@pytest.fixture(scope="module")
def exact(module_key):
    n, p, theta_norm, t, sigma, m = np.array(CONFIGURATIONS, np.float32).T
    sets = sample_training_sets(module_key, n=n, p=p, theta_norm=theta_norm, sigma=sigma, replicates=EXACT)
    fit = scale_on_held_out(sets, sets.scores(np.stack([0 * t, t])[..., None]), n_held_out=m)
    assert fit.temperature.dtype == fit.after.gap.dtype == np.float32
    return jax.tree.map(lambda part: np.asarray(part, float), fit)


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


def test_both_ends_occur_and_their_errors_are_the_limits(exact):
    """In the first two configurations all points right (0.20, 0.02) and wrong on average (0.25, 0.20)."""
    ece, accuracy = np.asarray(scaled_ece(exact)), np.asarray(population_accuracy(exact.before))
    assert np.isfinite(ece).all()
    for end, expected in ((0, 1 - accuracy), (np.inf, np.abs(accuracy - 0.5))):
        at_end = exact.temperature == end
        assert at_end.sum() > 1000
        np.testing.assert_allclose(ece[at_end], expected[at_end], rtol=1e-12, atol=1e-15)
        assert np.isnan(exact.after.gap[at_end]).all()


def test_the_ends_continue_what_lies_between():
    """ECE at temperatures of 1e-4 and 1e4 beside those of 0 and inf."""
    before = ScoreLaw(jnp.full(2, 1.2), jnp.full(2, 0.8))
    inverse = jnp.asarray([1e4, 1e-4])
    near = ScoreLaw(inverse * 1.2, inverse * (inverse * 2.0 - 1.2))
    ends = TemperatureFit(before, jnp.asarray([0.0, jnp.inf]), near)
    np.testing.assert_allclose(scaled_ece(ends), population_ece(near), rtol=0, atol=2e-4)


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 1e-5), (np.float64, 1e-11)])
def test_is_the_minimum_for_its_points(key, dtype, tolerance):
    """For the points that belong to a training set, by bisection; 13 of them, and 1000."""
    z = np.array([-0.5, 0.0, 0.4, 1.1, 2.0], dtype)[:, None, None]
    counts = np.array([13, 1000])
    sets = sample_training_sets(key, n=dtype(3), p=3, theta_norm=1, replicates=200)
    fit = scale_on_held_out(sets, ScoreLaw(jnp.asarray(z), jnp.asarray(1 - z)), n_held_out=counts)
    source = sets.source(16, sets.n)
    pairs = jax.jit(jax.vmap(lambda k: jnp.stack(normals(source, k, np.dtype(dtype)))))(jnp.arange(500))
    noise = np.asarray(pairs, float).reshape(1000, 200).T
    for column, count in enumerate(counts):
        for row, shift in enumerate(np.asarray(z, float).ravel()):
            best = bisected(shift + noise[:, :count])
            with np.errstate(divide="ignore"):
                inverse = 1 / np.asarray(fit.temperature[row, column], float)
            np.testing.assert_array_equal((inverse == 0, np.isinf(inverse)), (best == 0, np.isinf(best)))
            inside = np.isfinite(best) & (best > 0)
            b, gap = best[inside], np.asarray(fit.after.gap[row, column], float)[inside]
            assert (np.abs(inverse[inside] - b) < tolerance * np.maximum(b, max(abs(shift), 0.01))).all()
            assert (np.abs(gap - b * (b - shift)) < 10 * tolerance * (b**2 + 1)).all()


def test_only_the_accuracy_matters(key):
    """Scores of one accuracy and of any scale: the same law after scaling, and temperatures in proportion."""
    scale = np.array([[1.0], [0.25], [8.0]], np.float32)
    law = ScoreLaw(jnp.asarray(0.8 * scale), jnp.asarray(scale * (scale - 0.8)))
    sets = sample_training_sets(key, n=np.float32(3), p=3, theta_norm=1, replicates=200)
    fit = scale_on_held_out(sets, law, n_held_out=50)
    np.testing.assert_allclose(fit.after.mean, np.broadcast_to(fit.after.mean[:1], (3, 200)), rtol=1e-5)
    np.testing.assert_allclose(fit.temperature, scale * fit.temperature[:1], rtol=1e-5)


def test_fewer_points_are_the_first_of_more(key):
    """The temperature is the same alone and beside more points, and the points of another set are others."""
    sets = sample_training_sets(key, n=np.float32(10), p=np.float32([2, 5]), theta_norm=1, replicates=50)
    law = sets.scores(0.3)
    both, alone = (scale_on_held_out(sets, law, n_held_out=counts) for counts in ([[7], [20]], [[7], [7]]))
    assert both.temperature.shape == both.before.mean.shape == both.after.gap.shape == (2, 2, 50)
    np.testing.assert_allclose(alone.temperature[:1], both.temperature[:1], rtol=1e-5)
    change = np.asarray(alone.temperature[1] != both.temperature[1])
    assert change.mean() > 0.9
    assert (np.asarray(alone.after.gap[0, 0] != alone.after.gap[0, 1])).mean() > 0.9
