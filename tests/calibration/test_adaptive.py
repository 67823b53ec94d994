"""ACE and TACE against exact fractions."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixjax.calibration import ace, tace
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
        value = ace(probs[order], labels[order], num_bins=4, **shuffled)
        close(value, adaptive_error(probs, labels, num_bins=4, **options))
        value = tace(probs[order], labels[order], num_bins=4, threshold=0.1, **shuffled)
        close(value, adaptive_error(probs, labels, num_bins=4, threshold=0.1, **options))


@pytest.mark.slow
def test_classes_below_the_threshold_and_empty_ranges():
    """A class without scores counts 0; ranges that ties leave empty do not count."""
    probs, labels = np.array([[0.995, 0.005]] * 2 + [[0.7, 0.3]]), [0, 1, 0]
    np.testing.assert_allclose(tace(probs[:2], labels[:2], num_bins=1), (0.495 + 0.0) / 2, rtol=1e-12)
    np.testing.assert_allclose(ace(probs, labels, num_bins=15), (0.495 + 0.3) / 2, rtol=1e-12)


@pytest.mark.parametrize("threshold", [-0.1, 1.0, np.nan])
def test_wrong_thresholds_are_refused(threshold):
    with pytest.raises(ValueError, match=r"threshold must be in \[0, 1\), got"):
        tace([[0.5, 0.5]], [0], threshold=threshold)


@pytest.mark.slow
def test_gradients(rng):
    probs, labels = rng.dirichlet(np.ones(3), SIZE).astype(np.float32), rng.integers(0, 3, SIZE)
    gradient = np.asarray(jax.jit(jax.grad(lambda p: tace(p, labels, num_bins=2)))(probs))
    assert np.isfinite(gradient).all()
    assert gradient.any()
