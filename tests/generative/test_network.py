"""Networks as generators: values and inverses written out, Jacobians by differences, and what is not injective."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax.generative import (
    LeakyReluNetwork,
    leaky_relu_generator,
    linear_generator,
    max_lipschitz_ratio,
    sample_coupling,
    sample_leaky_relu,
    sample_linear,
)

WIDTHS = [(3, 4, 6), (1, 1), (3, 3), (2, 5), (4, 5, 6, 7)]


def reference(network, z):
    """The formula, row by row in NumPy."""
    for number, (matrix, bias) in enumerate(zip(network.matrices, network.biases, strict=True)):
        z = np.array([np.asarray(matrix) @ row + np.asarray(bias) for row in z])
        if number < len(network.matrices) - 1:
            z = np.maximum(z, 0) + float(network.slope) * np.minimum(z, 0)
    return z


def differences(mapping, row, step=1e-6):
    """The Jacobian by central differences."""
    offsets = step * np.eye(len(row))
    return np.stack([(mapping(row + o) - mapping(row - o)) / (2 * step) for o in offsets], axis=1)


@jax.jit
def there_and_back(network, z):
    x = network(z)
    return x, network.inverse()(x)


@pytest.mark.few(1)
@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_values_inverse_and_scores(widths, key, rng):
    network = sample_leaky_relu(key, widths=widths)
    z = rng.standard_normal((50, widths[0]))
    x, back = there_and_back(network, z)
    np.testing.assert_allclose(x, reference(network, z), atol=1e-12)
    np.testing.assert_allclose(back, z, atol=1e-10)
    for count in (1, 2 * widths[-1] * max(widths)):  # through the last matrix, and after it
        classifiers = rng.standard_normal((count, widths[-1]))
        scores = jax.jit(LeakyReluNetwork.scores)(network, z, classifiers)
        np.testing.assert_allclose(scores, np.asarray(x) @ classifiers.T, atol=1e-9)


@pytest.mark.medium
def test_off_its_range_a_linear_inverse_takes_the_nearest_point(rng):
    matrix, x = rng.standard_normal((6, 3)), rng.standard_normal((50, 6))
    nearest = np.linalg.lstsq(matrix, x.T, rcond=None)[0].T
    np.testing.assert_allclose(linear_generator(matrix).inverse()(x), nearest, atol=1e-12)


@pytest.mark.slow
def test_stretch_by_differences_and_below_its_bound(key, rng):
    network = sample_leaky_relu(key, widths=(3, 4, 6), slope=0.3)
    z = rng.standard_normal((50, 3))
    norms = [np.linalg.norm(differences(lambda row: reference(network, row[None])[0], row), 2) for row in z]
    np.testing.assert_allclose(max_lipschitz_ratio(network, z), max(norms), rtol=1e-6)
    for mapping, rows in ((network, z), (network.inverse(), network(z))):
        assert max_lipschitz_ratio(mapping, rows) <= mapping.lipschitz_bound() * (1 + 1e-12)


@pytest.mark.slow
def test_a_linear_map_has_its_condition_and_reaches_its_bound(key, rng):
    network = sample_linear(key, p=3, d=6, condition=9.0)
    singular = np.linalg.svd(network.matrices[0], compute_uv=False)
    np.testing.assert_allclose(singular, [3.0, 1.0, 1 / 3], rtol=1e-9)
    np.testing.assert_allclose(network.lipschitz_bound(), 3.0, rtol=1e-9)
    np.testing.assert_allclose(max_lipschitz_ratio(network, rng.standard_normal((50, 3))), 3.0, rtol=1e-9)


RANK_ONE = np.outer([1.0, 2.0, 3.0], [1.0, -1.0])


@pytest.mark.parametrize("make, words", [
    (lambda: linear_generator(RANK_ONE), r"matrices\[0\] must have full column rank for the map to be injective"),
    (lambda: linear_generator(np.ones((2, 3))), "from 3 to 2 dimensions is not injective: d must be at least p"),
    (lambda: leaky_relu_generator([np.eye(3, 2), np.eye(2, 3)]), "from 3 to 2 dimensions is not injective"),
    (lambda: leaky_relu_generator([np.eye(2), np.eye(2)], slope=0.0), "slope must be finite and positive, got 0"),
    (lambda: leaky_relu_generator([np.eye(4, 2), np.eye(3)]), "matrices must follow each other"),
    (lambda: leaky_relu_generator([]), "matrices must be one or more arrays"),
    (lambda: linear_generator(np.full((2, 2), np.nan)), "full column rank"),
    (lambda: linear_generator(np.eye(2), np.ones(3)), "biases must have one entry a row"),
    (lambda: sample_linear(jax.random.key(0), p=3, d=2), "from 3 to 2 dimensions is not injective"),
    (lambda: sample_linear(jax.random.key(0), p=3, d=3, condition=0.5), "condition must be 1 or more"),
])  # fmt: skip
def test_a_map_that_is_not_injective_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.few(1)
@pytest.mark.parametrize("make, names", [
    (partial(leaky_relu_generator, [np.eye(2), np.eye(2)]), ("slope",)),
    (partial(sample_leaky_relu, jax.random.key(0), widths=(2, 2, 2)), ("slope", "condition", "bias_scale")),
    (partial(sample_linear, jax.random.key(0), p=2, d=2), ("condition",)),
    (partial(sample_coupling, jax.random.key(0), p=2), ("max_log_scale", "shift_scale")),
])  # fmt: skip
def test_arrays_in_place_of_one_number_are_refused(make, names):
    for name in names:
        with pytest.raises(ValueError, match=rf"^{name} must be one number, got an array of shape \(2,\)$"):
            make(**{name: np.ones(2)})


def test_under_jit_it_is_nan():
    traced = jax.jit(lambda matrix, slope: leaky_relu_generator([matrix, np.eye(3)], slope=slope)(jnp.ones((1, 2))))
    assert np.isnan(traced(RANK_ONE, 0.5)).all()
    assert np.isnan(traced(np.eye(3, 2), -0.5)).any()
    assert np.isfinite(traced(np.eye(3, 2), 0.5)).all()
