"""Groups of rows whose names or files are made to harm, or are very many."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mixjax.cli import main
from mixjax.report import columns, groups, of_arrays
from mixjax.report.reading import read_predictions
from mixjax.runs import RunError
from tests.report.conftest import write_parquet
from tests.report.test_cli import checked_page
from tests.report.test_groups import BY_SITE, OPTIONS, SITES, arrow, write, write_names
from tests.report.test_hostile import peak_of, read_damaged

HOSTILE = ["<script>alert(1)</script>", "\x1b[2J\x1b[31mred", "two\nlines", "[bold]a[/bold]", "x" * 5000, "\u202eright",
           "&amp;", "=cmd|' /C calc'!A0"]  # fmt: skip


@pytest.mark.medium
@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_names_of_groups_are_plain_text_on_one_line(suffix, tmp_path, capsys, monkeypatch):
    """...in the terminal and on the page; very long ones are cut."""
    monkeypatch.setenv("COLUMNS", "160")
    names = np.array(HOSTILE)[np.arange(240) % len(HOSTILE)].tolist()
    path = write_names(tmp_path / f"f.{suffix}", names)
    assert main(["report", str(path), "--binary", "--groups", "site", "--out", str(tmp_path / "out"), *OPTIONS]) == 0
    out, error = capsys.readouterr()
    assert error == ""
    content = (tmp_path / "out" / "report.html").read_text()
    text = checked_page(tmp_path / "out" / "report.html")
    shown = ["<script>alert(1)</script>", r"\x1b[2J\x1b[31mred", r"two\nlines", "[bold]a[/bold]", "x" * 37 + "...",
             r"\u202eright", "&amp;", "=cmd|' /C calc'!A0"]  # fmt: skip
    for name in shown:
        assert name.replace("x" * 37 + "...", "x" * 197 + "...") in text
        assert sum(line.strip().startswith(name) and " 30 " in line for line in out.splitlines()) == 1
    assert not {"\x1b", "\u202e"} & set(out + content)
    assert "x" * 38 not in out and "x" * 198 not in content


@pytest.mark.medium
def test_long_names_leave_room_for_numbers(capsys, monkeypatch):
    """...in a terminal of 80 columns: names of groups are cut, two intervals are left out, and the rest is whole."""
    monkeypatch.setenv("COLUMNS", "80")
    names = np.array(["xxx", f"{'x' * 10}10", "x" * 60])[np.arange(240) % 3]
    confidence, correct = np.full(240, 0.75), np.arange(240) % 2
    of_arrays(confidence=confidence, correct=correct, groups=names, num_bins=6, level=0.9, seed=5).print()
    lines = [line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("xxx")]
    assert [line.split()[0] for line in lines] == ["xxx", "xxxxxxxxxx10", f"{'x' * 17}\N{HORIZONTAL ELLIPSIS}"]
    assert all(re.search(r" 80 +0\.500 +0\.25\S* +0\.25\S* +\[\S+, \S+\] *$", line) for line in lines)
    assert max(map(len, lines)) <= 80


@pytest.mark.medium
def test_a_long_name_in_very_many_rows_of_parquet(tmp_path):
    """A million rows of a name of a megabyte are a few bytes, and are read as a few megabytes."""
    pyarrow = pytest.importorskip("pyarrow")
    rows = 10**6
    for kind in (pyarrow.string(), pyarrow.large_string()):
        name = pyarrow.DictionaryArray.from_arrays(np.zeros(rows, np.int32), pyarrow.array(["x" * 10**6], kind))
        table = {"confidence": np.full(rows, 0.5), "correct": np.zeros(rows, np.int64), "site": name}
        write_parquet(tmp_path / "f.parquet", table, compression="zstd")
        assert (tmp_path / "f.parquet").stat().st_size < 2**15
        pool = pyarrow.default_memory_pool()
        before = pool.bytes_allocated()
        found = read_predictions(tmp_path / "f.parquet", "binary", BY_SITE).groups
        assert (found.names, found.codes.sum(), len(found.codes)) == (["x" * 10**6], 0, rows)
        assert pool.bytes_allocated() - before < 2**26


def test_texts_that_all_differ_are_not_kept(tmp_path, monkeypatch):
    """...but refused after the first part: of csv and of parquet."""
    monkeypatch.setattr(groups, "_PART", 1001)
    monkeypatch.setattr(columns, "_CHUNK", 6006)
    names = [f"{'x' * 1000}{number}" for number in range(10_000)]
    for path in (write_names(tmp_path / f"f.{suffix}", names) for suffix in ("parquet", "csv")):
        said, peak = peak_of(path, "binary", BY_SITE)
        assert said.endswith("has more than 1000 different values; --groups takes at most so many")
        assert peak < 2**22 < sum(map(len, names))


def test_rows_and_texts_are_counted_before_they_are_made(tmp_path, monkeypatch):
    """...but a text that a dictionary has once counts once."""
    path = write(tmp_path / "f.parquet", arrow(["x" * 1000] * 1000))
    monkeypatch.setattr(columns, "_LIMIT", 40_000)
    assert len(read_predictions(path, "binary", BY_SITE)) == 1000
    monkeypatch.setattr(columns, "_LIMIT", 20_000)
    with pytest.raises(RunError, match="has 1000 rows in 3 columns, which is more than 20000 bytes"):
        read_predictions(path, "binary", BY_SITE)
    table = pytest.importorskip("pyarrow.parquet").read_table(path)
    write_parquet(path, table, compression="zstd", use_dictionary=False)
    monkeypatch.setattr(columns, "_LIMIT", 900_000)
    with pytest.raises(RunError, match="has 1000 rows in 3 columns, which is more than 900000 bytes"):
        read_predictions(path, "binary", BY_SITE)


def test_names_are_read_in_parts(tmp_path, monkeypatch):
    names = np.array(["b", "a", "", "c"])[np.arange(240) ** 2 % 7 % 4].tolist()
    monkeypatch.setattr(groups, "_PART", 11)
    monkeypatch.setattr(columns, "_CHUNK", 100)
    texts = [name or None for name in names]
    paths = [write_names(tmp_path / f"f.{suffix}", names) for suffix in ("npz", "csv", "parquet")]
    for path in (*paths, write(tmp_path / "g.parquet", arrow(texts, encoded=True))):
        found = read_predictions(path, "binary", BY_SITE).groups
        assert [None if code < 0 else found.names[code] for code in found.codes] == texts


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_damaged_files_are_read_or_refused(suffix, tmp_path, rng):
    path = write_names(tmp_path / f"f.{suffix}", SITES[:60].tolist())
    read_damaged(path, path.read_bytes(), rng, "binary", BY_SITE)
