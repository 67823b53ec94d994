"""Parquet files: numbers of every width, what is none of them, too many of them, and damage, in one sentence."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from mixjax.report import columns
from mixjax.report.reading import Names, read_predictions
from mixjax.runs import RunError
from tests.report.conftest import write_parquet
from tests.report.test_hostile import read_damaged

pyarrow = pytest.importorskip("pyarrow")


def test_parquet_columns_of_text_are_refused_and_nulls_are_missing(tmp_path):
    table = {"prob_0": [0.5, None, 0.25], "prob_1": [0.5, 0.5, 0.75], "label": [0, 1, None]}
    write_parquet(tmp_path / "f.parquet", table)
    assert read_predictions(tmp_path / "f.parquet", "probs").missing.tolist() == [False, True, True]
    write_parquet(tmp_path / "f.parquet", table | {"prob_0": ["a", "b", "c"]})
    with pytest.raises(RunError, match=r"column prob_0 must be numbers, got string$"):
        read_predictions(tmp_path / "f.parquet", "probs")


def test_parquet_that_says_too_much(tmp_path, monkeypatch):
    """Equal numbers take no room: a thousand times more rows than a file has bytes are counted before they are made."""
    table = {"confidence": np.full(10**6, 0.5), "correct": np.zeros(10**6, np.int64), "note": ["x"] * 10**6}
    write_parquet(tmp_path / "f.parquet", table, compression="zstd")
    monkeypatch.setattr(columns, "_LIMIT", 10**6)
    with pytest.raises(RunError, match="has 1000000 rows in 2 columns, which is more than 1000000 bytes"):
        read_predictions(tmp_path / "f.parquet", "binary")


def test_parquet_of_other_kinds(tmp_path):
    plain = {"prob_0": np.array([0.25, 0.5]), "prob_1": np.array([0.75, 0.5]), "label": np.array([0, 1])}
    kinds = {
        "nested": ("prob_0", pyarrow.array([[0.25], [0.5]]), "column prob_0 must be numbers, got list"),
        "records": ("prob_0", pyarrow.array([{"a": 0.25}, {"a": 0.5}]), "column prob_0 must be numbers, got struct"),
        "nothing": ("label", pyarrow.nulls(2), "column label must be numbers, got null"),
        "decimal": ("label", pyarrow.array([0, 1]).cast(pyarrow.decimal128(20)), "must be numbers, got decimal128"),
        "floats": ("label", pyarrow.array([1.0, 0.5]), r"whole numbers, got float64 \(0.5 in row 1\)"),
        "words": (
            "label",
            pyarrow.array(["a", "b"]).dictionary_encode(),
            r"must be numbers, got dictionary.*; labels that are names need --classes",
        ),
    }
    for name, column, message in kinds.values():
        write_parquet(tmp_path / "f.parquet", plain | {name: column})
        with pytest.raises(RunError, match=message):
            read_predictions(tmp_path / "f.parquet", "probs")
    half = {name: pyarrow.array([*plain[name], None], pyarrow.float16()) for name in ("prob_0", "prob_1")}
    write_parquet(tmp_path / "f.parquet", half | {"label": [0, 1, 1]})
    assert read_predictions(tmp_path / "f.parquet", "probs").missing.tolist() == [False, False, True]
    write_parquet(tmp_path / "f.parquet", pyarrow.table([*plain.values(), plain["label"]], names=[*plain, "label"]))
    with pytest.raises(RunError, match="two columns have the name 'label'"):
        read_predictions(tmp_path / "f.parquet", "probs")


def test_parquet_without_pyarrow_says_what_to_install(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    says = r"probs.parquet, a parquet file, needs pyarrow: pip install 'mixjax\[parquet\]'"
    with pytest.raises(RunError, match=says):
        read_predictions(files / "probs.parquet", "probs")


PROBS = np.array([[0.25, 0.75, 0.0], [0.5, 0.25, 0.25], [0.125, 0.375, 0.5]])


def beside(lists, label=(1, 0, 2)):
    """A table of three lists."""
    return {"probs": lists, "label": list(label), "note": ["x"] * 3}


@pytest.mark.parametrize(
    "lists",
    [
        pyarrow.array(PROBS.tolist()),
        pyarrow.array(PROBS.tolist(), pyarrow.large_list(pyarrow.float32())),
        pyarrow.FixedSizeListArray.from_arrays(PROBS.ravel(), 3),
    ],
    ids=["lists", "large lists of float32", "lists of one size"],
)
def test_a_column_of_lists(lists, tmp_path):
    """...in several parts."""
    write_parquet(tmp_path / "f.parquet", beside(lists), row_group_size=2)
    found = read_predictions(tmp_path / "f.parquet", "probs")
    np.testing.assert_array_equal(found.scores, PROBS)
    assert found.labels.tolist() == [1, 0, 2]
    assert not found.missing.any()
    write_parquet(tmp_path / "f.parquet", {"p": lists, "label": [1, 0, 2]})
    np.testing.assert_array_equal(read_predictions(tmp_path / "f.parquet", "probs", Names(scores="p")).scores, PROBS)


@pytest.mark.parametrize(
    ("rows", "missing"),
    [
        ([[0.25, 0.75], None, [0.5, 0.5]], [False, True, False]),
        ([[0.25, 0.75], [None, 0.5], [0.5, 0.5]], [False, True, False]),
        ([None, [0.5, 0.5], [float("nan"), 0.5]], [True, False, True]),
    ],
)
def test_missing_lists_and_numbers_in_them(rows, missing, tmp_path):
    write_parquet(tmp_path / "f.parquet", beside(rows, label=[1, 0, 1]))
    found = read_predictions(tmp_path / "f.parquet", "probs")
    assert found.missing.tolist() == missing
    np.testing.assert_array_equal(
        found.scores[~found.missing], [row for row, lost in zip(rows, missing, strict=True) if not lost]
    )


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0.25, 0.75], [0.5, 0.5], [1.0]], "probs must be lists of one length, got 2 numbers and, in row 2, 1"),
        ([[0.5], [0.5], [0.5]], r"a column for each of 2 or more classes .for confidences .*, got shape \(3, 1\)"),
        ([None, None, None], "f.parquet has no column 'prob_0'; it has probs, label, note"),
        ([["a"], ["b"], ["c"]], "f.parquet has no column 'prob_0'; it has probs, label, note"),
        ([[[0.5]], [[0.5]], [[0.5]]], "f.parquet has no column 'prob_0'"),
        ([[0.25, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], "rows that sum to 1 within .*, got 0.75 in row 0"),
    ],
)
def test_wrong_lists_are_one_sentence(rows, message, tmp_path):
    write_parquet(tmp_path / "f.parquet", beside(rows))
    with pytest.raises(RunError, match=message):
        read_predictions(tmp_path / "f.parquet", "probs")


def test_columns_of_classes_come_before_lists(tmp_path):
    turned = {f"prob_{k}": PROBS[:, (k + 1) % 3] for k in range(3)}
    write_parquet(tmp_path / "f.parquet", beside(PROBS.tolist()) | turned)
    np.testing.assert_array_equal(read_predictions(tmp_path / "f.parquet", "probs").scores, PROBS[:, [1, 2, 0]])


def test_lists_that_say_too_much(tmp_path, monkeypatch):
    """A long list in a few bytes: its numbers are counted before they are made."""
    write_parquet(tmp_path / "f.parquet", {"probs": [np.zeros(10**6)], "label": [0]}, compression="zstd")
    assert (tmp_path / "f.parquet").stat().st_size < 10**4
    monkeypatch.setattr(columns, "_LIMIT", 10**6)
    with pytest.raises(RunError, match="has 1 row in 2 columns, which is more than 1000000 bytes"):
        read_predictions(tmp_path / "f.parquet", "probs")


@pytest.mark.medium
def test_damaged_lists_are_read_or_refused(tmp_path, rng):
    table = {"probs": np.tile(PROBS, (20, 1)).tolist(), "label": np.tile([1, 0, 2], 20)}
    write_parquet(tmp_path / "f.parquet", table)
    read_damaged(tmp_path / "f.parquet", (tmp_path / "f.parquet").read_bytes(), rng, "probs")
