"""What every calibration error of (confidence, correct) does with order, masks, weights, dtypes and wrong input."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixjax.calibration import kde_ece, mmce, smooth_ece, soft_ece
from tests.calibration.test_binned import SAMPLES, SIZE

FUNCTIONS = {"smooth": smooth_ece, "soft": soft_ece, "mmce": mmce, "kde": partial(kde_ece, bandwidth=0.05)}
WEIGHTED = ("smooth", "soft", "mmce")
ROWS = 100  # of what Hypothesis does not draw, so that it compiles once
every = pytest.mark.parametrize("name", FUNCTIONS)


def close(a, b, atol=1e-6):
    np.testing.assert_allclose(a, b, rtol=0, atol=atol)


@every
@settings(deadline=None, max_examples=15)
@given(sample=SAMPLES, order=st.permutations(range(SIZE)), where=st.lists(st.booleans(), min_size=SIZE, max_size=SIZE))
def test_order_and_masked_rows_do_not_matter(name, sample, order, where):
    function, (confidence, correct) = FUNCTIONS[name], sample
    where, order = np.array(where), list(order)
    value = function(confidence, correct, where=where)
    hidden, wrong = np.where(where, confidence, np.nan), np.where(where, correct, 7)
    close(function(hidden[order], wrong[order], where=where[order]), value)
    if where.sum() < (2 if name == "kde" else 1):
        assert np.isnan(value)
    else:
        assert 0 <= value <= 1 + 1e-6


@pytest.mark.parametrize("name", WEIGHTED)
@settings(deadline=None, max_examples=15)
@given(sample=SAMPLES, weights=st.lists(st.integers(0, 3), min_size=SIZE, max_size=SIZE).filter(any))
def test_weights_repeat_rows(name, sample, weights):
    function, (confidence, correct) = FUNCTIONS[name], sample
    rows = np.repeat(np.arange(SIZE), weights)
    padded = np.resize(rows, 3 * SIZE)  # one shape, whatever is drawn
    repeated = function(confidence[padded], correct[padded], where=np.arange(3 * SIZE) < len(rows))
    close(function(confidence, correct, weights=np.array(weights, np.float32)), repeated)


@every
def test_dtypes(name, rng):
    """Half precision is computed in float32, integers and truth values are what they say."""
    function, correct = FUNCTIONS[name], rng.random(ROWS) < 0.5
    for dtype in (jnp.float16, jnp.bfloat16):
        confidence = jnp.asarray(rng.random(ROWS), dtype)
        value = function(confidence, correct)
        assert value.dtype == np.float32
        close(value, function(np.asarray(confidence, np.float64), correct.astype(np.int8)))
    certain = np.arange(ROWS) % 2
    assert function(certain, certain.tolist()) == 0


@every
def test_vmap_is_a_loop(name, rng):
    function, confidence, correct = FUNCTIONS[name], rng.random((3, ROWS)), rng.random((3, ROWS)) < 0.5
    looped = [function(c, y) for c, y in zip(confidence, correct, strict=True)]
    close(jax.vmap(function)(confidence, correct), looped, atol=1e-12)


@every
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"confidence": [0.5, 1.5]}, r"confidence must be in \[0, 1\], got 1.5 in row 1"),
        ({"confidence": [-0.5, 0.5]}, r"confidence must be in \[0, 1\], got -0.5 in row 0"),
        ({"correct": [1, 2]}, "correct must be 0 or 1, got 2 in row 1"),
        ({"where": [2, 1]}, "where must be boolean, or 0 and 1, got 2 in row 0"),
        ({"correct": [1]}, "correct must have the shape of confidence"),
        ({"confidence": [[0.5, 0.5]]}, r"confidence must have shape \[N\]"),
    ],
)
def test_wrong_input_is_refused(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        FUNCTIONS[name](**{"confidence": [0.5, 0.6], "correct": [1, 0], **arguments})


@every
def test_wrong_values_are_nan_under_jit(name):
    """...and NaN is NaN anywhere; nothing is left of no rows."""
    function = jax.jit(FUNCTIONS[name])
    for confidence, correct in (([0.5, 1.5], [1, 0]), ([0.5, 0.6], [1, 2]), ([0.5, np.nan], [1, 0])):
        assert np.isnan(function(np.array(confidence), np.array(correct)))
    assert np.isnan(FUNCTIONS[name]([0.5, np.nan], [1, 0]))
    assert np.isnan(FUNCTIONS[name](np.zeros(0), np.zeros(0, int)))


@pytest.mark.parametrize("name", WEIGHTED)
def test_wrong_weights_are_refused(name):
    for weights in ([1.0, -1.0], [1.0, np.inf]):
        with pytest.raises(ValueError, match=r"weights must be finite and not negative, got .* in row 1"):
            FUNCTIONS[name]([0.5, 0.6], [1, 0], weights=weights)
    assert np.isnan(FUNCTIONS[name]([0.5, 0.6], [1, 0], weights=[0.0, 0.0]))
