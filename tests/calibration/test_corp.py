"""Isotonic regression by the max-min formula, and the decomposition that follows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression as isotonic_reference

from mixjax.calibration import brier_decomposition, isotonic_regression
from mixjax.calibration.corp import _Diagram, _hull, _pruned, _with_mass
from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.order import Ties, sorted_rows
from tests.calibration.exact import isotonic
from tests.calibration.test_binned import SAMPLES, SIZE, WEIGHTS, close

MASKS = st.lists(st.booleans(), min_size=SIZE, max_size=SIZE).map(np.array)


def parts(confidence, correct, weights=None):
    """From the definition, in fractions until the end."""
    weights = np.ones(len(correct)) if weights is None else weights
    fitted = np.array([float(v) for v in isotonic(confidence, correct, weights)])
    base = np.average(correct, weights=weights)
    forecasts = confidence.astype(float), fitted, base
    score, fit, flat = (np.average((x - correct) ** 2, weights=weights) for x in forecasts)
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


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(SAMPLES, MASKS, WEIGHTS)
def test_a_mask_removes_rows(sample, where, weights):
    """...and so does a weight of 0, from the fit too."""
    confidence, correct = sample
    hidden = np.where(where, confidence, np.nan), np.where(where, correct, 7)
    fitted = np.asarray(isotonic_regression(*hidden, weights=weights, where=where))
    if not where.any():
        return
    close(fitted[where], [float(v) for v in isotonic(confidence[where], correct[where], weights[where])])
    assert not fitted[~where].any()
    without = np.where(where, weights, np.float32(0))
    exact = parts(confidence[where], correct[where], weights[where])
    close(brier_decomposition(confidence, correct, weights=without), exact)
    close(np.asarray(isotonic_regression(confidence, correct, weights=without))[where], fitted[where])


@pytest.mark.slow
@pytest.mark.parametrize("weights", [[1, 1e-20, 1, 1e20], [1e-20, 0, 1e20, 1], [1, 0, 0, 1], [0, 1, 1e-20, 0]])
def test_weights_that_are_nothing_beside_others(weights):
    """Weights that sums round away belong to some block; a weight of 0 masks its row, whose value is 0."""
    confidence, correct = [0.1, 0.2, 0.3, 0.4], [1, 0, 0, 1]
    fitted = np.asarray(isotonic_regression(confidence, correct, weights=weights))
    counted = np.array(weights) > 0
    assert ((fitted >= 0) & (fitted <= 1)).all() and (np.diff(fitted[counted]) >= 0).all()
    assert (fitted[~counted] == 0).all()
    rows = np.array(weights) > 1e-6 * max(weights)
    exact = isotonic(*(np.array(part)[rows] for part in (confidence, correct, weights)))
    close(fitted[rows], [float(value) for value in exact])
    kept = brier_decomposition(confidence, correct, weights=np.where(rows, weights, 0))
    close(brier_decomposition(confidence, correct, weights=weights), kept)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [None, 0, pytest.param(1, marks=pytest.mark.slow)])
def test_pruned_points_have_the_same_hull(weighted, rng):
    """What goes before the stack on accelerators; without weights it is exact. `weighted` is the least weight."""
    confidence = np.round(rng.beta(5, 1.2, 5000), 3 if weighted else 4).astype(np.float32)
    weights = None if weighted is None else rng.integers(weighted, 5, 5000).astype(np.float32)
    correct = (rng.random(5000) < confidence).astype(np.float32)
    ordered = sorted_rows(jax.tree.map(jnp.asarray, Rows(confidence, correct, weights)))
    ties, last, pruned, hull = hulls(ordered)
    assert last < ties.num_groups // 4
    np.testing.assert_array_equal(pruned, hull)


@jax.jit
def hulls(ordered):
    ties, diagram = Ties.of(ordered), _Diagram.of(ordered)
    points, last = ties.first, ties.num_groups
    if ordered.weights is not None:
        points, last = _with_mass(points, last, diagram)
    pruned, left = _pruned(points, last, diagram)
    return ties, left, _hull(pruned, left, diagram), _hull(points, last, diagram)


@pytest.mark.slow
def test_scipy_agrees_without_drift(rng):
    """100,000 rows in float32, beside scipy in float64 over distinct confidences."""
    confidence = rng.beta(5, 1.2, 100_000).astype(np.float32)
    correct = rng.random(len(confidence)) < confidence**2
    _, inverse, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    exact = isotonic_reference(np.bincount(inverse, correct) / counts, weights=counts).x[inverse]
    np.testing.assert_allclose(isotonic_regression(confidence, correct), exact, atol=1e-7)
    base = correct.mean()
    score, fit, flat = (((x - correct) ** 2).mean() for x in (confidence.astype(float), exact, base))
    expected = score, score - fit, flat - fit, flat
    np.testing.assert_allclose(brier_decomposition(confidence, correct), expected, atol=5e-8)


def test_signs(rng):
    """A perfect forecast, and a constant one."""
    correct = (rng.random(SIZE) < 0.4).astype(np.float32)
    base = correct.mean()
    close(brier_decomposition(correct, correct), [0, 0, *2 * [base * (1 - base)]])
    flat = brier_decomposition(np.full(SIZE, 0.5, np.float32), correct)
    close(flat, [0.25, (base - 0.5) ** 2, 0, base * (1 - base)])


def test_nan_is_in_every_row():
    confidence, correct = np.full(SIZE, 0.5, np.float32), np.zeros(SIZE, np.float32)
    confidence[3] = np.nan
    assert np.isnan(isotonic_regression(confidence, correct)).all()
    assert isotonic_regression([], []).shape == (0,)
    confidence[3], correct[5] = 0.5, 2
    with pytest.raises(ValueError, match=r"correct must be 0 or 1, got 2 in row 5"):
        isotonic_regression(confidence, correct)


@pytest.mark.slow
def test_gradients(rng):
    """The fit depends on the order of the confidences only; its change with the weights is of second order."""
    confidence, correct, weights = rng.random(SIZE), rng.random(SIZE) < 0.5, rng.random(SIZE)

    @jax.jit
    def decomposed(c, w):
        return jnp.stack(brier_decomposition(c, correct, weights=w))

    by_confidence, by_weight = jax.jit(jax.jacrev(decomposed, argnums=(0, 1)))(confidence, weights)
    slope = 2 * weights * (confidence - correct) / weights.sum()
    np.testing.assert_allclose(by_confidence, [slope, slope, 0 * slope, 0 * slope], atol=1e-15)
    step = 1e-6 * rng.standard_normal(SIZE)
    change = decomposed(confidence, weights + step) - decomposed(confidence, weights - step)
    np.testing.assert_allclose(by_weight @ step, change / 2, rtol=1e-5, atol=1e-13)
