"""SCE, ACE and TACE against exact fractions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixjax.calibration import ace, classwise_ece, sce, tace
from tests.calibration.exact import adaptive_error
from tests.calibration.test_binned import close

SIZE, CLASSES = 10, 3
SCORES = st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.5, 1.0, 3.0]) | st.floats(2.0**-60, 1, width=32)
PROBS = st.lists(
    st.lists(SCORES, min_size=CLASSES, max_size=CLASSES).filter(lambda row: sum(row) > 0.01),
    min_size=SIZE,
    max_size=SIZE,
).map(lambda rows: (np.array(rows) / np.sum(rows, axis=1, keepdims=True)).astype(np.float32))
LABELS = st.lists(st.integers(0, CLASSES - 1), min_size=SIZE, max_size=SIZE).map(np.array)
WEIGHTS = st.lists(st.integers(1, 3), min_size=SIZE, max_size=SIZE).map(np.array)


@settings(deadline=None, max_examples=40)
@given(PROBS, LABELS, WEIGHTS, st.permutations(range(SIZE)))
def test_exact_fractions_agree(probs, labels, weights, order):
    """...in any order of the rows."""
    order = list(order)
    for options in ({}, {"weights": weights.astype(np.float32)}):
        shuffled = {name: value[order] for name, value in options.items()}
        close(
            ace(probs[order], labels[order], num_bins=4, **shuffled),
            adaptive_error(probs, labels, num_bins=4, **options),
        )
        value = tace(probs[order], labels[order], num_bins=4, threshold=0.1, **shuffled)
        close(value, adaptive_error(probs, labels, num_bins=4, threshold=0.1, **options))


@settings(deadline=None, max_examples=20)
@given(PROBS, LABELS, WEIGHTS)
def test_weights_repeat_rows_and_a_mask_removes_them(probs, labels, weights):
    rows = np.repeat(np.arange(SIZE), weights)
    padded, where = np.resize(rows, 3 * SIZE), np.arange(3 * SIZE) < len(rows)
    hidden = np.where(where[:, None], probs[padded], np.nan), np.where(where, labels[padded], -1)
    repeated = tace(*hidden, num_bins=4, threshold=0.1, where=where)
    close(repeated, tace(probs, labels, num_bins=4, threshold=0.1, weights=weights.astype(np.float32)))


def test_classes_below_the_threshold_and_empty_ranges():
    """A class without scores counts 0; ranges that ties leave empty do not count."""
    probs, labels = np.array([[0.995, 0.005]] * 2 + [[0.7, 0.3]]), [0, 1, 0]
    np.testing.assert_allclose(tace(probs[:2], labels[:2], num_bins=1), (0.495 + 0.0) / 2, rtol=1e-12)
    np.testing.assert_allclose(ace(probs, labels, num_bins=15), (0.495 + 0.3) / 2, rtol=1e-12)


def test_sce_is_classwise_ece(rng):
    probs, labels = rng.dirichlet(np.ones(3), 50), rng.integers(0, 3, 50)
    assert sce(probs, labels, num_bins=7, closed="right") == classwise_ece(probs, labels, num_bins=7, closed="right")


@pytest.mark.parametrize("function", [ace, tace])
def test_nan_and_wrong_values(function):
    probs, labels = np.full((SIZE, CLASSES), 1 / 3, np.float32), np.zeros(SIZE, np.int32)
    assert function(jnp.asarray(probs, jnp.bfloat16), labels, num_bins=4).dtype == np.float32
    assert np.isnan(function(np.zeros((0, 2)), np.zeros(0, int)))
    assert np.isnan(function(probs, labels, num_bins=4, where=np.zeros(SIZE, bool)))
    hidden = np.where(np.arange(SIZE)[:, None] == 2, np.nan, probs)
    assert np.isnan(function(hidden, labels, num_bins=4))
    labels[4] = CLASSES
    with pytest.raises(ValueError, match=r"labels must be in \[0, 3\), got 3 in row 4"):
        function(probs, labels, num_bins=4)
    assert np.isnan(jax.jit(lambda p, y: function(p, y, num_bins=4))(probs, labels))


@pytest.mark.parametrize("threshold", [-0.1, 1.0, np.nan])
def test_wrong_options_are_refused(threshold):
    with pytest.raises(ValueError, match=r"threshold must be in \[0, 1\), got"):
        tace([[0.5, 0.5]], [0], threshold=threshold)
    with pytest.raises(ValueError, match="num_bins must be at least 1, got 0"):
        ace([[0.5, 0.5]], [0], num_bins=0)


def test_gradients_and_leading_axes(rng):
    probs, labels = rng.dirichlet(np.ones(3), (2, SIZE)), rng.integers(0, 3, (2, SIZE))
    batched = jax.vmap(lambda p, y: tace(p, y, num_bins=2))(probs, labels)
    np.testing.assert_allclose(batched, [tace(p, y, num_bins=2) for p, y in zip(probs, labels, strict=True)])
    gradient = jax.grad(lambda p: tace(p, labels[0], num_bins=2))(probs[0])
    assert np.isfinite(gradient).all()
    assert np.any(gradient != 0)
