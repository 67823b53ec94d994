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
    assert accuracy(probs=FRAME.add_prefix("prob_"), labels=NAMED, classes=CLASSES) == right
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
