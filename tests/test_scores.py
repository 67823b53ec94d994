"""Logits and probabilities to (confidence, correct), against NumPy; what is no logit is refused or NaN."""

import jax
import numpy as np
import pytest
from scipy import special

from mixjax.scores import binary_from_logits, top_label, top_label_from_logits


@pytest.mark.medium
def test_the_predicted_class_is_the_first_of_the_largest(rng):
    logits, labels = rng.normal(0, 3, (50, 4)).astype(np.float32), rng.integers(0, 4, 50)
    logits[:5, 1:3] = 9.0
    probs = special.softmax(logits.astype(np.float64), axis=1)
    for confidence, correct in (top_label_from_logits(logits, labels), top_label(probs, labels)):
        np.testing.assert_allclose(confidence, probs.max(axis=1), rtol=1e-6)
        np.testing.assert_array_equal(correct, logits.argmax(axis=1) == labels)


@pytest.mark.slow
def test_one_class_is_certain_and_right():
    confidence, correct = (np.asarray(part) for part in top_label_from_logits([[-3.0], [7.0]], [0, 0]))
    assert confidence.tolist() == correct.tolist() == [1, 1]


def test_the_positive_class(rng):
    logits, labels = rng.normal(0, 20, 30), rng.integers(0, 2, 30)
    confidence, correct = binary_from_logits(logits, labels)
    np.testing.assert_allclose(confidence, special.expit(logits), rtol=1e-12)
    np.testing.assert_array_equal(correct, labels)
    confidence, _ = binary_from_logits([-np.inf, np.inf], [0, 1])
    assert confidence.tolist() == [0, 1]


@pytest.mark.medium
def test_a_class_may_be_impossible():
    """...and NaN is NaN."""
    confidence, correct = map(np.asarray, top_label_from_logits([[0.0, -np.inf], [np.nan, 0.0]], [1, 0]))
    np.testing.assert_array_equal(confidence, [1, np.nan])
    assert correct[0] == 0


@pytest.mark.medium
@pytest.mark.parametrize("function", [top_label_from_logits, top_label, binary_from_logits])
def test_a_row_that_is_left_out_may_contain_anything(rng, function):
    """...and its confidence is NaN, for the same `where` to leave it out of an error."""
    binary, where = function is binary_from_logits, np.array([[True, False, True], [True, True, False]])
    logits, labels = rng.normal(0, 3, (2, 3) if binary else (2, 3, 4)), rng.integers(0, 2, (2, 3))
    given = special.softmax(logits, axis=-1) if function is top_label else logits
    confidence, correct = map(np.asarray, function(given, labels))
    for anything, label in ((np.nan, -100), (np.inf, 7), (-np.inf, -1)):
        hidden = np.where(where if binary else where[..., None], given, anything), np.where(where, labels, label)
        found = [np.asarray(part) for part in function(*hidden, where=where.tolist())]
        np.testing.assert_array_equal(found[0], np.where(where, confidence, np.nan))
        np.testing.assert_array_equal(found[1][where], correct[where])
        with pytest.raises(ValueError, match="in row 1"):
            function(*hidden)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0.0, 1.0], [0, 2]), ValueError, "labels must be 0 or 1, got 2 in row 1"),
        (([0.0, 1.0], [0]), ValueError, r"the shape of logits of the positive class, \(2,\), got \(1,\)"),
        ((0.5, 1), ValueError, r"logits must have shape \[N\], got one number"),
        (([0.0, 1.0], ["0", "1"]), TypeError, "labels must be real numbers"),
    ],
)
def test_binary_messages_name_its_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        binary_from_logits(*arguments)


@pytest.mark.medium
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([np.inf, 0.0], "logits must be below infinity, got inf in row 1"),
        ([-np.inf, -np.inf], "logits must be above -inf for one class, got -inf in row 1"),
    ],
)
def test_what_has_no_softmax_is_refused_and_nan_under_jit(row, message):
    logits, labels = np.array([[1.0, 2.0], row]), np.array([0, 1])
    with pytest.raises(ValueError, match=message):
        top_label_from_logits(logits, labels)
    confidence, _ = jax.jit(top_label_from_logits)(logits, labels)
    np.testing.assert_array_equal(np.isnan(confidence), [False, True])
