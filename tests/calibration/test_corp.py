"""Isotonic regression by the max-min formula, and the decomposition that follows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixjax.calibration import brier_decomposition, isotonic_regression
from mixjax.calibration.corp import _Diagram, _hull, _pruned
from mixjax.calibration.order import sorted_rows
from mixjax.calibration.rows import Rows
from mixjax.calibration.ties import Ties
from tests.calibration.exact import isotonic
from tests.calibration.test_binned import SAMPLES, SIZE, WEIGHTS, close

MASKS = st.lists(st.booleans(), min_size=SIZE, max_size=SIZE).map(np.array)


def parts(confidence, correct, weights=None):
    """From the definition, in fractions until the end."""
    weights = np.ones(len(correct)) if weights is None else weights
    fitted = np.array([float(v) for v in isotonic(confidence, correct, weights)])
    base = np.average(correct, weights=weights)
    score, fit, flat = (
        np.average((x - correct) ** 2, weights=weights) for x in (confidence.astype(float), fitted, base)
    )
    return score, score - fit, flat - fit, flat


@settings(deadline=None, max_examples=60)
@given(SAMPLES, st.none() | WEIGHTS, st.permutations(range(SIZE)))
def test_definition(sample, weights, order):
    """...in any order of the rows."""
    confidence, correct = sample
    order = list(order)
    shuffled = None if weights is None else weights[order]
    fitted = isotonic_regression(confidence[order], correct[order], weights=shuffled)
    close(fitted, np.array([float(v) for v in isotonic(confidence, correct, weights)])[order])
    result = brier_decomposition(confidence[order], correct[order], weights=shuffled)
    close(result, parts(confidence, correct, weights))
    close(result.score, result.miscalibration - result.discrimination + result.uncertainty)


@settings(deadline=None, max_examples=30)
@given(SAMPLES, MASKS, st.none() | WEIGHTS)
def test_a_mask_removes_rows(sample, where, weights):
    """...and so does a weight of 0."""
    confidence, correct = sample
    hidden = np.where(where, confidence, np.nan), np.where(where, correct, 7)
    result, fitted = (f(*hidden, weights=weights, where=where) for f in (brier_decomposition, isotonic_regression))
    if not where.any():
        assert np.isnan(result).all()
        return
    kept = None if weights is None else weights[where]
    close(result, parts(confidence[where], correct[where], kept))
    close(fitted[where], [float(v) for v in isotonic(confidence[where], correct[where], kept)])
    assert not np.asarray(fitted)[~where].any()
    without = np.where(where, 1.0 if weights is None else weights, 0.0).astype(np.float32)
    close(brier_decomposition(confidence, correct, weights=without), result)
    close(isotonic_regression(confidence, correct, weights=without)[where], fitted[where])


@settings(deadline=None, max_examples=20)
@given(SAMPLES, st.lists(st.integers(1, 3), min_size=SIZE, max_size=SIZE))
def test_weights_repeat_rows(sample, weights):
    rows = np.repeat(np.arange(SIZE), weights)
    padded, where = np.resize(rows, 3 * SIZE), np.arange(3 * SIZE) < len(rows)
    repeated = brier_decomposition(*(column[padded] for column in sample), where=where)
    close(brier_decomposition(*sample, weights=weights), repeated)


@pytest.mark.parametrize("weighted", [False, True])
def test_pruned_points_have_the_same_hull(weighted, rng):
    """What goes before the stack on accelerators; without weights it is exact."""
    confidence = np.round(rng.beta(5, 1.2, 5000), 3).astype(np.float32)
    weights = rng.integers(1, 5, 5000).astype(np.float32) if weighted else None
    correct = (rng.random(5000) < confidence).astype(np.float32)
    ordered = sorted_rows(
        Rows(*map(jnp.asarray, (confidence, correct)), None if weights is None else jnp.asarray(weights))
    )
    ties, diagram = Ties.of(ordered), _Diagram.of(ordered)
    points, last = _pruned(ties.first, ties.num_groups, diagram)
    assert last < ties.num_groups // 4
    np.testing.assert_array_equal(_hull(points, last, diagram), _hull(ties.first, ties.num_groups, diagram))


def test_float32_does_not_drift(rng):
    """A million rows, in float32 and in float64; the fit is monotone and has the mean of what it fits."""
    confidence = rng.beta(5, 1.2, 10**6).astype(np.float32)
    correct = rng.random(10**6) < confidence**2
    result, exact = (brier_decomposition(confidence.astype(d), correct) for d in (np.float32, np.float64))
    np.testing.assert_allclose(result, exact, atol=1e-7)
    fitted = np.asarray(isotonic_regression(confidence, correct), float)
    assert (np.diff(fitted[np.argsort(confidence)]) >= 0).all()
    np.testing.assert_allclose(fitted.mean(), correct.mean(), atol=1e-7)
    np.testing.assert_allclose(((fitted - correct) ** 2).mean(), result.score - result.miscalibration, atol=1e-7)


def test_signs_and_dtypes(rng):
    """A perfect forecast, a constant one, and half precision."""
    correct = rng.random(50) < 0.4
    base = correct.mean()
    np.testing.assert_allclose(brier_decomposition(correct.astype(float), correct), [0, 0, *2 * [base * (1 - base)]])
    flat = brier_decomposition(np.full(50, 0.5), correct)
    np.testing.assert_allclose(flat, [0.25, (base - 0.5) ** 2, 0, base * (1 - base)], atol=1e-15)
    assert brier_decomposition(jnp.ones(3, jnp.bfloat16), [1, 1, 0]).score.dtype == np.float32


def test_nan_and_wrong_values():
    for confidence in ([], [np.nan, 0.9]):
        assert np.isnan(brier_decomposition(confidence, np.zeros(len(confidence)))).all()
        assert np.isnan(isotonic_regression(confidence, np.zeros(len(confidence)))).all()
    for function in (brier_decomposition, isotonic_regression):
        with pytest.raises(ValueError, match=r"correct must be 0 or 1, got 2 in row 1"):
            function([0.5, 1.0], [0, 2])
        traced = jax.jit(function)(np.array([0.5, 1.0]), np.array([0, 2]))
        assert all(np.isnan(leaf).all() for leaf in jax.tree.leaves(traced))


def test_leading_axes_by_vmap(rng):
    confidence, correct = rng.random((3, SIZE)), rng.random((3, SIZE)) < 0.5
    batched = jax.vmap(brier_decomposition)(confidence, correct)
    each = [brier_decomposition(c, y) for c, y in zip(confidence, correct, strict=True)]
    np.testing.assert_allclose(jnp.stack(batched, axis=1), each, atol=1e-15)


def test_gradients(rng):
    """The fit depends on the order of the confidences only; its change with the weights is of second order."""
    confidence, correct, weights = rng.random(SIZE), rng.random(SIZE) < 0.5, rng.random(SIZE)

    def part(name, c, w):
        return getattr(brier_decomposition(c, correct, weights=w), name)

    slope = 2 * weights * (confidence - correct) / weights.sum()
    np.testing.assert_allclose(jax.grad(lambda c: part("score", c, weights))(confidence), slope)
    np.testing.assert_allclose(jax.grad(lambda c: part("miscalibration", c, weights))(confidence), slope)
    step = 1e-6 * rng.standard_normal(SIZE)
    for name in ("miscalibration", "discrimination", "uncertainty"):
        slope = jax.grad(lambda w, name=name: part(name, confidence, w))(weights)
        change = part(name, confidence, weights + step) - part(name, confidence, weights - step)
        np.testing.assert_allclose(slope @ step, change / 2, rtol=1e-5, atol=1e-12)
