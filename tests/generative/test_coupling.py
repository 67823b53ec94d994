"""Coupling flows: the formula in NumPy, the closed-form inverse, the Jacobian by differences, wrong permutations."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest

from mixjax.generative import coupling_generator, max_lipschitz_ratio, sample_coupling


def reference(flow, row):
    """One row through each layer, as in the header of the module."""
    for order, K, R, T in zip(*map(np.asarray, (flow.order, flow.features, flow.scales, flow.shifts)), strict=True):
        row = row[order]
        half = len(row) // 2
        a, b = row[:half], row[half:]
        w = np.tanh(K @ a)
        row = np.concatenate([a, b * np.exp(float(flow.max_log_scale) * np.tanh(R @ w)) + T @ w])
    return row


@jax.jit
def everything(flow, z, classifiers):
    x, inverse = flow(z), flow.inverse()
    return x, inverse(x), inverse.inverse()(z), flow.scores(z, classifiers)


@pytest.mark.slow
@pytest.mark.parametrize("p, layers", [(5, 2), (2, 1), (16, 4)])
def test_values_inverse_scores_and_stretch(p, layers, key, rng):
    """Stretch by differences; |det| of a layer is the product of e^r, so that g is injective everywhere."""
    flow = sample_coupling(key, p=p, num_layers=layers)
    z = rng.standard_normal((6, p))
    classifiers = rng.standard_normal((3, p))
    x, back, again, scores = everything(flow, z, classifiers)
    np.testing.assert_allclose(x, [reference(flow, row) for row in z], atol=1e-12)
    np.testing.assert_allclose(back, z, atol=1e-12)
    np.testing.assert_allclose(again, x, atol=1e-12)
    np.testing.assert_allclose(scores, np.asarray(x) @ classifiers.T, atol=1e-12)
    single = replace(flow, **{name: np.asarray(getattr(flow, name))[:1] for name in ("order", *PARTS)})
    step = 1e-6
    jacobians = [
        np.stack([(reference(single, r + o) - reference(single, r - o)) / (2 * step) for o in step * np.eye(p)], axis=1)
        for r in z
    ]
    np.testing.assert_allclose(max_lipschitz_ratio(single, z), max(np.linalg.norm(j, 2) for j in jacobians), rtol=1e-6)
    a = z[:, single.order[0]][:, : p // 2]
    r = float(flow.max_log_scale) * np.tanh(np.tanh(a @ single.features[0].T) @ single.scales[0].T)
    np.testing.assert_allclose(np.abs(np.linalg.det(jacobians)), np.exp(r.sum(axis=1)), rtol=1e-6)


@jax.jit
def there_and_back(order, parts, z):
    flow = coupling_generator(order, **parts)
    return flow(z), flow.inverse()(flow(z))


def test_values_and_inverse_of_one_layer(rng):
    """Of a flow that is written out, which compiles in a tenth of the time of one that is drawn."""
    order, z = np.array([[2, 0, 1]]), rng.standard_normal((6, 3))
    parts = {name: rng.standard_normal(values.shape) for name, values in PARTS.items()}
    x, back = there_and_back(order, parts, z)
    flow = coupling_generator(order, **parts)
    np.testing.assert_allclose(x, [reference(flow, row) for row in z], atol=1e-12)
    np.testing.assert_allclose(back, z, atol=1e-12)


PARTS = {"features": np.ones((1, 3, 1)), "scales": np.ones((1, 2, 3)), "shifts": np.ones((1, 2, 3))}


@pytest.mark.parametrize("order, wrong, words", [
    ([[0, 1, 1]], {}, r"permutations of 0..2 for the map to be injective, got \[0 1 1\]"),
    ([[1, 2, 3]], {}, "permutations of 0..2"),
    ([[0.0, 1.0, 2.0]], {}, "order must be integers of shape"),
    ([[0]], {}, "with p >= 2"),
    ([[0, 1, 2]], {"scales": np.ones((1, 1, 3))}, r"scales must have shape \(1, 2, 3\)"),
    ([[0, 1, 2]], {"features": np.ones((3, 1))}, "features must have shape"),
    ([[0, 1, 2]], {"max_log_scale": -1.0}, "max_log_scale must be finite and not negative, got -1"),
    ([[0, 1, 2]], {"max_log_scale": np.ones(2)}, r"max_log_scale must be one number, got an array of shape \(2,\)"),
])  # fmt: skip
def test_what_is_not_injective_or_does_not_fit_is_refused(order, wrong, words):
    with pytest.raises(ValueError, match=words):
        coupling_generator(order, **PARTS | wrong)


def test_under_jit_a_wrong_permutation_is_nan():
    traced = jax.jit(lambda order: coupling_generator(order, **PARTS)(np.ones((1, 3))))
    assert np.isnan(traced(np.array([[0, 1, 1]]))[:, 1:]).all()
    assert np.isfinite(traced(np.array([[0, 2, 1]]))).all()
