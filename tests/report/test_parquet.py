"""Parquet files: numbers of every width, what is none of them, too many of them, and damage, in one sentence."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from mixjax.report import columns
from mixjax.report.reading import read_predictions
from mixjax.runs import RunError


def test_parquet_columns_of_text_are_refused_and_nulls_are_missing(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = {"prob_0": [0.5, None, 0.25], "prob_1": [0.5, 0.5, 0.75], "label": [0, 1, None]}
    parquet.write_table(pyarrow.table(table), tmp_path / "f.parquet")
    assert read_predictions(tmp_path / "f.parquet", "probs").missing.tolist() == [False, True, True]
    parquet.write_table(pyarrow.table(table | {"prob_0": ["a", "b", "c"]}), tmp_path / "f.parquet")
    with pytest.raises(RunError, match="column prob_0 must be numbers, got string"):
        read_predictions(tmp_path / "f.parquet", "probs")


def test_parquet_that_says_too_much(tmp_path, monkeypatch):
    """Equal numbers take no room: a thousand times more rows than a file has bytes are counted before they are made."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table(
        {"confidence": np.full(10**6, 0.5), "correct": np.zeros(10**6, np.int64), "note": ["x"] * 10**6}
    )
    parquet.write_table(table, tmp_path / "f.parquet", compression="zstd")
    monkeypatch.setattr(columns, "_LIMIT", 10**6)
    with pytest.raises(RunError, match="has 1000000 rows in 2 columns, which is more than 1000000 bytes"):
        read_predictions(tmp_path / "f.parquet", "binary")


def test_parquet_of_other_kinds(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    plain = {"prob_0": np.array([0.25, 0.5]), "prob_1": np.array([0.75, 0.5]), "label": np.array([0, 1])}
    kinds = {
        "nested": ("prob_0", pyarrow.array([[0.25], [0.5]]), "column prob_0 must be numbers, got list"),
        "records": ("prob_0", pyarrow.array([{"a": 0.25}, {"a": 0.5}]), "column prob_0 must be numbers, got struct"),
        "nothing": ("label", pyarrow.nulls(2), "column label must be numbers, got null"),
        "decimal": ("label", pyarrow.array([0, 1]).cast(pyarrow.decimal128(20)), "must be numbers, got decimal128"),
        "floats": ("label", pyarrow.array([1.0, 0.5]), r"whole numbers, got float64 \(0.5 in row 1\)"),
        "words": ("label", pyarrow.array(["a", "b"]).dictionary_encode(), "must be numbers, got dictionary"),
    }
    for name, column, message in kinds.values():
        parquet.write_table(pyarrow.table(plain | {name: column}), tmp_path / "f.parquet")
        with pytest.raises(RunError, match=message):
            read_predictions(tmp_path / "f.parquet", "probs")
    half = {
        name: pyarrow.array([*values, None], pyarrow.float16()) for name, values in plain.items() if name != "label"
    }
    parquet.write_table(pyarrow.table(half | {"label": [0, 1, 1]}), tmp_path / "f.parquet")
    assert read_predictions(tmp_path / "f.parquet", "probs").missing.tolist() == [False, False, True]
    twice = pyarrow.table([*plain.values(), plain["label"]], names=[*plain, "label"])
    parquet.write_table(twice, tmp_path / "f.parquet")
    with pytest.raises(RunError, match="two columns have the name 'label'"):
        read_predictions(tmp_path / "f.parquet", "probs")


def test_damaged_parquet_is_one_sentence(files, tmp_path):
    """One byte in forty, each by itself: the predictions or one sentence."""
    content = (files / "probs.parquet").read_bytes()
    for place in range(0, len(content), max(1, len(content) // 100)):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        (tmp_path / "f.parquet").write_bytes(damaged)
        try:
            read_predictions(tmp_path / "f.parquet", "probs")
        except RunError as error:
            assert "\n" not in str(error)


def test_parquet_without_pyarrow_says_what_to_install(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        RunError, match=r"probs.parquet, a parquet file, needs pyarrow: pip install 'mixjax\[parquet\]'"
    ):
        read_predictions(files / "probs.parquet", "probs")
