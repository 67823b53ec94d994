"""SKCE: against its double sum, its expectation, and its derivatives."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest

from mixjax.calibration import skce, skce_linear
from mixjax.numerics.estimate import Estimate


def pairs(probs, labels, bandwidth=None):
    """h_ij, from the definition."""
    residual = np.eye(probs.shape[1])[labels] - probs
    distance = np.linalg.norm(probs[:, None] - probs[None], axis=2)
    nu = np.median(distance[distance > 0]) if bandwidth is None else bandwidth
    return residual @ residual.T * np.exp(-distance / nu)


def expected(h, estimator):
    n = len(h)
    if estimator == "biased":
        return h.mean()
    if estimator == "unbiased":
        return (h.sum() - np.trace(h)) / (n * (n - 1))
    return h[np.arange(0, n - 1, 2), np.arange(1, n, 2)].mean()


def draw(rng, size, classes=3):
    probs = rng.dirichlet(np.full(classes, 0.7), size)
    probs[:4] = np.eye(classes)[[0, 0, 1, 2]]  # ties, and exact zeros
    return probs, rng.integers(0, classes, size)


ESTIMATORS = {
    "biased": skce,
    "unbiased": partial(skce, estimator="unbiased"),
    "linear": lambda *rows, **options: skce_linear(*rows, **options).value,
}


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_double_sum_agrees(estimator, rng):
    """...of the rows that count, others holding anything."""
    probs, labels = draw(rng, 131)
    where, function = rng.random(131) < 0.6, ESTIMATORS[estimator]
    hidden = np.where(where[:, None], probs, np.nan).astype(np.float32)
    seen = hidden[where].astype(np.float64)
    for bandwidth in (None, 0.2):
        truth = expected(pairs(seen, labels[where], bandwidth), estimator)
        np.testing.assert_allclose(function(hidden, labels, where=where, bandwidth=bandwidth), truth, rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_double_sum_agrees_in_float64(estimator, rng):
    probs, labels = draw(rng, 131)
    for bandwidth in (None, 0.2):
        truth = expected(pairs(probs, labels, bandwidth), estimator)
        np.testing.assert_allclose(ESTIMATORS[estimator](probs, labels, bandwidth=bandwidth), truth, rtol=0, atol=1e-13)


@pytest.mark.slow
def test_order_does_not_matter(rng):
    """More rows than those of which distances are taken."""
    probs, labels = draw(rng, 700)
    order = rng.permutation(700)
    value = skce(probs, labels)
    np.testing.assert_allclose(skce(probs[order], labels[order]), value, rtol=0, atol=1e-14)
    exact = expected(pairs(probs, labels), "biased")  # with the median over all pairs
    np.testing.assert_allclose(value, exact, rtol=0.02)


@pytest.mark.slow
def test_unbiased_forms_have_mean_zero_under_calibration(rng):
    """5 standard errors of 300 replicates: false alarms 6e-7. The linear form's own standard errors are right."""
    probs = rng.dirichlet(np.ones(3), (300, 60))
    labels = (probs.cumsum(-1) < rng.random((300, 60, 1))).sum(-1)
    unbiased = jax.jit(jax.vmap(lambda g, y: skce(g, y, estimator="unbiased", bandwidth=0.5)))(probs, labels)
    linear = jax.jit(jax.vmap(lambda g, y: skce_linear(g, y, bandwidth=0.5)))(probs, labels)
    linear = Estimate(*map(np.asarray, linear))
    for draws in (np.asarray(unbiased), linear.value):
        assert abs(draws.mean()) < 5 * draws.std() / np.sqrt(300)
    np.testing.assert_allclose(np.sqrt(np.mean(linear.standard_error**2)), linear.value.std(), rtol=5 / np.sqrt(600))


def test_standard_error(rng):
    probs, labels = draw(rng, 21)
    h = pairs(probs, labels, 0.3)[np.arange(0, 20, 2), np.arange(1, 20, 2)]
    estimate = skce_linear(probs, labels, bandwidth=0.3)
    np.testing.assert_allclose(estimate, [h.mean(), h.std(ddof=1) / np.sqrt(10)], atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["biased", *(
    pytest.param(name, marks=pytest.mark.slow) for name in ("unbiased", "linear")
)])  # fmt: skip
def test_gradients_are_finite_differences(estimator, rng):
    """Along the simplex, at ties and at corners for finiteness."""
    probs, labels = draw(rng, 131)
    loss = jax.jit(lambda g: ESTIMATORS[estimator](g, labels, bandwidth=0.3))
    gradient = np.asarray(jax.jit(jax.grad(loss))(probs))
    assert np.isfinite(gradient).all()
    for i in (5, 77):
        move = 1e-6 * (np.arange(131) == i)[:, None] * np.array([1.0, -1.0, 0.0]) * min(1, 1e3 * probs[i].min())
        slope = (loss(probs + move) - loss(probs - move)) / 2
        np.testing.assert_allclose(np.sum(gradient * move), slope, rtol=0, atol=1e-13)


@pytest.mark.slow
def test_few_rows():
    probs, labels, where = np.float32([[0.25, 0.75], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]), [1, 0, 0, 0], np.arange(4)
    for name, one in (("biased", 0.125), ("unbiased", np.nan), ("linear", np.nan)):
        function = ESTIMATORS[name]
        np.testing.assert_allclose(function(probs, labels, where=where < 1), one)
        np.testing.assert_allclose(function(probs, labels, where=where > 0), 0.5)  # rows of no distance
    assert np.isnan(skce_linear(probs, labels, where=where < 2).standard_error)
    assert np.isnan(skce_linear(np.zeros((0, 3)), np.zeros(0, int)).value)


@pytest.mark.medium
def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="estimator must be one of"):
        skce([[1.0]], [0], estimator="linear")
    with pytest.raises(ValueError, match="bandwidth must be finite and positive, got 0"):
        skce([[1.0]], [0], bandwidth=0.0)
    with pytest.raises(ValueError, match="bandwidth must be a scalar"):
        skce([[1.0]], [0], bandwidth=[0.1])
    with pytest.raises(ValueError, match=r"labels must be in \[0, 2\), got 2 in row 1"):
        skce_linear(np.float32([[0.5, 0.5]] * 4), [0, 2, 0, 0], where=np.ones(4, bool))
