"""An inverse that is learned: where it starts, that it comes near the exact one, and what is refused."""

from __future__ import annotations

import sys

import jax
import numpy as np
import pytest
from scipy import stats

from mixjax.gaussian import sample_data
from mixjax.generative import density_error, learn_inverse, sample_coupling, simulate_scores
from mixjax.generative.learned import _training
from mixjax.generative.start import affine_network, affine_start

P, D, ROWS = 3, 5, 4000
THETA = np.full(P, P**-0.5, np.float32)
SMALL = {"width": 8, "num_hidden": 1, "batch_size": 64}
STEPS = 300  # which are compiled


MATRIX = np.linalg.qr(np.random.default_rng(0).standard_normal((D, D)))[0][:, :P] * np.array([2.0, 1.0, 0.5])


def rows_of(rng, n):
    """(x, y) of the linear generator x = MATRIX z, in float32."""
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    z = y[:, None] * THETA + rng.standard_normal((n, P))
    return np.float32(z @ MATRIX.T), np.float32(y)


@pytest.fixture
def data(rng):
    return rows_of(rng, ROWS)


def test_the_start_has_the_two_moments(data):
    """Class means at -theta and theta along theta, and the mean within-class covariance I: by NumPy."""
    x, y = data
    matrix, center = affine_start(x, y, THETA)
    h = (x - center) @ matrix.T
    means = np.stack([h[y == label].mean(axis=0) for label in (-1, 1)])
    within = np.concatenate([h[y == label] - h[y == label].mean(axis=0) for label in (-1, 1)])
    np.testing.assert_allclose(within.T @ within / (ROWS - 2), np.eye(P), atol=1e-5)
    np.testing.assert_allclose(means[1], -means[0], atol=1e-5)
    across = means[1] - (means[1] @ THETA) * THETA
    np.testing.assert_allclose(across, 0, atol=1e-5)
    assert abs(means[1] @ THETA - 1) < 5 * np.sqrt(4 / ROWS)  # two standard errors of the mean, and of the variance


@pytest.mark.slow
def test_an_affine_network_is_its_affine_map(data, key, rng):
    affine = affine_start(*data, THETA)
    for hidden in (1, 3):
        network = affine_network(key, affine, width=10, num_hidden=hidden, slope=0.3)
        x = rng.standard_normal((20, D))
        np.testing.assert_allclose(network(x.astype(np.float32)), (x - affine.center) @ affine.matrix.T, atol=2e-5)


@pytest.mark.slow
def test_a_learned_inverse_of_a_linear_map_has_nearly_the_models_densities(data, key, rng):
    """Along two directions, 40,000 fresh rows: the largest difference of distribution functions is below 0.04.

    In other units of x the network is the same map.
    """
    x, y = data
    learned, other = (
        learn_inverse(key, a * x + b, y, theta=THETA, num_steps=STEPS, **SMALL)
        for a, b in ((np.float32(1), np.float32(0)), (np.float32(100), np.float32(7)))
    )
    fresh, labels = rows_of(rng, 40_000)
    h = np.asarray(learned(fresh))
    for v in (THETA, np.array([1, -1, 0]) / np.sqrt(2)):
        for label in (-1, 1):
            assert stats.kstest(h[labels == label] @ v, stats.norm(label * v @ THETA).cdf).statistic < 0.04
    start = affine_start(x, y, THETA)
    assert np.abs((fresh - start.center) @ start.matrix.T - h).max() > 0.01  # it is trained
    np.testing.assert_allclose(h, other(np.float32(100) * fresh + np.float32(7)), atol=0.05)


@pytest.mark.slow
def test_training_lowers_the_error_of_a_curved_map(module_key):
    """E|delta_u| of a strongly curved flow falls from 1 step to 400 by more than 5 standard errors of the draws."""
    keys = jax.random.split(module_key, 4)
    flow = sample_coupling(keys[0], p=P, max_log_scale=np.float32(1.0), shift_scale=np.float32(2.0), num_layers=2)
    z, y = sample_data(keys[1], n=ROWS, theta=THETA)
    found = []
    for steps in (1, 400):
        learned = learn_inverse(keys[2], flow(z), y, theta=THETA, num_steps=steps, **SMALL | {"width": 32})
        bins = simulate_scores(keys[3], flow, learned, np.eye(P, dtype=np.float32), THETA, num_draws=1 << 16)
        found.append(density_error(bins, np.eye(P, dtype=np.float32), THETA).absolute)
    (before, after), error = (np.mean(e.value) for e in found), sum(np.mean(e.standard_error) for e in found)
    assert before - after > 5 * error


X, Y = np.arange(20.0).reshape(5, 4) % 7, np.array([1, -1, 1, -1, 1.0])


@pytest.mark.parametrize("wrong, words", [
    ({"x": X[:, :2]}, "d must be at least p, got d = 2 and p = 3"),
    ({"x": X[:0], "y": Y[:0]}, "each class must have two rows or more, got 0 of -1 and 0 of "),
    ({"y": np.ones(5)}, "each class must have two rows or more"),
    ({"y": np.array([1, 0, 1, -1, -1.0])}, r"y must be -1 or \+1, got 0"),
    ({"y": Y[:4]}, "x, y, theta must have shapes"),
    ({"x": np.where(X > 5, np.nan, X)}, "must be finite"),
    ({"x": np.repeat(X[:, :1], 4, axis=1)}, "x must vary in at least p = 3 directions"),
    ({"num_steps": 0}, "num_steps must be at least 1"),
    ({"width": 5}, "width must be at least 6"),
    ({"width": 7}, "width must be even, got 7"),
    ({"slope": 0.0}, "slope must be finite and positive"),
    ({"learning_rate": np.nan}, "learning_rate must be finite and positive"),
    ({"learning_rate": np.ones(2)}, r"learning_rate must be one number, got an array of shape \(2,\)"),
    ({"slope": np.ones(2)}, r"slope must be one number, got an array of shape \(2,\)"),
])  # fmt: skip
def test_wrong_values_are_refused(wrong, words, key):
    with pytest.raises(ValueError, match=words):
        learn_inverse(key, **{"x": X, "y": Y, "theta": THETA} | wrong)


def test_without_flax_it_says_what_to_install(monkeypatch, key):
    _training.cache_clear()
    monkeypatch.setitem(sys.modules, "flax", None)
    with pytest.raises(ImportError, match=r"pip install 'mixjax\[generative\]'"):
        learn_inverse(key, X, Y, theta=THETA)


@pytest.mark.slow
def test_last_digits_of_the_rows_do_not_change_what_is_learned_in_float64(data, key):
    """Every row is one digit larger, as on another processor; in float32 one digit alone is 1e-7."""
    x, y = (np.asarray(values, np.float64) for values in data)
    theta = np.asarray(THETA, np.float64)
    learned, other = (
        learn_inverse(key, rows, y, theta=theta, num_steps=STEPS, **SMALL) for rows in (x, np.nextafter(x, np.inf))
    )
    assert learned(x).dtype == np.float64
    np.testing.assert_allclose(learned(x), other(x), rtol=0, atol=1e-10)
