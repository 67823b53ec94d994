"""Estimators against the double sum over pairs that defines Mixup, written out."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax.gaussian import (
    class_moments,
    logistic_coefficients,
    mixup_logistic_coefficients,
    ridge_coefficients,
    ridge_estimator,
)
from mixjax.gaussian.estimators import (
    fixed_lam_estimator,
    mean_estimator,
    mixed_rows,
    mixup_estimator,
    random_pairs_estimator,
    sigma_estimator,
    weighted_estimator,
)
from tests.gaussian.every_pair import every_pair


def data(rng, n=6, p=4):
    return rng.standard_normal((n, p)), rng.choice([-1.0, 1.0], n)


def all_pairs(x, y, lam):
    """n^-2 sum_ij (lam x_i + (1-lam) x_j)(lam y_i + (1-lam) y_j), [MixCal] Section 3.1, literally."""
    n = len(y)
    total = np.zeros(x.shape[1])
    for i in range(n):
        for j in range(n):
            total += (lam * x[i] + (1 - lam) * x[j]) * (lam * y[i] + (1 - lam) * y[j])
    return total / n**2


def over_beta(x, y, alpha, beta):
    """Its expectation over lam ~ Beta(alpha, beta)."""
    rows, labels, shares = every_pair(x, y, alpha, beta)
    return (shares * labels) @ rows


fixed_lam, mixup = partial(fixed_lam_estimator, lam=0.25), partial(mixup_estimator, alpha=1, beta=1)
pooled_sigma = partial(sigma_estimator, sigma_estimate="pooled")


def test_mean_estimator(rng):
    x, y = data(rng)
    np.testing.assert_allclose(mean_estimator(x, y), sum(y[i] * x[i] for i in range(6)) / 6, rtol=0, atol=1e-15)


def test_fixed_lam(rng):
    """1e-14 is the rounding of 36 terms of size 3; lam may be traced."""
    x, y = data(rng)
    traced = jax.jit(lambda lam: fixed_lam_estimator(x, y, lam=lam))
    for lam in (0.0, 0.1, 0.5, 0.8, 1.0):
        np.testing.assert_allclose(fixed_lam_estimator(x, y, lam=lam), all_pairs(x, y, lam), rtol=0, atol=1e-14)
        np.testing.assert_allclose(traced(lam), all_pairs(x, y, lam), rtol=0, atol=1e-14)


@pytest.mark.parametrize("alpha, beta", [(0.2, 0.2), (1, 1), (2, 0.5), (10, 30)])
def test_mixup_is_the_expectation_over_beta(rng, alpha, beta):
    x, y = data(rng)
    np.testing.assert_allclose(
        mixup_estimator(x, y, alpha=alpha, beta=beta), over_beta(x, y, alpha, beta), rtol=0, atol=1e-13
    )


def test_no_mixup_is_the_mean(rng):
    x, y = data(rng)
    np.testing.assert_array_equal(mixup_estimator(x, y, alpha=0, beta=2), mean_estimator(x, y))
    np.testing.assert_array_equal(weighted_estimator(x, y, 0), mean_estimator(x, y))


def test_full_weight_is_the_product_of_means(rng):
    x, y = data(rng)
    np.testing.assert_allclose(weighted_estimator(x, y, 1.0), x.mean(axis=0) * y.mean(), rtol=0, atol=1e-15)


@pytest.mark.medium
@pytest.mark.parametrize("dtype", [np.int8, np.uint64])
def test_integer_data(dtype):
    """As the same numbers in float64: nothing overflows, and no weight is rounded to 0."""
    x, y = np.array([[100, 3], [90, 1], [7, 120]], dtype), np.array([1, 1, 1] if dtype == np.uint64 else [1, -1, 1])
    plain, mean = (x * y[:, None].astype(float)).mean(axis=0), x.mean(axis=0) * y.mean()
    residuals = x - y[:, None] * plain
    t = 2 * 0.25 * 0.75  # of lam = 1/4
    for compiled in (lambda f: f, jax.jit) if dtype == np.int8 else (lambda f: f,):
        np.testing.assert_allclose(compiled(mean_estimator)(x, y), plain, rtol=1e-13)
        np.testing.assert_allclose(compiled(fixed_lam)(x, y), (1 - t) * plain + t * mean, rtol=1e-13)
        np.testing.assert_allclose(compiled(mixup)(x, y), (2 * plain + mean) / 3, rtol=1e-13)
        expected = np.sqrt((residuals**2).sum() / 6)
        np.testing.assert_allclose(compiled(pooled_sigma)(x, y), expected, rtol=1e-13)


# --- random pairs ---------------------------------------------------------------------------------


@jax.jit
def pairs(key, x, y, alpha, beta):
    """100 estimates of 1000 pairs each."""
    estimate = partial(random_pairs_estimator, alpha=alpha, beta=beta, num_pairs=1000)
    return jax.lax.map(lambda k: estimate(k, x, y), jax.random.split(key, 100))


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("alpha, beta", [(1.0, 1.0), (0.3, 0.6), (2.0, 5.0)])
def test_random_pairs_are_unbiased(rng, key, alpha, beta):
    """Of the double sum over Beta, with the spread of literal pairs: 24 checks at 5 standard errors, 6e-7.

    The spread of the 100 estimates is that of 1000 pairs, within 5 of its standard errors 1 / sqrt(200).
    """
    x, y = data(rng)
    drawn = np.asarray(pairs(key, x, y, alpha, beta))
    lam, i, j = rng.beta(alpha, beta, (100_000, 1)), *rng.integers(0, len(y), (2, 100_000))
    literal = (lam * x[i] + (1 - lam) * x[j]) * (lam * y[i, None] + (1 - lam) * y[j, None])
    error = drawn.mean(axis=0) - over_beta(x, y, alpha, beta)
    assert (np.abs(error) < 5 * literal.std(axis=0) / np.sqrt(100_000)).all()
    spread = drawn.std(axis=0, ddof=1) * np.sqrt(1000) / literal.std(axis=0)
    assert (np.abs(spread - 1) < 5 / np.sqrt(200)).all()


@pytest.mark.medium
def test_random_pairs_without_mixup(rng, key):
    """alpha = 0: points of the data, with the mean and the spread of y_i x_i; limits as above."""
    x, y = data(rng)
    drawn, points = np.asarray(pairs(key, x, y, 0.0, 1.0)), y[:, None] * x
    assert (np.abs(drawn.mean(axis=0) - points.mean(axis=0)) < 5 * points.std(axis=0) / np.sqrt(100_000)).all()
    spread = drawn.std(axis=0, ddof=1) * np.sqrt(1000) / points.std(axis=0)
    assert (np.abs(spread - 1) < 5 / np.sqrt(200)).all()


# --- sigma ----------------------------------------------------------------------------------------


def test_sigma_in_both_readings(rng):
    x, y = data(rng)
    y[0], y[1] = -1, 1
    theta_hat = sum(y[i] * x[i] for i in range(6)) / 6
    residuals = [x[i] - y[i] * theta_hat for i in range(6)]
    outside = np.sqrt(np.linalg.norm(sum(residuals)) ** 2 / (4 * 6))
    inside = np.sqrt(sum(np.linalg.norm(r) ** 2 for r in residuals) / (4 * 6))
    np.testing.assert_allclose(sigma_estimator(x, y), outside, rtol=1e-13)
    np.testing.assert_allclose(sigma_estimator(x, y, sigma_estimate="paper"), outside, rtol=1e-13)
    np.testing.assert_allclose(sigma_estimator(x, y, sigma_estimate="pooled"), inside, rtol=1e-13)


def test_equal_labels_make_the_papers_sigma_vanish(rng):
    x, _ = data(rng)
    assert sigma_estimator(x, np.ones(6)) < 1e-15
    assert sigma_estimator(x, -np.ones(6), sigma_estimate="pooled") > 0.1


def test_unknown_reading_of_sigma(rng):
    with pytest.raises(ValueError, match='sigma_estimate must be "paper" or "pooled", got \'known\''):
        sigma_estimator(*data(rng), sigma_estimate="known")


# --- shapes and dtypes ------------------------------------------------------------------------------

OF_LABELED_ROWS = {
    "mean": mean_estimator,
    "weighted": partial(weighted_estimator, t=0.3),
    "mixup": partial(mixup_estimator, alpha=1, beta=1),
    "fixed lam": partial(fixed_lam_estimator, lam=0.5),
    "random pairs": partial(random_pairs_estimator, jax.random.key(0), alpha=1, beta=1, num_pairs=3),
    "sigma": sigma_estimator,
    "ridge": partial(ridge_estimator, t=0.3, penalty=0.1),
    "ridge coefficients": partial(ridge_coefficients, t=0.3, penalty=0.1),
    "logistic": partial(logistic_coefficients, penalty=0.1),
    "logistic with Mixup": partial(mixup_logistic_coefficients, penalty=0.1),
    "class moments": class_moments,
}
EVERY_ESTIMATE = pytest.mark.parametrize("estimate", OF_LABELED_ROWS.values(), ids=OF_LABELED_ROWS)


@EVERY_ESTIMATE
@pytest.mark.parametrize("x_shape, y_shape", [((3,), (3,)), ((3, 2), (2,)), ((3, 2), (3, 1))])
def test_shapes_must_fit(estimate, x_shape, y_shape):
    with pytest.raises(ValueError, match=r"x and y must have shapes \[n, p\] and \[n\], got \("):
        estimate(np.ones(x_shape), np.ones(y_shape))


@EVERY_ESTIMATE
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_narrow_data_compute_in_float32(rng, estimate, dtype):
    found = jax.eval_shape(estimate, *(part.astype(dtype) for part in data(rng)))
    assert {part.dtype for part in jax.tree.leaves(found)} == {np.dtype(np.float32)}


@pytest.mark.slow
def test_random_pairs_are_the_same_with_and_without_64_bits(key, monkeypatch):
    """The i and j of the pairs; lambda, which compiles for seconds, is taken as given."""
    monkeypatch.setattr(jax.random, "beta", lambda *_: jnp.full(20, 0.25, np.float32))
    x, y = np.arange(12, dtype=np.float32).reshape(6, 2), np.float32([1, -1, 1, 1, -1, 1])
    found = []
    for wide in (True, False):
        with jax.enable_x64(wide):
            found.append(np.asarray(mixed_rows(key, x, y, alpha=1.0, beta=1.0, num_pairs=20)[0]))
    np.testing.assert_array_equal(*found)
    assert len(np.unique(found[0], axis=0)) > 5
