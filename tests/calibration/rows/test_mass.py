"""Order statistics by counting bits, against a sort; and equal-mass bins that are made of them."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixjax import ece
from mixjax.calibration.rows import mass
from mixjax.calibration.rows.mass import order_statistics

selected = jax.jit(order_statistics)
SCORES = st.one_of(
    st.floats(0, 1, width=32),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, float(np.float32(1) - np.float32(2**-24)), 1e-38, 1e-45, 0.1]),
)


@pytest.mark.medium
@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(SCORES, st.booleans()), min_size=8, max_size=8).filter(lambda rows: any(y for _, y in rows)))
def test_every_rank_of_few_rows(rows):
    values, counted = np.array([f for f, _ in rows], np.float32), np.array([y for _, y in rows], np.int32)
    ranks = np.minimum(np.arange(1, 9), counted.sum()).astype(np.int32)
    np.testing.assert_array_equal(selected(values, counted, ranks), np.sort(np.abs(values[counted == 1]))[ranks - 1])


@pytest.mark.slow
def test_many_rows_with_ties(rng):
    values = rng.random(100_000).astype(np.float32)
    values[:40_000] = np.round(values[:40_000], 2)
    counted = (rng.random(100_000) < 0.9).astype(np.int32)
    values[counted == 0] = np.nan
    ranks = np.linspace(1, counted.sum(), 31).astype(np.int32)
    np.testing.assert_array_equal(selected(values, counted, ranks), np.sort(values[counted == 1])[ranks - 1])


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("digits", [8, 1])
@pytest.mark.parametrize("num_bins", [15, *(pytest.param(number, marks=pytest.mark.slow) for number in (2, 64))])
def test_bins_are_those_of_a_sort(rng, digits, num_bins):
    """...of 20,000 rows, masked and tied; in every bin as many rows, and the same error to rounding."""
    size = mass._MANY + 3616
    confidence = np.round(rng.random(size), digits).astype(np.float32)
    correct, where = rng.random(size) < confidence, rng.random(size) < 0.8
    order = np.argsort(confidence[where], kind="stable")
    f, y = confidence[where][order].astype(float), correct[where][order].astype(float)
    rank = np.searchsorted(f, f, side="left")
    index = rank * num_bins // len(f)
    expected = np.abs(np.bincount(index, y - f, num_bins)).sum() / len(f)
    call = partial(ece, num_bins=num_bins, binning="equal-mass", where=where)
    np.testing.assert_allclose(call(confidence, correct), expected, atol=2e-7)
    shuffled = rng.permutation(size)
    again = ece(confidence[shuffled], correct[shuffled], num_bins=num_bins, binning="equal-mass", where=where[shuffled])
    np.testing.assert_allclose(again, expected, atol=2e-7)


@pytest.mark.slow
def test_gradients_and_vmap(rng):
    """The edges have no derivative; of the residuals the gradient is -sign(gap of the bin) / N."""
    size = mass._MANY
    confidence, correct = rng.random((2, size)).astype(np.float32), rng.random((2, size)) < 0.5
    call = partial(ece, num_bins=5, binning="equal-mass")
    both = jax.vmap(call)(confidence, correct)
    for row in range(2):
        np.testing.assert_allclose(both[row], call(confidence[row], correct[row]), atol=1e-7)
    gradient = np.asarray(jax.grad(call)(confidence[0], correct[0]))
    np.testing.assert_allclose(np.abs(gradient), 1 / size, rtol=1e-6)
    step = 1e-3 * np.sign(gradient)
    moved = np.clip(confidence[0] + step.astype(np.float32), 0, 1)
    assert call(moved, correct[0]) > call(confidence[0], correct[0])


@pytest.mark.medium
def test_nan_and_no_rows_are_nan(rng):
    """In the shape of the rows above."""
    confidence, where = rng.random(mass._MANY + 3616).astype(np.float32), np.ones(mass._MANY + 3616, bool)
    call = partial(ece, num_bins=15, binning="equal-mass")
    assert np.isnan(call(confidence, confidence < 0.5, where=~where))
    confidence[5] = np.nan
    assert np.isnan(call(confidence, where, where=where))
