"""The digits beside scikit-learn's, and what a data set refuses to be."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from mixjax.datasets import NAMES, MissingDataError, load
from mixjax.runs import RunError


@pytest.fixture(scope="module")
def digits():
    return load("digits")


def test_the_rows_are_scikit_learns(digits):
    """Each image once, with its label; every fifth of a class is for testing, in the order of the file."""
    stored = load_digits()
    test = np.zeros(len(stored.target), bool)
    for label in range(10):
        test[np.flatnonzero(stored.target == label)[4::5]] = True
    for split, rows in (("train", ~test), ("test", test)):
        np.testing.assert_array_equal(getattr(digits, f"{split}_inputs")[..., 0], stored.images[rows])
        np.testing.assert_array_equal(getattr(digits, f"{split}_labels"), stored.target[rows])
    assert (len(digits.train_labels), len(digits.test_labels)) == (1442, 355)
    assert digits.max_pixel == 16 == digits.train_inputs.max()


def test_a_fingerprint_is_of_the_rows(digits):
    same = replace(digits, source="elsewhere", train_inputs=np.asfortranarray(digits.train_inputs))
    assert same.fingerprint == digits.fingerprint
    changed = digits.train_labels.copy()
    changed[0] = (changed[0] + 1) % 10
    assert replace(digits, train_labels=changed).fingerprint != digits.fingerprint


WRONG = {
    "floats": ({"train_inputs": np.zeros((1442, 8, 8, 1))}, "must be uint8"),
    "labels of 64 bits": ({"test_labels": np.zeros(355, np.int64)}, "must be int32"),
    "fewer labels": ({"test_labels": np.zeros(354, np.int32)}, "355 images and 354 labels"),
    "fewer classes": ({"class_names": ("0", "1")}, "train_labels must be in .0, 1."),
    "darker": ({"max_pixel": 15}, "train_inputs must be in .0, 15., got 16"),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_a_data_set_is_checked_when_it_is_made(digits, change, message):
    with pytest.raises(RunError, match=message):
        replace(digits, **change)


@pytest.mark.parametrize("name", ["cifar", "", "digits.npy", "../digits"])
def test_unknown_names(name):
    with pytest.raises(ValueError, match=f"one of {', '.join(NAMES)}, or a path that ends in .npz, got"):
        load(name)


@pytest.mark.parametrize("name", ["digits", "a.npz"])
def test_no_folder_where_none_is_looked_in(tmp_path, name):
    with pytest.raises(ValueError, match="takes no data_dir"):
        load(name, data_dir=tmp_path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(RunError, match="there is no file"):
        load(tmp_path / "none.npz")


def test_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingDataError, match="pip install scikit-learn"):
        load("digits")
