"""ECE-sweep: the number of bins and the error, against trying them in turn."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixjax.calibration import sweep_ece
from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.order import sorted_rows
from mixjax.calibration.sweep import _Sweep
from tests.calibration.exact import sweep
from tests.calibration.test_binned import SAMPLES, SIZE, close

ROWS = 3000


@settings(deadline=None, max_examples=60)
@given(SAMPLES, st.sampled_from([1, np.inf]), st.permutations(range(SIZE)))
def test_exact_fractions_agree(sample, norm, order):
    """...for any order of the rows."""
    confidence, correct = (column[list(order)] for column in sample)
    close(sweep_ece(confidence, correct, norm=norm), sweep(*sample, norm)[1])


def literal(confidence, correct):
    """b*, with integers, from rows in order."""
    n, b = len(confidence), 0
    rank = np.searchsorted(confidence, confidence)
    for num_bins in range(1, n + 1):
        bins = rank * num_bins // n
        size, right = np.bincount(bins), np.bincount(bins, correct).astype(np.int64)
        size, right = size[size > 0], right[size > 0]
        if (right[:-1] * size[1:] > right[1:] * size[:-1]).any():
            break
        b = num_bins
    return b


@jax.jit
def largest(confidence, correct):
    return _Sweep.of(sorted_rows(Rows(confidence, correct))).largest()


@pytest.mark.few(5)
@pytest.mark.parametrize("decimals", [1, 2, 3, 9])
@pytest.mark.parametrize("steep", [0.0, 4.0, 30.0, 1000.0, 3e4])
def test_the_number_of_bins(steep, decimals, rng):
    """From noise to all but separable, and from few distinct scores to none alike: up to thousands of bins."""
    confidence = np.sort(np.round(rng.random(ROWS), decimals)).astype(np.float32)
    correct = rng.random(ROWS) < 1 / (1 + np.exp(-np.clip(steep * (confidence - 0.4), -50, 50)))
    order = np.lexsort((correct, confidence))
    confidence, correct = confidence[order], correct[order]
    assert largest(confidence, correct.astype(np.float32)) == literal(confidence, correct)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("confidence", "correct", "bins"),
    [
        (np.arange(ROWS) / ROWS, np.arange(ROWS) > 1000, ROWS),  # separable
        (np.arange(ROWS) / ROWS, np.ones(ROWS), ROWS),
        (np.arange(ROWS) / ROWS, np.zeros(ROWS), ROWS),
        (np.arange(ROWS) / ROWS, np.arange(ROWS) < 1000, 1),
        (np.full(ROWS, 0.7), np.arange(ROWS) % 2, ROWS),  # one group: any number of bins is one
        (np.repeat([0.2, 0.9], ROWS // 2), np.arange(ROWS) >= 300, ROWS),
    ],
)
def test_extreme_samples(confidence, correct, bins):
    confidence, correct = confidence.astype(np.float32), np.asarray(correct, np.float32)
    assert largest(confidence, correct) == bins
    expected = sum((correct[confidence == f] - f).sum() ** 2 / (confidence == f).sum() for f in np.unique(confidence))
    if bins == ROWS:
        np.testing.assert_allclose(sweep_ece(confidence, correct, norm=2), np.sqrt(expected / ROWS), rtol=1e-6)


@pytest.mark.slow
def test_float32_does_not_drift(rng):
    """100,000 rows that are off by 0.1."""
    confidence = np.sort(rng.beta(5, 1.2, 100_000)).astype(np.float32)
    correct = rng.random(len(confidence)) < confidence - 0.1
    rank = np.searchsorted(confidence, confidence)
    bins = rank * literal(confidence, correct) // len(confidence)
    residual, size = np.bincount(bins, correct - confidence.astype(np.float64)), np.bincount(bins)
    exact = np.sqrt((residual**2 / size).sum() / len(confidence))
    np.testing.assert_allclose(sweep_ece(confidence, correct, norm=2), exact, atol=1e-7)


@pytest.mark.medium
def test_gradient_is_that_of_fixed_bins():
    """One bin, and its residual is below 0."""
    confidence, correct = np.array([0.2, 0.7, 0.9, 1.0]), np.array([1, 1, 0, 0])
    np.testing.assert_allclose(jax.jit(jax.grad(sweep_ece))(confidence, correct), np.full(4, 0.25), rtol=1e-12)
