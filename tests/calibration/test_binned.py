"""Binned errors: against exact fractions, and what must not change them."""

from __future__ import annotations

from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixjax.calibration import classwise_ece, ece, mce, top_label_ece
from mixjax.calibration.rows.bins import Bins, check_num_bins
from tests.calibration.exact import binned_error, nearest

SIZE = 12  # of every sample that Hypothesis draws: each shape compiles

SCORES = st.one_of(
    st.floats(0, 1, width=32, allow_subnormal=False),
    st.sampled_from([np.float32(k / m) for m in (2, 3, 10, 15, 49) for k in range(m + 1)]),
)
SAMPLES = st.tuples(
    st.lists(SCORES, min_size=SIZE, max_size=SIZE), st.lists(st.booleans(), min_size=SIZE, max_size=SIZE)
).map(lambda pair: (np.array(pair[0], np.float32), np.array(pair[1])))


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=3e-7)


# options, and whether rows have weights: each is a program
CHOICES = (
    ({"num_bins": 10, "norm": 2}, False),
    ({"num_bins": 15, "closed": "right"}, True),
    ({"num_bins": 100, "norm": np.inf}, False),
    ({"num_bins": 100, "closed": "right", "norm": 3}, True),
    ({"num_bins": 5, "binning": "equal-mass"}, False),
    ({"num_bins": 5, "binning": "equal-mass"}, True),
)
WEIGHTS = st.lists(st.integers(1, 9), min_size=SIZE, max_size=SIZE).map(lambda w: np.array(w, np.float32))


@settings(deadline=None, max_examples=90)
@given(SAMPLES, st.sampled_from(CHOICES), WEIGHTS, st.permutations(range(SIZE)))
def test_exact_fractions_agree(sample, choice, weights, order):
    """...in any order of the rows, and for equal mass to the bit."""
    options, weighted = choice
    order, weights = list(order), weights if weighted else None
    moved = None if weights is None else weights[order]
    value = ece(sample[0][order], sample[1][order], weights=moved, **options)
    close(value, binned_error(*sample, weights=weights, **options))
    if "binning" in options:
        assert value == ece(*sample, weights=weights, **options)


index_of = jax.jit(Bins.index, static_argnums=0)


@pytest.mark.parametrize("num_bins, dtype", [
    *((bins, np.float32) for bins in (1, 2, 15, 49, 64, 65, 1000)), (15, np.float64), (1000, np.float64),
])  # fmt: skip
def test_every_edge_is_in_its_bin(num_bins, dtype):
    """k/M, and its neighbors on both sides; edges are correctly rounded."""
    edges = Bins(num_bins).edges(np.dtype(dtype))
    ks = np.arange(num_bins + 1)
    for k in ks[:: max(1, num_bins // 50)]:
        assert Fraction(float(edges[k])) == nearest(Fraction(int(k), num_bins), dtype)
    last = num_bins - 1

    def index(values, closed):  # in one shape
        return np.asarray(index_of(Bins(num_bins, closed=closed), np.resize(values, num_bins + 1)))[: len(values)]

    np.testing.assert_array_equal(index(edges, "left"), np.minimum(ks, last))
    np.testing.assert_array_equal(index(edges, "right"), np.maximum(ks - 1, 0))
    below, above = np.nextafter(edges[1:-1], dtype(0)), np.nextafter(edges[1:-1], dtype(1))
    for closed in ("left", "right"):
        np.testing.assert_array_equal(index(below, closed), ks[1:-1] - 1)
        np.testing.assert_array_equal(index(above, closed), ks[1:-1])


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize("num_bins", [4, 100])
def test_edges_of_ones_own(rng, num_bins, closed):
    """Against NumPy's digitize, of scores on edges and between them."""
    edges = np.concatenate([[0], np.sort(rng.random(num_bins - 1)), [1]])
    confidence = np.concatenate([edges, rng.random(200), [np.nan]])
    inside = np.digitize(confidence[:-1], edges[1:-1], right=closed == "right")
    found = index_of(Bins.of(15, closed=closed, edges=edges), confidence)
    np.testing.assert_array_equal(found, [*inside, 0])


def rows_of(rng, size=12):
    confidence = rng.random(size)
    return confidence, rng.random(size) < confidence


@pytest.mark.medium
def test_edges_of_equal_width(rng):
    confidence, correct = rows_of(rng)
    edges = [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert ece(confidence, correct, edges=edges) == ece(confidence, correct, num_bins=5)
    assert mce(confidence, correct, edges=edges) == mce(confidence, correct, num_bins=5)
    probs, labels = np.stack([1 - confidence, confidence], axis=1), np.int32(correct)
    for function in (classwise_ece, top_label_ece):
        assert function(probs, labels, edges=edges) == function(probs, labels, num_bins=5)


@pytest.mark.parametrize("rows, bins", [(1, 1), (7, 1), (8, 2), (26, 2), (27, 3), (10**6 - 1, 99), (10**6, 100)])
def test_the_cube_root_of_the_rows(rows, bins):
    assert check_num_bins("cube_root", rows) == bins


def test_as_many_bins_as_the_cube_root_of_the_rows(rng):
    rows = rows_of(rng)
    assert ece(*rows, num_bins="cube_root") == ece(*rows, num_bins=2)


@pytest.mark.medium
@pytest.mark.parametrize("shape", [(6, 2), (3, 2, 2)])
def test_rows_of_any_shape_are_pooled(rng, shape):
    confidence, correct = rows_of(rng)
    weights, where = np.arange(12.0), np.arange(12) % 3 > 0
    pooled = ece(confidence, correct, weights=weights, where=where)
    confidence, correct, weights, where = (part.reshape(shape) for part in (confidence, correct, weights, where))
    assert ece(confidence, correct, weights=weights, where=where) == pooled


@pytest.mark.slow
def test_float32_does_not_drift(rng):
    """Ten million rows in a few bins."""
    confidence = rng.uniform(0.9, 1, 10**7).astype(np.float32)
    correct = rng.random(10**7) < 0.8
    exact = np.abs((correct - confidence.astype(np.float64)).mean())
    np.testing.assert_allclose(ece(confidence, correct, num_bins=2), exact, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("size, num_bins", [
    (400_001, 300), *(pytest.param(*case, marks=pytest.mark.slow) for case in
                      [(262_143, 2**20), (1_000_003, 65_536), (1_000_000, 8192)]),
])  # fmt: skip
def test_many_bins_do_not_drift(size, num_bins):
    """Equal rows, which all are in one of them."""
    found = ece(np.full(size, 0.3, np.float32), np.zeros(size), num_bins=num_bins)
    np.testing.assert_allclose(found, np.float32(0.3), atol=1e-7)


@pytest.mark.few(1)
@pytest.mark.parametrize("norm", [40, 1e300])
def test_no_power_underflows(norm):
    """One bin with a gap of 0.1 has the error 0.1 for every norm."""
    assert abs(float(ece(np.full(10, 0.5, np.float32), [1] * 6 + [0] * 4, norm=norm)) - 0.1) < 1e-7


@pytest.mark.medium
def test_integers_of_64_bits_do_not_wrap():
    confidence = np.float32([0.2, 0.8])
    with jax.enable_x64(False):
        weights = np.array([2**32 + 1, 3])
        assert abs(float(ece(confidence, [1, 1], weights=weights)) - 0.8) < 1e-6
        with pytest.raises(ValueError, match="correct must be 0 or 1"):
            ece(confidence, np.array([2**32 + 1, 2**32]))
        with pytest.raises(ValueError, match="weights must be finite and not negative"):
            ece(confidence, [1, 1], weights=np.array([-(2**32) + 1, 1]))


def test_bytes_of_another_order():
    confidence = np.float32([0.2, 0.8])
    assert ece(confidence.astype(">f4"), [1, 1]) == ece(confidence, [1, 1])


@pytest.mark.slow
@pytest.mark.parametrize("binning, num_bins", [
    ("equal-width", 100), ("equal-mass", 2),
    *(pytest.param(*case, marks=pytest.mark.slow) for case in [("equal-width", 2), ("equal-mass", 100)]),
])  # fmt: skip
def test_equal_rows_do_not_drift(binning, num_bins):
    """Three million rows of one confidence, whose sums all round alike, and some that are certain."""
    size = 3 * 10**6
    confidence = np.full(size, 0.65, np.float32)
    confidence[::10] = 1.0
    correct = np.arange(size) % 2 == 0
    residual = correct - confidence.astype(np.float64)
    exact = (abs(residual[confidence == 1].sum()) + abs(residual[confidence != 1].sum())) / size
    if (binning, num_bins) == ("equal-mass", 2):
        exact = abs(residual.sum()) / size
    np.testing.assert_allclose(ece(confidence, correct, num_bins=num_bins, binning=binning), exact, atol=1e-7)


@pytest.mark.slow
def test_probabilities_of_classes(rng):
    """The error of the predicted class, and the mean over classes of theirs."""
    probs, labels = rng.dirichlet(np.ones(3), 40).astype(np.float32), rng.integers(0, 3, 40)
    expected = binned_error(probs.max(1), probs.argmax(1) == labels, num_bins=7, closed="right", norm=2)
    close(top_label_ece(probs, labels, num_bins=7, closed="right", norm=2), expected)
    weights = rng.integers(1, 4, 40).astype(np.float32)
    for options in ({"binning": "equal-mass", "norm": 2, "weights": weights}, {"closed": "right"}):
        each = [binned_error(probs[:, k], labels == k, num_bins=6, **options) for k in range(3)]
        close(classwise_ece(probs, labels, num_bins=6, **options), np.mean(each))


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_gradients_are_finite_and_right(norm):
    """For norm 1 it is -sign(residual of its bin) / N; finite also at 0, 1 and in bins that are calibrated."""
    confidence, correct = np.array([0.0, 1.0, 0.5, 0.5, 0.91]), np.array([0, 1, 1, 0, 0])
    gradient = jax.jit(jax.grad(lambda c: ece(c, correct, norm=norm)))(confidence)
    np.testing.assert_allclose(gradient, [0, 0, 0, 0, {1: 0.2, 2: 0.2**0.5, np.inf: 1}[norm]], atol=1e-15)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"confidence": 0.5}, ValueError, r"confidence must have shape \[N\], got one number"),
        ({"confidence": [[0.5]]}, ValueError, r"correct must have the shape of confidence, \(1, 1\), got"),
        ({"confidence": [[0.5, 0.5]]}, ValueError, r"got \(1,\); scores.top_label makes both, of prob"),
        ({"weights": 1.0}, ValueError, r"weights must have the shape of confidence, \(1,\), got \(\)$"),
        ({"correct": [0, 1]}, ValueError, r"correct must have the shape of confidence, \(1,\), got \(2,\)"),
        ({"weights": [[1.0]]}, ValueError, "weights must have the shape"),
        ({"confidence": np.float32([0.5]), "weights": [1e300]}, ValueError, r"got inf in row 0 \(as float32\)"),
        ({"edges": [0, 0.5, 1], "num_bins": 7}, ValueError, "edges make 2 bins, got num_bins=7"),
        ({"edges": [0, 0.5, 1], "num_bins": "cube_root"}, ValueError, "edges make 2 bins, got num_bins='cube_root'"),
        ({"where": [0.5]}, TypeError, "where must be boolean, got float64"),
        ({"where": np.ones(1, "m8[s]")}, TypeError, r"where must be numbers, got dtype timedelta64\[s\]"),
        ({"confidence": [np.inf]}, ValueError, r"confidence must be in \[0, 1\], got inf in row 0"),
        ({"confidence": ["a"]}, TypeError, "confidence must be real numbers"),
        ({"confidence": np.ones(1, "m8[s]")}, TypeError, r"confidence must be numbers, got dtype timedelta64\[s\]"),
        ({"confidence": [0.5 + 1j]}, TypeError, "confidence must be real numbers"),
        ({"num_bins": 0}, ValueError, "num_bins must be at least 1, got 0"),
        ({"num_bins": 1.5}, TypeError, "num_bins must be an int, got float"),
        ({"binning": "quantile"}, ValueError, "binning must be one of .*, got 'quantile'"),
        ({"closed": "both"}, ValueError, "closed must be one of"),
    ],
)
def test_wrong_input_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        ece(**{"confidence": [0.5], "correct": [1], **arguments})


@pytest.mark.medium
@pytest.mark.parametrize(
    ("probs", "labels", "error", "message"),
    [
        ([0.5, 0.5], [0], ValueError, r"probs must have shape \[N, K\]"),
        ([[0.5, 0.4]], [0], ValueError, "probs must be rows that sum to 1, got 0.9 in row 0"),
        ([[3.0, -1.0]], [0], ValueError, "logits have functions of their own"),
        ([[0.5, 0.5]], [-1], ValueError, r"labels must be in \[0, 2\), got -1 in row 0"),
        ([[0.5, 0.5]], [0.0], TypeError, "labels must be whole numbers, got float64"),
        ([[0.5, 0.5]], np.array([2**32 + 1]), ValueError, "got 2147483647 or more in row 0"),
        ([[0.5, 0.5]], [0, 1], ValueError, r"labels must have the shape of probs without classes, \(1,\), got"),
    ],
)
def test_wrong_probabilities_are_refused(probs, labels, error, message):
    for function in (top_label_ece, classwise_ece):
        with pytest.raises(error, match=message):
            function(probs, labels)


def test_masked_rows_may_be_wrong():
    close(top_label_ece([[0.2, 0.8], [9.0, np.nan]], [1, -5], where=[True, False]), 0.2)
