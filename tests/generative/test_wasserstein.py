"""Distances to a normal law against SciPy's, and that a sample of the law itself is best left as it is."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from mixjax.generative.wasserstein import class_distances, sliced_distances, stretched_quantiles


@pytest.mark.slow
def test_it_is_the_distance_to_the_quantiles(rng):
    """W_2^2 of two samples of one size in one dimension: the mean squared difference of what is sorted."""
    samples, mean = rng.standard_normal((200, 3)) * [1.0, 2.0, 0.5] + 0.7, np.array([0.5, -1.0, 0.0])
    slices = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    found = sliced_distances(samples, mean, slices)
    for value, u in zip(found, slices, strict=True):
        target = np.asarray(stretched_quantiles(200, np.float64)) + u @ mean
        np.testing.assert_allclose(value, np.mean((np.sort(samples @ u) - target) ** 2), rtol=1e-10)


@pytest.mark.slow
def test_it_tends_to_the_distance_of_the_laws(rng):
    """N(m, s^2) to N(0, 1): W_2^2 = m^2 + (s - 1)^2, within 5 standard errors of m and s of 200,000 samples."""
    samples, error = 0.5 + 1.5 * rng.standard_normal((200_000, 1)), 1.5 * np.sqrt(1.0 + 0.5) / np.sqrt(200_000)
    np.testing.assert_allclose(sliced_distances(samples, np.zeros(1), np.ones((1, 1))), 0.5, atol=5 * error)


@pytest.mark.slow
@pytest.mark.parametrize("size", [5, 50])
def test_quantiles_are_expected_order_statistics_stretched(size):
    """Blom's formula within 2 % of the largest, by quadrature of the order statistics' densities."""

    def expected(i):
        density = lambda u: stats.norm.ppf(u) * stats.beta.pdf(u, i, size + 1 - i)  # noqa: E731
        return integrate.quad(density, 0, 1)[0]

    m = np.array([expected(i) for i in range(1, size + 1)])
    found = np.asarray(stretched_quantiles(size, np.float64))
    np.testing.assert_allclose(found, m / np.mean(m**2), atol=0.02 * m.max() / np.mean(m**2))


@pytest.mark.medium
def test_blom_by_mpmath():
    found = np.asarray(stretched_quantiles(3, np.float64))
    top = float(mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf("2.625") / mpmath.mpf("3.25") - 1))
    np.testing.assert_allclose(found, np.array([-top, 0, top]) / (2 * top**2 / 3), rtol=1e-12)


@pytest.mark.slow
def test_a_sample_of_the_law_is_closest_unscaled(rng):
    """The mean gradient in the scale is 0 at 1 within 4.5 standard errors (a false alarm in 1e5), unlike with m_i."""
    samples = rng.standard_normal((4000, 64, 1))
    one = lambda scale, rows: sliced_distances(scale * rows, np.zeros(1), np.ones((1, 1)))[0]  # noqa: E731
    slopes = np.asarray(jax.jit(jax.vmap(jax.grad(one), (None, 0)))(1.0, samples))
    error = slopes.std() / np.sqrt(len(slopes))
    assert abs(slopes.mean()) < 4.5 * error + 1e-3
    plain = np.mean(np.asarray(stretched_quantiles(64, np.float64)) ** 2)  # 1 / mean m^2
    assert plain > 1.02


def test_classes_and_weights(rng):
    theta = np.array([0.6, 0.8])
    lower, upper = rng.standard_normal((2, 100, 2))
    slices = np.eye(2)
    found = jax.jit(class_distances)(*map(jnp.asarray, (lower, upper, theta, slices)))
    distances = jax.jit(sliced_distances)
    for value, samples, mean in zip(found, (lower, upper), (-theta, theta), strict=True):
        along = float(distances(samples, mean, theta[None])[0])
        np.testing.assert_allclose(value, 0.2 * along + 0.8 * np.mean(distances(samples, mean, slices)))


def test_shapes_that_do_not_fit_are_refused():
    for shapes in (((5,), (1,), (1, 1)), ((5, 2), (3,), (1, 2)), ((5, 2), (2,), (1, 3))):
        with pytest.raises(ValueError, match="must have shapes"):
            sliced_distances(*map(np.ones, shapes))
