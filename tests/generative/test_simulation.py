"""Literal scores against closed forms and SciPy: with the exact inverse the ECE is known, and delta_u is 0."""

from __future__ import annotations

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import expit

from mixjax.gaussian import population_ece, score_law
from mixjax.generative import density_error, sample_linear, simulate_scores, simulated_ece

P, D = 3, 5
THETA = np.array([0.6, 0.8, 0.0])
CLASSIFIERS = np.array([[0.9, 0.9, 0.4], [0.3, 0.4, -0.1], [0.6, 0.8, 0.0], [-0.5, 0.2, 1.0]])
DRAWS = 1 << 17


@pytest.fixture(scope="module")
def generator(module_key):
    return sample_linear(jax.random.fold_in(module_key, 0), p=P, d=D)


@pytest.fixture(scope="module")
def exact(module_key, generator):
    """Bins of the scores with the exact inverse."""
    key = jax.random.fold_in(module_key, 1)
    return simulate_scores(key, generator, generator.inverse(), CLASSIFIERS, THETA, num_draws=DRAWS)


def shifted(generator, scale, shift):
    """An h_hat that is wrong by a known affine map: h_hat(g(z)) = scale z + shift."""
    inverse = generator.inverse()
    return inverse._replace(matrices=(scale * inverse.matrices[0],), biases=(jnp.asarray(shift),))


def ece_by_quadrature(classifier, scale, shift):
    """E |P(y = +1 | v) - s(2v)| for v = <classifier, scale z + shift>, from the two normal densities of v."""
    sd = scale * np.linalg.norm(classifier)
    means = [classifier @ (scale * label * THETA + shift) for label in (1, -1)]

    def error(v):
        up, down = (stats.norm.pdf(v, mean, sd) / 2 for mean in means)
        return abs(up - (up + down) * expit(2 * v))

    ends = np.linspace(min(means) - 9 * sd, max(means) + 9 * sd, 41)
    return sum(integrate.quad(error, low, high)[0] for low, high in pairwise(ends))


@pytest.mark.slow
def test_the_exact_inverse_has_the_ece_of_the_closed_form(exact):
    """Within 5 standard errors (a false alarm in 4e5 for four classifiers) and 1e-6."""
    found, wanted = simulated_ece(exact), population_ece(score_law(CLASSIFIERS, THETA))
    assert (np.abs(found.value - wanted) < 5 * found.standard_error + 1e-6).all()
    assert (found.standard_error < 2e-3).all()
    np.testing.assert_allclose(wanted[0], ece_by_quadrature(CLASSIFIERS[0], 1.0, np.zeros(P)), atol=1e-7)


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("scale, shift", [(0.7, 0.0), (1.0, 0.4)])
def test_a_wrong_inverse_has_the_ece_of_its_law(scale, shift, generator, key):
    """By quadrature; within 5 standard errors and 5e-4, what bins leave where the sign changes within one."""
    inverse = shifted(generator, scale, np.full(P, shift))
    found = simulated_ece(simulate_scores(key, generator, inverse, CLASSIFIERS, THETA, num_draws=DRAWS))
    wanted = [ece_by_quadrature(c, scale, np.full(P, shift)) for c in CLASSIFIERS]
    assert (np.abs(found.value - np.array(wanted)) < 5 * found.standard_error + 5e-4).all()


@pytest.mark.slow
def test_densities_of_the_exact_inverse_are_those_of_the_model(exact):
    """E|delta_u| and its square are 0 within 5 standard errors, noise of the mean included."""
    found = density_error(exact, CLASSIFIERS, THETA)
    for estimate in found:
        assert (np.abs(estimate.value) < 5 * estimate.standard_error + 1e-4).all()


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("scale, shift", [(1.0, 0.3), (1.0, -0.2)])
def test_density_errors_are_those_of_the_law(scale, shift, generator, key):
    """Of the law's bins, from SciPy's normal probabilities: sum p_1 |p_1 / p_2 - 1|, and with the square.

    At scales above 1 the square has a heavy tail, and its standard error says too little.
    """
    inverse = shifted(generator, scale, np.full(P, shift))
    bins = simulate_scores(key, generator, inverse, CLASSIFIERS, THETA, num_draws=DRAWS)
    found = density_error(bins, CLASSIFIERS, THETA)
    for c, classifier in enumerate(CLASSIFIERS):
        norm, center = np.linalg.norm(classifier), classifier @ THETA / np.linalg.norm(classifier)
        for k, label in enumerate((-1, 1)):
            model = np.diff(stats.norm.cdf(np.asarray(bins.edges), label * center))
            mean = (scale * label * classifier @ THETA + shift * classifier.sum()) / norm
            actual = np.diff(stats.norm.cdf(np.asarray(bins.edges), mean, scale))
            delta = actual / model - 1
            for estimate, wanted in zip(found, (actual @ np.abs(delta), actual @ delta**2), strict=True):
                error = 5 * estimate.standard_error[c, k] + 2e-3
                assert abs(estimate.value[c, k] - wanted) < error


@pytest.mark.medium
def test_bins_count_every_draw(exact):
    np.testing.assert_array_equal(exact.draws.sum(axis=(0, 2)), DRAWS)
    np.testing.assert_allclose(exact.posterior.sum(axis=(0, 2)) / DRAWS, 0.5, atol=5 * 0.5 / np.sqrt(DRAWS))
    assert exact.edges[len(exact.edges) // 2] == 0
    assert (np.diff(exact.edges) > 0).all()


@pytest.mark.medium
def test_a_classifier_that_is_0_is_nan(generator, key):
    classifiers = np.concatenate([CLASSIFIERS[:3], np.zeros((1, P))])
    bins = simulate_scores(key, generator, generator.inverse(), classifiers, THETA, num_draws=DRAWS)
    value = simulated_ece(bins).value
    assert np.isnan(value[3])
    assert np.isfinite(value[:3]).all()


@pytest.mark.medium
@pytest.mark.parametrize("wrong, words", [
    ({"num_draws": 0}, "num_draws must be at least 1"),
    ({"num_bins": 7}, "num_bins must be even, got 7"),
    ({"classifiers": CLASSIFIERS[0]}, r"must have shapes \[classifiers, p\] and \[p\]"),
    ({"classifiers": np.zeros((0, P))}, r"must have shapes \[classifiers, p\] and \[p\]"),
    ({"theta": np.zeros(2)}, r"must have shapes \[classifiers, p\] and \[p\]"),
])  # fmt: skip
def test_wrong_values_are_refused(wrong, words, generator, key):
    given = {"classifiers": CLASSIFIERS, "theta": THETA} | wrong
    with pytest.raises(ValueError, match=words):
        simulate_scores(key, generator, generator.inverse(), **given)
