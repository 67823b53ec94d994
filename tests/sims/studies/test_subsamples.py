"""Divisions of rows and what is measured of them, against literal estimators and the exact law of the model."""

from __future__ import annotations

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mixjax.calibration import debiased_ece2
from mixjax.gaussian import population_accuracy, population_ece, sample_scores
from mixjax.sims.studies import subsamples
from mixjax.sims.studies.subsamples import HISTOGRAM, divided, estimated, gaussian_rows, longest_for, scored

SIZES = np.array([40, 10, 3], np.int32)
WEIGHTS = np.array([0.0, 0.2, 0.45], np.float32)
ESTIMATED = jax.jit(estimated, static_argnums=4)


def test_the_estimates_are_those_of_the_paper(key):
    """The rows of a pool differ by powers of 2, so that each estimate shows the rows that it was made of.

    theta_hat(0) n = sum of x y gives the rows and their labels; the literal estimator from these gives every weight.
    """
    pool = jnp.asarray(2.0 ** np.arange(24).reshape(2, 12, 1))
    sizes, weights = np.array([6, 4, 1], np.int32), jnp.array([0.0, 0.3, 0.5])
    found = np.asarray(ESTIMATED(key, pool, jnp.asarray(sizes), weights, 6)).reshape(3, 3)
    sets = []
    for size, (plain, *mixed) in zip(sizes, found, strict=True):
        plus, minus = _bits(plain * size)
        assert len(plus) + len(minus) == size
        x = np.array([2.0**k for k in (*plus, *minus)])[:, None]
        y = np.repeat([1.0, -1.0], [len(plus), len(minus)])
        for t, value in zip((0.3, 0.5), mixed, strict=True):
            literal = (1 - t) * (x[:, 0] * y).mean() + t * x.mean() * y.mean()
            np.testing.assert_allclose(value, literal, rtol=1e-12)
        sets.append({*plus, *minus})
    assert sets[2] < sets[1] < sets[0]  # nested


def _bits(total: float) -> tuple[list[int], list[int]]:
    """The powers of 2 in total = sum over plus (0 to 11) - sum over minus (12 to 23)."""
    minus = -int(total // 2**12)
    plus = int(total) + minus * 2**12
    return [k for k in range(12) if plus >> k & 1], [k + 12 for k in range(12) if minus >> k & 1]


@pytest.mark.slow
def test_labels_are_a_fair_coin_and_rows_are_uniform(key):
    """Of 4000 sets of 5: the number of plus labels is Bin(5, 1/2), and every row as frequent; chi^2 tests at 1e-6."""
    pool = jnp.asarray(2.0 ** np.arange(24).reshape(2, 12, 1))
    each = jax.jit(jax.vmap(lambda key: estimated(key, pool, jnp.array([5]), jnp.zeros(1), 5)[0, 0] * 5))
    totals = each(jax.random.split(key, 4000))
    drawn = [_bits(float(total)) for total in np.rint(totals)]
    counts = np.bincount([len(plus) for plus, _ in drawn], minlength=6)
    assert stats.chisquare(counts, stats.binom.pmf(np.arange(6), 5, 0.5) * 4000).pvalue > 1e-6
    rows = np.bincount([row for plus, minus in drawn for row in (*plus, *minus)], minlength=24)
    assert stats.chisquare(rows).pvalue > 1e-6


@pytest.fixture(scope="module")
def model(module_key):
    """Rows of Definition 3.1 with |theta| = 1 in dimension 6, 3000 a class; a division of them, and its scores."""
    key_division, key_sets = jax.random.split(module_key)
    noise = np.random.default_rng(0).standard_normal((2, 3000, 6), np.float32)
    rows = noise + np.array([1.0, -1.0], np.float32)[:, None, None] / np.float32(np.sqrt(6))
    division = divided(key_division, jnp.asarray(rows), p=6)
    found = scored(key_sets, division.rows, SIZES, WEIGHTS, replicates=200, longest=40)
    return jax.tree.map(np.asarray, (division, found))


@pytest.mark.slow
def test_on_rows_of_the_model_the_exact_law_is_found(model, key):
    """Means of 200 training sets against 20,000 of the exact law, for rows of the model and Gaussian ones alike.

    Tolerances: five standard errors of the 200, whose spread is that of the law, and what 2000 test rows and the
    whitening leave (rho within 5 %): .004 of ECE_2^2 at n = 3, .002 below, .015 of the accuracy.
    """
    _, found = model
    law = sample_scores(key, n=SIZES[:, None], p=6, theta_norm=1.0, t=WEIGHTS[None], replicates=20_000)
    square = np.asarray(population_ece(law, norm=2) ** 2)
    slack = 5 * square.std(axis=-1) / np.sqrt(200) + np.array([0.002, 0.002, 0.004])[:, None]
    accuracy = np.asarray(population_accuracy(law))
    room = 5 * accuracy.std(axis=-1) / np.sqrt(200) + 0.015
    for kind in range(2):
        assert (np.abs(found.square[kind] - square.mean(axis=-1)) < slack).all()
        assert (np.abs(found.accuracy[kind] - accuracy.mean(axis=-1)) < room).all()


@pytest.mark.slow
def test_the_plug_in_is_above_the_root_of_the_debiased_where_errors_are_small(model):
    """ECE_1 <= ECE_2 of the same bins, whose bias is what is left: of 15 bins of 133 rows at most .04."""
    _, found = model
    assert (found.ece > 0).all()
    assert (found.ece - np.sqrt(np.maximum(found.square, 0)) < 0.04).all()


@pytest.mark.slow
def test_fifteen_bins_miss_a_part_of_what_mixup_gains(key):
    """At |theta| = 2, p/n = 50/16 and t = 1/3 they miss 3.6 % of it, and 200 bins miss nothing.

    25 other keys had .036 and -.0002, with standard deviations of .006 and .005; the tolerances are five of these.
    """
    key_sets, key_rows = jax.random.split(key)
    law = sample_scores(key_sets, n=16, p=50, theta_norm=2.0, t=np.array([0.0, 1 / 3], np.float32), replicates=40)
    keys = jax.random.split(key_rows, 40)

    @partial(jax.jit, static_argnames="num_bins")
    def binned(key, mean, var, num_bins):
        noise = jax.random.normal(key, (200_000,), jnp.float32)
        margins = mean.astype(jnp.float32) + jnp.sqrt(var).astype(jnp.float32) * noise
        confidence, correct = jax.nn.sigmoid(2 * jnp.abs(margins)), (margins > 0).astype(jnp.float32)
        return debiased_ece2(confidence, correct, num_bins=num_bins, binning="equal-mass").squared

    def gain(values):
        return float(np.diff(np.asarray(values).mean(axis=1))[0])

    scores = [list(zip(keys, *arm, strict=True)) for arm in zip(law.mean, law.var, strict=True)]
    exact = gain(population_ece(law, norm=2) ** 2)
    missed = {bins: 1 - gain([[binned(*one, bins) for one in arm] for arm in scores]) / exact for bins in (15, 200)}
    assert abs(missed[15] - 0.036) < 0.03
    assert abs(missed[200]) < 0.025


@pytest.mark.slow
def test_the_shape_is_that_of_the_model(model):
    """Of 4000 rows, each within 5 standard errors and what the whitening of 2000 rows leaves."""
    shape = model[0].shape
    assert abs(float(shape.theta_square) - 1.0) < 0.2
    assert abs(float(shape.trace) - 1.0) < 0.06 and abs(float(shape.trace_square) - 1.0) < 0.12
    assert float(shape.offset) < 0.15
    np.testing.assert_allclose(shape.variance, 1.0, atol=0.2)
    np.testing.assert_allclose(shape.skewness, 0.0, atol=5 * np.sqrt(6 / 2000))
    np.testing.assert_allclose(shape.kurtosis, 0.0, atol=5 * np.sqrt(24 / 2000))
    np.testing.assert_allclose(np.asarray(shape.histogram).sum(axis=1) * np.diff(HISTOGRAM)[0], 1.0, atol=1e-5)


@pytest.mark.slow
def test_skewness_is_outwards(rng):
    """Of classes with a long tail towards each other both are negative: -2 for the exponential law, 6 its kurtosis."""
    tails = rng.exponential(size=(2, 20_000, 1)).astype(np.float32)
    side = np.array([1.0, -1.0], np.float32)[:, None, None]
    shape = jax.jit(subsamples._shape_of)(5 * side - side * tails)
    np.testing.assert_allclose(shape.skewness, -2.0, atol=0.4)
    np.testing.assert_allclose(shape.kurtosis, 6.0, atol=5)


@pytest.mark.slow
def test_gaussian_rows_have_the_moments_of_the_rows(key, rng):
    """Of rows that are not Gaussian: means within 5 standard errors, covariances within 5 %, kurtosis gone."""
    z = rng.exponential(size=(2, 40_000, 3)) @ rng.standard_normal((3, 3)) + np.array([1.0, -1.0])[:, None, None]
    drawn = np.asarray(jax.jit(gaussian_rows)(key, jnp.asarray(z)))
    for row, other in zip(drawn, z, strict=True):
        deviation = other.std(axis=0)
        assert (np.abs(row.mean(axis=0) - other.mean(axis=0)) < 5 * deviation / 200).all()
        scale = np.outer(deviation, deviation)
        np.testing.assert_allclose(np.cov(row.T) / scale, np.cov(other.T) / scale, atol=0.05)
        assert (stats.normaltest(row).pvalue > 1e-6).all()


def test_rows_that_are_scored_had_no_part_in_the_whitening(key, rng):
    """Of six numbers of each class: z is (x - c) / s of four, c the center of the others, as one choice says."""
    rows = rng.standard_normal((2, 6, 1))
    z = np.asarray(divided(key, jnp.asarray(rows), p=1).rows[0])[..., 0]
    explained = 0
    for left_out in itertools.product(itertools.combinations(range(6), 2), repeat=2):
        center = np.mean([rows[k, list(pair)] for k, pair in enumerate(left_out)])
        rest = np.sort([np.delete(rows[k], pair) - center for k, pair in enumerate(left_out)])
        for found in (np.sort(z), np.sort(-z)):
            scale = np.sum(rest * found) / np.sum(found**2)
            explained += scale > 0 and np.allclose(rest, scale * found, atol=1e-6)
    assert explained == 1


@pytest.mark.parametrize("rows", [1, 10, 59, 2333])
def test_the_longest_training_set_has_rows_enough(rows):
    """All but one in 10^6: the binomial law has no more rows of a class than there are; one more point is too many."""
    longest = longest_for(rows)
    assert stats.binom.sf(rows, longest, 0.5) < 1e-6
    assert longest > 0.5 * rows
