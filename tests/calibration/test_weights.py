"""Weights: a weight is repetition, and only ratios of weights matter, near the ends of a dtype too."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest

from mixjax.calibration import (
    CalibrationState,
    ace,
    brier_decomposition,
    brier_score,
    classwise_ece,
    ece,
    isotonic_regression,
    mmce,
    nll,
    reliability,
    signed_gap,
    smooth_ece,
    soft_ece,
)
from tests.calibration.exact import binned_error

BINARY = {
    "equal-width": ece,
    "equal-mass": partial(ece, binning="equal-mass", num_bins=5),
    "norm": partial(ece, norm=3, num_bins=100),
    "smooth": smooth_ece,
    "soft": soft_ece,
    "mmce": mmce,
    "corp": lambda *rows, weights: np.stack(brier_decomposition(*rows, weights=weights)),
    "isotonic": isotonic_regression,
    "signed gap": signed_gap,
    "accuracy": lambda *rows, weights: reliability(*rows, weights=weights).accuracy,
}
CLASSES = {"class-wise": classwise_ece, "ace": ace, "nll": nll, "brier": brier_score}
SIZE = 30


@pytest.fixture
def rows(rng):
    weights = rng.integers(1, 9, SIZE).astype(np.float32)
    return rng.random(SIZE).astype(np.float32), rng.random(SIZE) < 0.6, weights


@pytest.fixture
def predictions(rng):
    weights = rng.integers(1, 9, SIZE).astype(np.float32)
    return rng.dirichlet(np.ones(3), SIZE).astype(np.float32), rng.integers(0, 3, SIZE), weights


@pytest.mark.parametrize("power", [-125, -60, 60, 124])
@pytest.mark.parametrize("name", [*BINARY, *CLASSES])
def test_a_power_of_two_changes_nothing(name, power, rows, predictions):
    """Every digit is the same, where sums of the weights (8 * 2^124 each) overflow, and where their squares vanish."""
    function = (BINARY | CLASSES)[name]
    *data, weights = rows if name in BINARY else predictions
    moved = weights * np.float32(2.0**power)
    np.testing.assert_array_equal(function(*data, weights=moved), function(*data, weights=weights))


@pytest.mark.parametrize("name", [*BINARY, *CLASSES])
def test_a_far_smaller_weight_is_none(name, rows, predictions):
    """3e38 beside 1e-38; derivatives are finite."""
    function = (BINARY | CLASSES)[name]
    *data, _ = rows if name in BINARY else predictions
    where = np.arange(SIZE) % 3 > 0
    found = np.asarray(function(*data, weights=np.where(where, 3e38, 1e-38).astype(np.float32)))
    alone = np.asarray(function(*data, weights=where.astype(np.float32)))
    kept = where if found.shape == where.shape else ...
    np.testing.assert_allclose(found[kept], alone[kept], rtol=3e-7, atol=3e-7)


def test_the_largest_weight_that_counts_is_not_a_masked_one(rows):
    confidence, correct, weights = rows
    where = np.arange(SIZE) > 0
    hidden = np.where(where, np.float32(1e-30) * weights, np.float32(3e38))
    expected = ece(confidence, correct, weights=weights, where=where)
    np.testing.assert_allclose(ece(confidence, correct, weights=hidden, where=where), expected, atol=1e-7)
    np.testing.assert_allclose(jax.jit(ece)(confidence, correct, weights=hidden, where=where), expected, atol=1e-7)


def test_derivatives_in_extreme_weights_and_confidences(rows):
    confidence, correct, weights = rows
    for function in (ece, smooth_ece, soft_ece, mmce):
        gradient = jax.grad(lambda c, w, f=function: f(c, correct, weights=w), (0, 1))
        plain, moved = gradient(confidence, weights), gradient(confidence, weights * np.float32(2.0**100))
        np.testing.assert_array_equal(plain[0], moved[0])
        np.testing.assert_allclose(plain[1], moved[1] * np.float32(2.0**100), rtol=1e-6)


def test_counts_of_a_table_are_weights_as_given(rows):
    confidence, correct, weights = rows
    for power in (-100, 0, 100):
        scale = np.float32(2.0**power)
        table = reliability(confidence, correct, weights=weights * scale)
        assert float(table.count.sum()) == float(weights.sum()) * scale


# whole-number weights whose total is not a multiple of the bins, though some k/M of it are ranks
MASSES = [(14, 49), (4, 60), (7, 49), (21, 7), (10, 6), (3001, 15), (99_990, 30), (5_000_000, 49)]


@pytest.mark.parametrize("total, num_bins", MASSES)
@pytest.mark.parametrize("unit", [1.0, 2.0**-100])
def test_equal_mass_bins_of_weights_are_those_of_repeated_rows(total, num_bins, unit):
    """One row begins on each border of two bins that is a whole number, and one just below it."""
    borders = {k * total // num_bins for k in range(1, num_bins) if k * total % num_bins == 0}
    ranks = sorted({0, *borders, *(b - 1 for b in borders if b > 1), *(total * k // 40 for k in range(40))})
    weights = np.diff([*ranks, total]).astype(np.float32)
    confidence = np.linspace(0.1, 0.9, len(weights)).astype(np.float32)
    correct = np.arange(len(weights)) % 2 == 0
    options = {"num_bins": num_bins, "binning": "equal-mass", "norm": 2}
    found = ece(confidence, correct, weights=weights * np.float32(unit), **options)
    np.testing.assert_allclose(found, binned_error(confidence, correct, weights=weights, **options), atol=3e-7)


@pytest.mark.parametrize("num_bins", [46_341, 65_536, 100_003, 2**20])
def test_equal_mass_with_very_many_bins(num_bins):
    """k (N mod M) is beyond 32 bits; M > N leaves each row in a bin of its own, M < N puts neighbours together."""
    size = 100_000
    confidence = np.linspace(0, 1, size).astype(np.float32)
    rank = np.searchsorted(confidence, confidence)
    residual = np.bincount(rank * num_bins // size, (np.arange(size) % 2) - confidence.astype(np.float64))
    found = ece(confidence, np.arange(size) % 2, num_bins=num_bins, binning="equal-mass")
    np.testing.assert_allclose(found, np.abs(residual).sum() / size, atol=1e-6)


def test_a_stream_takes_weights_within_the_range_that_it_says():
    """The largest weight of a stream is not known before its end: beyond the range NaN, never a wrong number."""
    confidence, correct = np.float32([0.3, 0.8]), [1, 0]
    for scale in (1e-30, 3e29):
        state = CalibrationState.empty().update(confidence, correct, weights=np.float32([scale, 3 * scale]))
        np.testing.assert_allclose(state.merge(state).ece(2), np.sqrt((0.49 + 3 * 0.64) / 4), atol=1e-6)
    many = CalibrationState.empty().update(confidence, correct, weights=np.float32([1e30, 1e30]))
    for _ in range(30):
        many = many.merge(many)
    assert np.isnan(many.ece())
    for scale in (3e38, 1e-45):
        with pytest.raises(ValueError, match=r"weights must be 0 or from 1e-30 to 1e30 in a stream, got .* in row 1"):
            CalibrationState.empty().update(confidence, correct, weights=np.float32([0, scale]))
        update = jax.jit(lambda w: CalibrationState.empty().update(confidence, correct, weights=w).ece())
        assert np.isnan(update(np.float32([1, scale])))
        assert not np.isnan(update(np.float32([0, 1])))
