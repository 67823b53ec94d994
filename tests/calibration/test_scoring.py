"""Scores against NumPy in float64, and at the ends of their range."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from mixjax.calibration import brier_score, nll, nll_from_logits, signed_gap

SIZE, CLASSES = 10, 3
LOGITS = st.lists(
    st.lists(st.floats(-90, 90, width=32), min_size=CLASSES, max_size=CLASSES), min_size=SIZE, max_size=SIZE
).map(lambda rows: np.array(rows, np.float32))
LABELS = st.lists(st.integers(0, CLASSES - 1), min_size=SIZE, max_size=SIZE).map(np.array)
WEIGHTS = st.lists(st.integers(0, 3), min_size=SIZE, max_size=SIZE).filter(any).map(np.array)


def expected(function, logits, labels):
    """Of each row."""
    logits, rows = logits.astype(np.float64), np.arange(len(labels))
    if function is brier_score:
        return ((softmax(logits, axis=1) - np.eye(CLASSES)[labels]) ** 2).sum(1)
    return -log_softmax(logits, axis=1)[rows, labels]


@settings(deadline=None, max_examples=40)
@given(LOGITS, LABELS, WEIGHTS, st.permutations(range(SIZE)))
def test_definition(logits, labels, weights, order):
    """...with weights as repetition, in any order of the rows, and a mask for rows that hold anything."""
    order = list(order)
    probs = softmax(logits.astype(np.float64), axis=1)
    for function, scores in ((nll_from_logits, logits), (nll, probs), (brier_score, probs)):
        exact = np.repeat(expected(function, logits, labels), weights).mean()
        value = function(scores[order], labels[order], weights=weights[order].astype(float))
        np.testing.assert_allclose(value, exact, rtol=1e-6, atol=1e-7)
        kept = (weights > 0)[order]
        hidden = np.where(kept[:, None], scores[order], np.nan), np.where(kept, labels[order], -5)
        masked = function(*hidden, weights=np.where(kept, weights[order], np.nan), where=kept)
        np.testing.assert_allclose(masked, exact, rtol=1e-6, atol=1e-7)


def test_signed_gap(rng):
    confidence, correct = rng.random(12).astype(np.float32), (rng.random(12) < 0.4).astype(np.float32)
    weights = rng.integers(1, 4, 12).astype(np.float32)
    exact = np.average(confidence.astype(float) - correct, weights=weights)
    np.testing.assert_allclose(signed_gap(confidence, correct, weights=weights), exact, atol=2e-7)


@pytest.mark.slow
def test_zero_probability():
    """...is infinite where it came true, unless the row counts for nothing; from logits nothing is lost before."""
    probs, labels = np.array([[1.0, 0.0], [0.5, 0.5]]), [1, 0]
    assert nll(probs, labels, weights=[1, 1]) == np.inf
    np.testing.assert_allclose(nll(probs, labels, weights=[0, 1]), np.log(2))
    for logits, label, value in (([500.0, -500.0], 1, 1000), ([0.0, -np.inf], 0, 0), ([0.0, -np.inf], 1, np.inf)):
        np.testing.assert_allclose(nll_from_logits(np.array([logits]), [label]), value)


@pytest.mark.slow
def test_gradients():
    """softmax - labels over n; 0 where a row counts for nothing, whatever it holds."""
    logits, labels = np.array([[1.0, 2.0], [0.0, -1.0]]), np.array([0, 1])
    gradient = jax.jit(jax.grad(nll_from_logits))(logits, labels)
    np.testing.assert_allclose(gradient, (softmax(logits, axis=1) - np.eye(2)[labels]) / 2, rtol=1e-12)
    padded = jax.grad(lambda z: nll_from_logits(z, [0, 0], where=np.array([True, False])))
    for anything in (np.nan, np.inf, -np.inf):
        gradient = padded(np.array([[1.0, 2.0], [anything, anything]]))
        np.testing.assert_allclose(gradient, [softmax([1.0, 2.0]) - [1, 0], [0, 0]], rtol=1e-12)
    slope = jax.jit(jax.grad(lambda p: nll(p, labels, weights=np.array([0.0, 1.0]))))
    gradient = slope(np.array([[0.0, 1.0], [0.5, 0.5]]))
    np.testing.assert_allclose(gradient, [[0, 0], [0, -2]])


@pytest.mark.medium
def test_wrong_values_of_logits():
    """Others are in test_contract.py."""
    scores, labels = np.full((2, 2), 0.5), np.array([0, 2])
    assert np.isnan(nll_from_logits(scores, [0, 1], weights=[1, np.nan]))
    assert np.isnan(nll_from_logits(np.array([[0.5, 0.5], [np.nan, 0.5]]), [0, 1], weights=[1, 1]))
    with pytest.raises(ValueError, match=r"labels must be in \[0, 2\), got 2 in row 1"):
        nll_from_logits(scores, labels, weights=[1, 1])
    assert np.isnan(jax.jit(nll_from_logits)(scores, labels))


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        ([0.0, 1.0], r"logits must have shape \[N, K\] or \[..., K\], got \(2,\)"),
        ([[0.0, 1.0], [np.inf, 0.0]], "logits must be below infinity, got inf in row 1"),
        ([[-np.inf, -np.inf]], "logits must be above -inf for one class, got -inf in row 0"),
    ],
)
def test_wrong_logits_are_refused(logits, message):
    with pytest.raises(ValueError, match=message):
        nll_from_logits(logits, np.zeros(len(logits), int))


@pytest.mark.slow
def test_float32_does_not_drift(rng):
    confidence = rng.uniform(0.9, 1, 10**6).astype(np.float32)
    correct = rng.random(len(confidence)) < 0.8
    exact = confidence.astype(np.float64).mean() - correct.mean()
    np.testing.assert_allclose(signed_gap(confidence, correct), exact, atol=3e-8)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_softmaxes_of_half_precision_are_probabilities_under_jit_too(key, dtype):
    """XLA may keep more digits inside of a program, and sums of rows are then off by more than rounding."""
    logits, labels = jax.random.normal(key, (64, 10)).astype(dtype), np.zeros(64, np.int32)

    def score(logits):
        return brier_score(jax.nn.softmax(logits), labels)

    np.testing.assert_allclose(jax.jit(score)(logits), score(logits), atol=1e-2)
