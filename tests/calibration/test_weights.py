"""Weights: only their ratios matter, near the ends of a dtype too, and equal-mass bins of weights are exact."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mixjax.calibration import CalibrationState, ece, isotonic_regression, mmce, reliability, smooth_ece, soft_ece
from tests.calibration.exact import binned_error
from tests.calibration.test_contract import FUNCTIONS, PADDED, SIZE, WEIGHTED, draw, hidden

WITH_WEIGHTS = {name: FUNCTIONS[name] for name in WEIGHTED} | {
    "isotonic": isotonic_regression,
    "table": lambda *rows, **options: reliability(*rows, **options).accuracy,
}
FAR = [-125, -60, 60, 124]  # sums of 8 * 2^124 overflow, and squares of 2^-60 vanish


def rows_of(name, rng):
    return draw(name if name in FUNCTIONS else "ece", rng), rng.integers(1, 9, SIZE).astype(np.float32)


@pytest.mark.few(5)
@pytest.mark.parametrize("name", WITH_WEIGHTS)
def test_only_ratios_matter(name, rng):
    """A power of two changes no digit; beside 3e38, 1e-38 is 0, whatever a masked weight is."""
    rows, weights = rows_of(name, rng)
    columns, options = hidden(rng, *rows, weights)
    options["weights"][~options["where"]] = 3e38

    def found(weights):
        given = np.where(options["where"], weights, options["weights"])
        return np.array(jax.tree.leaves(WITH_WEIGHTS[name](*columns, weights=given, where=options["where"])))

    weights = options["weights"]
    for power in FAR:
        with np.errstate(over="ignore"):  # of masked weights
            scaled = weights * np.float32(2.0**power)
        np.testing.assert_array_equal(found(scaled), found(weights))
    many = np.arange(PADDED) % 3 > 0
    tiny, none = (found(np.where(many, 3e38, small).astype(np.float32)) for small in (1e-38, 0))
    kept = np.broadcast_to(many, tiny.shape) if name == "isotonic" else ~np.isnan(none)
    np.testing.assert_allclose(tiny[kept], none[kept], rtol=3e-7, atol=3e-7)


@pytest.mark.slow
@pytest.mark.parametrize("function", [
    ece, *(pytest.param(function, marks=pytest.mark.slow) for function in (mmce, smooth_ece, soft_ece)),
])  # fmt: skip
def test_derivatives_in_extreme_weights(function, rng):
    (confidence, correct), weights = rows_of("ece", rng)
    gradient = jax.jit(jax.grad(lambda c, w: function(c, correct, weights=w), (0, 1)))
    plain, moved = gradient(confidence, weights), gradient(confidence, weights * np.float32(2.0**100))
    np.testing.assert_array_equal(plain[0], moved[0])
    np.testing.assert_allclose(plain[1], np.asarray(moved[1]) * np.float32(2.0**100), rtol=1e-6)


def test_counts_of_a_table_are_weights_as_given(rng):
    rows, weights = rows_of("table", rng)
    columns, options = hidden(rng, *rows, weights)
    for power in (-100, 0, 100):
        scale = np.float32(2.0**power)
        table = reliability(*columns, weights=options["weights"] * scale, where=options["where"])
        assert np.asarray(table.count).sum() == weights.sum() * scale


# whole-number weights whose total is not a multiple of the bins, though some k/M of it are ranks
MASSES = [(14, 49), (3001, 15), (5_000_000, 49), *(
    pytest.param(*case, marks=pytest.mark.slow) for case in [(4, 60), (7, 49), (21, 7), (10, 6), (99_990, 30)]
)]  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("total, num_bins", MASSES)
def test_equal_mass_bins_of_weights_are_those_of_repeated_rows(total, num_bins):
    """One row begins on each border of two bins that is a whole number, and one just below it."""
    borders = {k * total // num_bins for k in range(1, num_bins) if k * total % num_bins == 0}
    ranks = sorted({0, *borders, *(b - 1 for b in borders if b > 1), *(total * k // 40 for k in range(40))})
    weights = np.diff([*ranks, total]).astype(np.float32)
    confidence = np.linspace(0.1, 0.9, len(weights)).astype(np.float32)
    correct = np.arange(len(weights)) % 2 == 0
    options = {"num_bins": num_bins, "binning": "equal-mass", "norm": 2}
    exact = binned_error(confidence, correct, weights=weights, **options)
    for unit in (1.0, 2.0**-100):
        value = ece(confidence, correct, weights=weights * np.float32(unit), **options)
        np.testing.assert_allclose(value, exact, atol=3e-7)


@pytest.mark.slow
@pytest.mark.parametrize("num_bins", [
    65_536, 2**20, *(pytest.param(number, marks=pytest.mark.slow) for number in (46_341, 100_003)),
])  # fmt: skip
def test_equal_mass_with_very_many_bins(num_bins):
    """k (N mod M) is beyond 32 bits; M > N leaves each row in a bin of its own, M < N puts neighbors together."""
    size = 100_000
    confidence = np.linspace(0, 1, size).astype(np.float32)
    rank = np.searchsorted(confidence, confidence)
    residual = np.bincount(rank * num_bins // size, (np.arange(size) % 2) - confidence.astype(np.float64))
    value = ece(confidence, np.arange(size) % 2, num_bins=num_bins, binning="equal-mass")
    np.testing.assert_allclose(value, np.abs(residual).sum() / size, atol=1e-6)


@pytest.mark.slow
def test_a_stream_takes_weights_within_the_range_that_it_says():
    """The largest weight of a stream is not known before its end: beyond the range NaN, never a wrong number."""
    confidence, correct = np.float32([0.3, 0.8]), [1, 0]
    state = CalibrationState.empty()
    for scale in (1e-30, 3e29):
        one = state.update(confidence, correct, weights=np.float32([scale, 3 * scale]))
        np.testing.assert_allclose(one.merge(one).ece(2), np.sqrt((0.49 + 3 * 0.64) / 4), atol=1e-6)
    many = state.update(confidence, correct, weights=np.float32([1e30, 1e30]))
    many = jax.jit(lambda many: jax.lax.fori_loop(0, 30, lambda _, state: state.merge(state), many))(many)
    assert np.isnan(many.ece(2))
    for scale in (3e38, 1e-35):
        with pytest.raises(ValueError, match=r"weights must be 0 or from 1e-30 to 1e30 in a stream, got .* in row 1"):
            state.update(confidence, correct, weights=np.float32([0, scale]))
    update = jax.jit(lambda w: state.update(confidence, correct, weights=w).residual)
    assert np.isnan(update(np.float32([1, 3e38]))).any() and np.isnan(update(np.float32([1, 1e-35]))).any()
    assert not np.isnan(update(np.float32([0, 1]))).any()
