"""DataFrames of scores: their columns name the classes, in any order, and their rows are those of the labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mixjax.report import of_arrays

CLASSES = ["cat", "dog", "eel"]
RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet([1, 1, 1], 60)
PLACES = np.array([RNG.choice(3, p=row) for row in PROBS])
FRAME, NAMED = pd.DataFrame(PROBS, columns=CLASSES), pd.Series(np.array(CLASSES)[PLACES])
RIGHT = of_arrays(probs=PROBS, labels=PLACES)


def accuracy(**given):
    return of_arrays(**given).metrics["model"]["accuracy"].estimate


def test_columns_are_the_classes_of_labels_that_are_names():
    found = of_arrays(probs=FRAME, labels=NAMED)
    np.testing.assert_equal(found.metrics, RIGHT.metrics)
    assert [found.reports[0].file.class_name(k, 9) for k in range(3)] == CLASSES


def test_columns_may_be_in_another_order_than_the_classes():
    """As in a csv file; without names, and for other names, they are taken by place."""
    turned, right = FRAME[["eel", "cat", "dog"]], RIGHT.metrics["model"]["accuracy"].estimate
    assert accuracy(probs=turned, labels=NAMED) == right
    assert accuracy(probs=turned, labels=NAMED, classes=CLASSES) == right
    assert accuracy(probs=turned, labels=PLACES, classes=CLASSES) == right
    assert accuracy(logits=np.log(turned), labels=NAMED, classes=CLASSES) == right
    assert accuracy(probs=turned.add_prefix("prob_"), labels=NAMED, classes=CLASSES) == right
    assert accuracy(logits=np.log(turned).add_prefix("logit_"), labels=NAMED) == right
    assert accuracy(probs=turned, labels=PLACES) != right


def test_models_may_have_their_columns_in_different_orders():
    pair = of_arrays(probs={"a": FRAME, "b": FRAME[["dog", "eel", "cat"]]}, labels=NAMED)
    assert pair.differences["ECE"].estimate == 0 == pair.differences["accuracy"].high


@pytest.mark.parametrize("columns", [["dog", "cat", "eels"], ["cat", "cat", "dog"], ["dog", "cat", "eel", "cat"]])
def test_columns_that_are_some_of_the_classes_are_refused(columns):
    with pytest.raises(ValueError, match="columns must have the names of all classes or of none, got "):
        of_arrays(probs=pd.DataFrame(np.full((3, len(columns)), 1 / len(columns)), columns=columns), labels=[0, 1, 1],
                  classes=CLASSES)  # fmt: skip


@pytest.mark.parametrize("columns", [list("ppp"), pd.MultiIndex.from_product([["p"], CLASSES]), range(3), [1, 2, 0]])
def test_columns_that_are_no_classes_are_taken_by_place(columns):
    found = of_arrays(probs=pd.DataFrame(PROBS, columns=columns), labels=NAMED, classes=CLASSES)
    np.testing.assert_equal(found.metrics, RIGHT.metrics)


NUMBERED = {  # columns that name numbers or truth values, and labels of such a kind
    "text": (["2", "0", "1"], [0, 1, 2]),
    "numbers": ([2, 0, 1], [0, 1, 2]),
    "prefix": (["prob_2", "prob_0", "prob_1"], ["0", "1", "2"]),
    "from 1": ([3, 1, 2], [1, 2, 3]),
    "as text": ([2, 0, 1], ["0", "1", "2"]),
}


@pytest.mark.parametrize("case", NUMBERED)
def test_columns_that_are_numbers_name_classes_too(case):
    columns, names = NUMBERED[case]
    frame = pd.DataFrame(PROBS[:, [2, 0, 1]], columns=columns)
    labels = np.array(names)[PLACES]
    np.testing.assert_equal(accuracy(probs=frame, labels=labels), RIGHT.metrics["model"]["accuracy"].estimate)


@pytest.mark.parametrize("kept", [pd.DataFrame, np.asarray])
@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_numbered_columns_are_in_the_order_of_a_model_without_names(kept, order):
    """Which has the places 0, 1, 2; whichever model comes first."""
    models = {"a": kept(PROBS), "b": pd.DataFrame(PROBS)[[2, 1, 0]]}
    pair = of_arrays(probs={name: models[name] for name in order}, labels=PLACES)
    right = RIGHT.metrics["model"]["accuracy"].estimate
    assert [pair.metrics[name]["accuracy"].estimate for name in order] == [right, right]


def test_truth_values_name_columns():
    binary = {True: PROBS[:, 0], False: 1 - PROBS[:, 0]}
    right = of_arrays(probs=np.stack([*binary.values()], 1), labels=(PLACES != 0) * 1).metrics["model"]
    found = of_arrays(probs=pd.DataFrame(binary), labels=PLACES == 0).metrics["model"]
    assert found["accuracy"] == right["accuracy"] and found["NLL"] == right["NLL"]


@pytest.mark.parametrize(
    ("other", "labels", "message"),
    [
        (FRAME[["eel", "cat", "dog"]], PLACES, "the columns of a and b are in different orders: pass classes="),
        (FRAME.rename(columns=str.title), NAMED, "models must have the same columns, got cat, dog, eel, and Cat, Dog"),
        (FRAME.assign(row=np.arange(60)), NAMED, "probs must have columns of scores only, and row has whole numbers"),
        (FRAME.iloc[::-1], PLACES, "probs of a and probs of b have the same index in another order"),
    ],
)
def test_models_whose_columns_or_rows_differ_are_refused(other, labels, message):
    with pytest.raises(ValueError, match=message):
        of_arrays(probs={"a": FRAME, "b": other}, labels=labels)


def test_confidences_of_two_models_are_paired_by_their_index():
    confidence, correct = FRAME["cat"], NAMED == "cat"
    pairs = {"confidence": {"a": confidence, "b": confidence[::-1]}, "correct": {"a": correct, "b": correct[::-1]}}
    with pytest.raises(ValueError, match="confidence of a and confidence of b have the same index in another order"):
        of_arrays(**pairs)


def test_arrays_beside_a_frame_have_no_order_of_their_own():
    for pair in ({"a": FRAME, "b": PROBS}, {"a": PROBS, "b": FRAME}):
        with pytest.raises(TypeError, match="labels that are names need classes="):
            of_arrays(probs=pair, labels=NAMED)


def test_masks_of_numpy_are_refused():
    """They would be lost, and what they hide would count."""
    hidden = np.ma.array(NAMED, mask=np.arange(60) < 30)
    for given in ({"labels": hidden}, {"labels": hidden, "classes": CLASSES}, {"labels": NAMED, "groups": hidden}):
        with pytest.raises(TypeError, match=r"must be an array without its own mask, got MaskedArray; pass where="):
            of_arrays(probs=FRAME, **given)


def test_names_without_columns_need_classes():
    for probs in (PROBS, pd.DataFrame(PROBS)):
        with pytest.raises(TypeError, match=r"labels that are names need classes=, the list of all names"):
            of_arrays(probs=probs, labels=NAMED)


def test_the_same_rows_in_another_order_are_refused():
    """What is only called otherwise is taken by position: labels of a test set beside scores that count from 0."""
    turned = FRAME.sample(frac=1, random_state=1)
    for given in ({"labels": NAMED}, {"labels": NAMED[turned.index], "groups": NAMED}):
        with pytest.raises(ValueError, match="have the same index in another order, and rows are paired by position"):
            of_arrays(probs=turned, **given)
    with pytest.raises(ValueError, match="confidence and correct have the same index"):
        of_arrays(confidence=turned["cat"], correct=NAMED == "cat")
    renamed = NAMED.set_axis(np.arange(60) + 7)
    np.testing.assert_equal(of_arrays(probs=FRAME, labels=renamed).metrics, RIGHT.metrics)


def test_a_report_is_shown_in_a_line():
    e = RIGHT.metrics["model"]["ECE"]
    assert repr(RIGHT) == f"CalibrationReport(model: 60 rows, ECE {e.estimate:.4f} [{e.low:.4f}, {e.high:.4f}])"
