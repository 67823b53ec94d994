"""Sorted rows: by confidence, ties by correctness, masked rows last; with their derivative."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mixjax.calibration import ece
from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.mass import tie_ranks
from mixjax.calibration.rows.order import sorted_rows


def sorted_with_ranks(rows):
    ordered = sorted_rows(rows.clean())
    return ordered, tie_ranks(ordered)


@pytest.mark.few(1)
@pytest.mark.parametrize("dtype, masked, weighted", [
    (np.float32, False, False), (np.float32, True, False), (np.float32, True, True), (np.float64, True, False),
])  # fmt: skip
def test_sorted_rows_are_numpys(rng, dtype, masked, weighted):
    confidence = rng.choice(np.array([-0.0, 0.0, 0.25, 0.5, 1.0], dtype), 40)
    correct = rng.integers(0, 2, 40)
    where = rng.random(40) < 0.7 if masked else None
    weights = rng.integers(1, 5, 40).astype(dtype) if weighted else None
    found, ranks = jax.jit(sorted_with_ranks)(Rows.of(confidence, correct, weights, where))
    keep = np.ones(40, bool) if where is None else where
    keys = [np.ones(40) if weights is None else weights, correct, confidence]
    order = np.lexsort([key[keep] for key in keys])
    size = keep.sum()
    np.testing.assert_array_equal(found.confidence[:size], confidence[keep][order])
    np.testing.assert_array_equal(found.correct[:size], correct[keep][order])
    if weighted:
        np.testing.assert_array_equal(found.weights[:size], weights[keep][order])
    if masked:
        np.testing.assert_array_equal(found.where, np.arange(40) < size)
    rank, total = (sum(np.asarray(part) for part in parts) for parts in ranks)
    found = Rows(*(None if part is None else np.asarray(part) for part in found))
    mass = np.ones(size) if weights is None else weights[keep][order]
    smaller = [mass[found.confidence[:size] < c].sum() for c in np.asarray(found.confidence[:size])]
    np.testing.assert_array_equal(rank[:size], smaller)
    assert float(total) == mass.sum()


@pytest.mark.slow
@pytest.mark.parametrize("where", [np.arange(30) < 20, pytest.param(None, marks=pytest.mark.slow)])
def test_the_fast_sort_has_the_derivative_of_the_other(rng, where):
    """float32 without weights is sorted as integers; its gradient is that of float64."""
    confidence, correct = rng.random(30), rng.random(30) < 0.5

    def error(confidence):
        return ece(confidence, correct, num_bins=4, binning="equal-mass", norm=2, where=where)

    exact = np.asarray(jax.jit(jax.grad(error))(confidence))
    assert np.abs(exact).max() > 1e-3
    batch = jax.jit(jax.vmap(jax.grad(error)))(np.stack([confidence, confidence[::-1]]).astype(np.float32))
    np.testing.assert_allclose(np.asarray(batch)[0], exact, atol=1e-6)
