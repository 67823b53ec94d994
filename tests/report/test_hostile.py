"""Predictions in files that are made to harm: refused in one sentence, soon, and without taking memory for them."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from mixjax.report import columns
from mixjax.report.reading import Names, read_predictions, without_missing
from mixjax.runs import RunError
from tests.fuzzing import NUMBER, mutated, survive
from tests.report.conftest import write_parquet

KINDS = {"csv": "probs", "npz": "logits", "parquet": "probs"}


def read_damaged(path: Path, whole: bytes, rng: np.random.Generator, kind: str, names: Names | None = None) -> None:
    """The file with its bytes changed; of an archive also its members, which then have the right checksums."""

    def damaged():
        for number in range(NUMBER):
            yield repacked(whole, rng) if path.suffix == ".npz" and number % 2 else mutated(whole, rng)

    def read(content: bytes) -> None:
        path.write_bytes(content)
        without_missing([read_predictions(path, kind, names)], drop=True)

    counts = survive(damaged(), read, path.with_name("bad"))
    assert counts["refused"] > NUMBER / 4 and counts["read"] > 0, counts


@pytest.mark.medium
@pytest.mark.parametrize("suffix", KINDS)
def test_damaged_files_are_read_or_refused(files, tmp_path, rng, suffix):
    whole = (files / {"npz": "plain.npz"}.get(suffix, f"probs.{suffix}")).read_bytes()
    if suffix == "csv":
        whole = whole[:1000].rsplit(b"\n", 1)[0]
    read_damaged(tmp_path / f"f.{suffix}", whole, rng, KINDS[suffix])


def repacked(whole: bytes, rng: np.random.Generator) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        changed = rng.integers(2)
        for number, name in enumerate(old.namelist()):
            content = old.read(name)
            archive.writestr(name, mutated(content[:300], rng, 1) + content[300:] if number == changed else content)
    return buffer.getvalue()


def peak_of(path, kind="probs", names=None) -> tuple[str, int]:
    """The sentence, and the most memory that Python's allocator gave meanwhile."""
    tracemalloc.start()
    try:
        with pytest.raises(RunError) as refused:
            read_predictions(path, kind, names)
        return str(refused.value), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_line_without_end(tmp_path, monkeypatch):
    """A file of 2^32 zeros that takes no disk: one line, of which no more than the limit is read."""
    monkeypatch.setattr(columns, "_LONGEST", 2**20)
    with open(tmp_path / "f.csv", "wb") as file:
        file.truncate(2**32)
    said, peak = peak_of(tmp_path / "f.csv")
    assert said.endswith("has a line of 1048576 characters or more, and is not read") and peak < 2**24


def test_a_field_of_a_million_characters(tmp_path):
    (tmp_path / "f.csv").write_text("prob_0,prob_1,label\n0.5," + "5" * 10**6 + ",1\n")
    said, _ = peak_of(tmp_path / "f.csv")
    assert "is not a csv file: field larger than field limit" in said


@pytest.mark.slow
def test_a_name_that_comes_twice_among_very_many(tmp_path):
    """Found in one pass: comparing each name with all others would take minutes."""
    names = [f"c{number}" for number in range(200_000)]
    (tmp_path / "f.csv").write_text(",".join([*names, names[-1]]) + "\n")
    said, _ = peak_of(tmp_path / "f.csv")
    assert said.endswith("two columns have the name 'c199999'")


@pytest.mark.slow
def test_wide_tables_are_text_a_part_at_a_time(tmp_path, monkeypatch):
    """1000 rows of 400 columns: 400,000 cells would take 60 bytes each if all were text at once."""
    monkeypatch.setattr(columns, "_CHUNK", 40_000)
    row = ",".join(["0.0025"] * 400)
    text = ",".join(f"prob_{k}" for k in range(400)) + ",label\n" + f"{row},0\n" * 1000 + f"{row},x\n"
    (tmp_path / "f.csv").write_text(text)
    said, peak = peak_of(tmp_path / "f.csv")
    assert "label is 'x' in line 1002" in said and peak < 15_000_000


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compression_that_numpy_does_not_write(tmp_path, method):
    """LZMA takes as much memory as its header says."""
    np.savez(tmp_path / "plain.npz", logits=np.zeros((2, 2)), labels=np.zeros(2, int))
    with zipfile.ZipFile(tmp_path / "plain.npz") as old, zipfile.ZipFile(tmp_path / "f.npz", "w", method) as archive:
        for name in old.namelist():
            archive.writestr(name, old.read(name))
    with pytest.raises(RunError, match="is damaged, or is not an npz file"):
        read_predictions(tmp_path / "f.npz", "logits")


@pytest.mark.parametrize("order", "<>")
def test_text_of_no_characters(tmp_path, order):
    """Four bytes above U+10FFFF, which NumPy reads and Python cannot."""
    labels = np.full(2, 0x110000, f"{order}u4").view(f"{order}U1")
    np.savez(tmp_path / "f.npz", probs=np.full((2, 2), 0.5), labels=labels)
    with pytest.raises(RunError, match="is damaged, or is not an npz file"):
        read_predictions(tmp_path / "f.npz", "probs", Names(classes=("no", "yes")))


@pytest.mark.medium
def test_a_column_of_text_is_refused_before_it_is_read(tmp_path):
    """A million copies of a text of a megabyte are a few bytes of parquet."""
    pyarrow = pytest.importorskip("pyarrow")
    words = pyarrow.DictionaryArray.from_arrays(np.zeros(10**6, np.int32), ["x" * 10**6])
    table = {"confidence": words, "correct": np.zeros(10**6, np.int64)}
    write_parquet(tmp_path / "f.parquet", table, compression="zstd")
    before = pyarrow.total_allocated_bytes()
    with pytest.raises(RunError, match="column confidence must be numbers, got"):
        read_predictions(tmp_path / "f.parquet", "binary")
    assert pyarrow.total_allocated_bytes() - before < 2**20


def test_rows_that_only_a_part_of_a_parquet_file_has():
    """The file says 5 rows; what is allocated is what its parts say."""

    class Metadata:
        num_rows, num_row_groups = 5, 2

        def row_group(self, part):
            return type("Part", (), {"num_rows": (2**40, 5 - 2**40)[part]})

    for counts in ({}, {"num_row_groups": 1}):
        with pytest.raises(ValueError, match="5 rows in all, and"):
            columns._rows_of(type("Other", (Metadata,), counts)())


def test_long_names_and_codes_of_a_terminal_are_not_repeated(tmp_path):
    (tmp_path / "f.csv").write_text(f"prob_0,prob_1,prob_{'9' * 5000},\x1b[2J,label\n")
    said, _ = peak_of(tmp_path / "f.csv")
    assert said.endswith(rf"has no column 'prob_2'; it has prob_0, prob_1, prob_{'9' * 32}..., \x1b[2J, label")
