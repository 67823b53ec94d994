"""Groups of rows from a column of a file: their names, their numbers, and columns that are none or made to harm."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

from mixjax.calibration import group_intervals
from mixjax.cli import main
from mixjax.report import of_arrays
from mixjax.report.comparison import check_pair
from mixjax.report.metrics import report_on
from mixjax.report.reading import Names, Rules, read_predictions, without_missing
from mixjax.runs import RunError
from tests.calibration.exact import binned_error
from tests.report.conftest import SETTINGS, draw, softmax, table_of, write_csv, write_parquet
from tests.report.test_cli import checked_page

LOGITS, LABELS = draw(1, 2.0)
PROBS = softmax(LOGITS.astype(np.float64))
CONFIDENCE, RIGHT = PROBS.max(axis=1), PROBS.argmax(axis=1) == LABELS
SITES = np.array(["north", "south", "west"])[np.arange(240) % 7 % 3]
BY_SITE = Names(groups="site")
OPTIONS = ["--num-bins", "6", "--level", "0.9", "--seed", "5"]


def write(path, column, rows=None):
    """Four rows, or so many, of predictions with a column `site`: an array of npz or Arrow, or cells of text."""
    rows = len(column) if rows is None else rows
    confidence, correct = np.full(rows, 0.75), np.arange(rows) % 2
    probs = np.stack([1 - confidence, confidence], axis=1)
    if path.suffix == ".npz":
        np.savez(path, confidence=confidence, correct=correct, probs=probs, labels=correct, site=column)
    elif path.suffix == ".csv":
        cells = (f'0.75,{label},0.25,0.75,{label},"{cell}"' for label, cell in zip(correct, column, strict=True))
        path.write_text("\n".join(["confidence,correct,prob_0,prob_1,label,site", *cells]) + "\n")
    else:
        table = {"confidence": confidence, "correct": correct, **table_of("prob_", probs, correct), "site": column}
        write_parquet(path, table, compression="zstd", row_group_size=max(2, rows // 2))
    return path


def arrow(values, kind=None, encoded=False):
    """An array of a type of Arrow, which is a text."""
    array = pytest.importorskip("pyarrow").array(values, kind)
    return array.dictionary_encode() if encoded else array


def write_names(path, names):
    """Predictions of as many rows whose column `site` is text, "" for a row without a group."""
    if path.suffix == ".parquet":
        return write(path, arrow([name or None for name in names]))
    return write(path, np.array(names) if path.suffix == ".npz" else names)


HERE = {  # the file, the column, and the group of each row, None for a missing one
    "names": ("f.csv", ["b", "a", "c, d", "b"], ["b", "a", "c, d", "b"]),
    "empty cells": ("f.csv", ["b", "", "NA", "b"], ["b", None, None, "b"]),
    "numbers": ("f.csv", ["10", "2", "-3", "10"], [10, 2, -3, 10]),
    "numbers as pandas writes them beside an empty cell": ("f.csv", ["10.0", "", "2.0", "2"], [10, None, 2, 2]),
    "digits that are names": ("f.csv", ["007", "7", "10", "007"], ["007", "7", "10", "007"]),
    "numbers and names": ("f.csv", ["10", "2", "b", "1.5"], ["10", "2", "b", "1.5"]),
    "a number of 30 digits": ("f.csv", ["9" * 30, "1", "1", "1"], ["9" * 30, "1", "1", "1"]),
    "other digits": ("f.csv", ["1", "\u0661", "1", "1"], ["1", "\u0661", "1", "1"]),
    "truth values as text": ("f.csv", ["True", "False", "True", "NaN"], ["True", "False", "True", None]),
    "an array of names": ("f.npz", np.array(["b", "a", "", "10"]), ["b", "a", None, "10"]),
    "an array of digits": ("f.npz", np.array(["10", "2", "10", "2"]), ["10", "2", "10", "2"]),
    "an array of numbers": ("f.npz", np.array([10, 2, 2, 10], ">u2"), [10, 2, 2, 10]),
    "numbers of 64 bits": ("f.npz", np.array([2**64 - 1, 2, 2, 1], np.uint64), [2**64 - 1, 2, 2, 1]),
    "an array of truth values": ("f.npz", np.array([True, False, True, True]), [True, False, True, True]),
    "whole floats": ("f.npz", np.array([10, np.nan, 2, 2]), [10, None, 2, 2]),
    "text": ("f.parquet", lambda: arrow(["b", None, "NA", "b"]), ["b", None, "NA", "b"]),
    "large text": ("f.parquet", lambda: arrow(["b", None, "", "b"], "large_string"), ["b", None, "", "b"]),
    "a dictionary": ("f.parquet", lambda: arrow(["b", "a", None, "b"], encoded=True), ["b", "a", None, "b"]),
    "a dictionary of large text": (
        "f.parquet", lambda: arrow(["b", "a", None, "b"], "large_string", encoded=True), ["b", "a", None, "b"],
    ),
    "a dictionary of numbers": ("f.parquet", lambda: arrow([10, 2, None, 10], encoded=True), [10, 2, None, 10]),
    "integers": ("f.parquet", lambda: arrow([10, 2, None, 10], "int8"), [10, 2, None, 10]),
    "booleans": ("f.parquet", lambda: arrow([True, None, False, True]), [True, None, False, True]),
    "floats of pandas": ("f.parquet", lambda: arrow([10.0, float("nan"), None, 2.0]), [10, None, None, 2]),
}  # fmt: skip


@pytest.mark.parametrize("case", HERE)
def test_what_names_a_group(case, tmp_path):
    name, column, right = HERE[case]
    file = read_predictions(write(tmp_path / name, column() if callable(column) else column), "binary", BY_SITE)
    found = file.groups
    assert [None if code < 0 else found.names[code] for code in found.codes] == right
    assert found.names == sorted({name for name in right if name is not None})
    assert [type(name) for name in found.names] == [type(right[list(found.codes).index(k)])
                                                    for k in range(len(found.names))]  # fmt: skip
    assert file.missing.tolist() == [name is None for name in right]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Predictions in every kind of file, with names of groups."""
    table = table_of("prob_", PROBS, LABELS) | {"site": SITES}
    write_csv(tmp_path / "f.csv", table)
    write_parquet(tmp_path / "f.parquet", table)
    np.savez(tmp_path / "f.npz", probs=PROBS, labels=LABELS, site=SITES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


@pytest.mark.medium
@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_the_command_prints_the_numbers_of_each_group(folder, capsys, suffix):
    """...in the terminal and on the page: rows, shares and Clopper and Pearson's ends are those of the rows here."""
    assert main(["report", f"f.{suffix}", "--probs", "--groups", "site", *OPTIONS]) == 0
    out = capsys.readouterr().out
    text = checked_page(folder / "f_report" / "report.html")
    assert f"mixjax report f.{suffix} --probs --groups site --num-bins 6" in text
    for name in ("north", "south", "west"):
        line = next(line for line in out.splitlines() if line.strip().startswith(name))
        words = line.replace("\N{MINUS SIGN}", "-").replace("[", "").replace("]", "").replace(",", "").split()
        assert " ".join(line.split()) in text
        rows = name == SITES
        hits = int(RIGHT[rows].sum())
        ends = stats.beta.ppf([0.05, 0.95], [hits, hits + 1], [rows.sum() - hits + 1, rows.sum() - hits])
        shown = np.array([float(word) for word in words[1:]])
        np.testing.assert_allclose(shown[0], rows.sum())
        np.testing.assert_allclose(shown[1:4], [RIGHT[rows].mean(), *ends], atol=6e-4)
        np.testing.assert_allclose(shown[4], binned_error(CONFIDENCE[rows], RIGHT[rows], num_bins=6), atol=6e-4)
        np.testing.assert_allclose(shown[7], CONFIDENCE[rows].mean() - RIGHT[rows].mean(), atol=6e-4)


@pytest.mark.medium
def test_intervals_are_those_of_the_function(folder):
    """...of the rows that count, with the names themselves; and of arrays."""
    with jax.enable_x64(True):
        np.savez(folder / "g.npz", probs=PROBS, labels=LABELS, site=np.where(np.arange(240) < 9, "", SITES))
        (file,) = without_missing([read_predictions(folder / "g.npz", "probs", BY_SITE)], drop=True)
        found = report_on(file, SETTINGS).groups
        key = jax.random.fold_in(SETTINGS.keys()[2], 3)
        options = SETTINGS.bootstrap | {"where": np.arange(240) >= 9}
        alone = group_intervals(key, CONFIDENCE, RIGHT, SITES, **options)
    assert file.dropped == 9 and list(found) == list(alone) == ["north", "south", "west"]
    for name, intervals in alone.items():
        np.testing.assert_allclose(np.array(found[name][1:]), np.array(intervals[1:]), atol=1e-12)
    settings = {"num_bins": 6, "level": 0.9, "seed": 5, "groups": SITES, "where": np.arange(240) >= 9}
    assert of_arrays(probs=PROBS, labels=LABELS, **settings).groups == {"model": found}


@pytest.mark.medium
def test_two_models_have_the_same_groups(folder, capsys):
    """...in files of different kinds; rows without a group in one are left out of both."""
    sites = np.where(np.arange(240) == 3, "", SITES)
    np.savez(folder / "g.npz", probs=PROBS[:, ::-1], labels=LABELS, site=sites)
    arguments = ["--compare", "f.csv", "g.npz", "--probs", "--groups", "site", *OPTIONS]
    assert main(["report", *arguments]) == 2
    error = capsys.readouterr().err
    assert "g.npz: 1 of 240 rows holds NaN or an empty cell, the first is row 3 in column site; --drop-nan" in error
    assert main(["report", *arguments, "--drop-nan"]) == 0
    out = capsys.readouterr().out
    assert "A: f, groups" in out and "B: g, groups" in out
    rows = str((SITES[sites != ""] == "north").sum())
    assert [line.split()[1] for line in out.splitlines() if line.strip().startswith("north")] == [rows] * 3
    assert "B \N{MINUS SIGN} A, groups, paired" in out
    assert checked_page(folder / "f_and_g_report" / "report.html").count("Group by group") == 3
    sites = SITES.astype("U120")
    sites[7] = "an \x1b[2J" + "x" * 99
    np.savez(folder / "g.npz", probs=PROBS, labels=LABELS, site=sites)
    assert main(["report", *arguments]) == 2
    said = capsys.readouterr().err
    shown = r"an \x1b[2J" + "x" * 30 + "..."
    assert f"f.csv and g.npz have different groups in 1 rows (first {SITES[7]} and {shown}, line 9)" in said


def test_numbers_are_the_same_as_text_and_as_numbers(tmp_path):
    first = read_predictions(write(tmp_path / "a.csv", ["10", "2", "", "2"]), "binary", BY_SITE)
    second = read_predictions(write(tmp_path / "b.npz", np.array(["10", "2", "x", ""])), "binary", BY_SITE)
    check_pair(first, second)
    check_pair(second, first)
    other = read_predictions(write(tmp_path / "c.npz", np.array([10, 3, 2, 2])), "binary", BY_SITE)
    for pair in ((first, other), (other, first)):
        assert pair[0].groups.differ(pair[1].groups).tolist() == [False, True, False, False]


@pytest.mark.medium
def test_before_and_after_a_fit(folder, capsys):
    """The held-out file needs no groups."""
    np.savez(folder / "all.npz", confidence=CONFIDENCE, correct=RIGHT, site=np.arange(240) % 2)
    np.savez(folder / "held.npz", confidence=CONFIDENCE, correct=RIGHT)
    fit = ["--recalibrate", "isotonic", "--fit", "held.npz"]
    assert main(["report", "all.npz", "--binary", "--groups", "site", *fit, *OPTIONS]) == 0
    out = capsys.readouterr().out
    assert "A: before, groups" in out and "B: after, groups" in out
    assert [line.split()[1] for line in out.splitlines() if line.split()[:1] in (["0"], ["1"])] == ["120"] * 6


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_ignored_rows_need_no_group_and_labels_may_be_groups(suffix, tmp_path):
    path = write_names(tmp_path / f"f.{suffix}", ["", "b", "a", "b"])
    found = read_predictions(path, "probs", BY_SITE, Rules(ignored_label=0))
    assert found.groups.names == ["a", "b"] and found.groups.codes.tolist() == [1, 1]
    assert not found.missing.any()
    by_label = read_predictions(path, "probs", Names(groups="labels" if suffix == "npz" else "label"))
    assert by_label.groups.names == [0, 1] and by_label.groups.codes.tolist() == by_label.labels.tolist()


def test_rows_without_a_group_are_not_checked(tmp_path):
    """...as other rows with an empty cell are not."""
    (tmp_path / "f.csv").write_text("confidence,correct,site\n0.5,1,a\n7,3,\n0.25,0,b\n")
    file = read_predictions(tmp_path / "f.csv", "binary", BY_SITE)
    with pytest.raises(RunError, match=r"f\.csv: 1 of 3 rows holds NaN or an empty cell, .* line 3 in column site"):
        without_missing([file], drop=False)
    (kept,) = without_missing([file], drop=True)
    assert (kept.groups.codes.tolist(), kept.dropped, kept.groups.missing.any()) == ([0, 1], 1, False)


def test_semicolons(tmp_path):
    """Names keep their commas; numbers may have decimal ones."""
    for cells, names in ((["Smith, J", "b"], ["Smith, J", "b"]), (["10,0", "2"], [2, 10])):
        (tmp_path / "f.csv").write_text("confidence;correct;site\n" + "".join(f"0,5;1;{cell}\n" for cell in cells))
        assert read_predictions(tmp_path / "f.csv", "binary", BY_SITE).groups.names == names


WRONG = {  # the file, the column, and what the sentence holds
    "fractions": ("f.csv", ["1", "2", "0.5", "1"], "site must be names or whole numbers, got 0.5 in line 4"),
    "infinity": ("f.csv", ["1", "2", "-inf", "1"], "site must be names or whole numbers, got -inf in line 4"),
    "floats": ("f.npz", np.array([1, np.nan, 0.25, 1]), "site must be names or whole numbers, got 0.25 in row 2"),
    "large floats": ("f.npz", np.array([1, 1, 1, 1e300]), "site must be names or whole numbers, got 1e+300 in row 3"),
    "floats of parquet": ("f.parquet", lambda: arrow([1.0, 0.25]), "names or whole numbers, got 0.25 in row 1"),
    "bytes": ("f.npz", np.array([b"a", b"b"]), "site must be names or whole numbers, got |S1"),
    "complex": ("f.npz", np.array([1j, 1]), "site must be names or whole numbers, got complex128"),
    "spans": ("f.npz", np.array([1, 2], "m8[s]"), "site must be names or whole numbers, got timedelta64[s]"),
    "objects": ("f.npz", np.array(["a", None], object), "site.npy is an array of Python objects, and pickles are not"),
    "two axes": ("f.npz", np.array([["a"], ["b"]]), "site must have shape [N], got (2, 1)"),
    "another length": ("f.npz", np.array(["a", "b", "c"]), "site has 3 rows and the predictions have 2"),
    "no characters": ("f.npz", np.full(2, 2**32 - 1, np.uint32).view("U1"), "is damaged, or is not an npz file"),
    "lists": ("f.parquet", lambda: arrow([["a"], ["b"]]), "names or whole numbers, got list<"),
    "records": ("f.parquet", lambda: arrow([{"a": 1}, {"a": 2}]), "names or whole numbers, got struct<a: int64>"),
    "bytes of parquet": ("f.parquet", lambda: arrow([b"a", b"b"]), "names or whole numbers, got binary"),
    "times": ("f.parquet", lambda: arrow([0, 1], "date32"), "names or whole numbers, got date32"),
    "nothing": ("f.parquet", lambda: arrow([None, None]), "names or whole numbers, got null"),
    "a dictionary of floats": ("f.parquet", lambda: arrow([0.5, 1.0], encoded=True), "whole numbers, got 0.5 in row 0"),
    "1001 numbers": ("f.npz", np.arange(1001), "site has more than 1000 different values"),
    "1001 cells": ("f.csv", [f"a{number}" for number in range(1001)], "site has more than 1000 different values"),
    "1001 names": ("f.npz", np.arange(1001).astype(str), "site has more than 1000 different values"),
    "1001 texts": ("f.parquet", lambda: arrow([f"a{k}" for k in range(1001)]), "has more than 1000 different values"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_columns_are_one_sentence(case, tmp_path):
    name, column, message = WRONG[case]
    column = column() if callable(column) else column
    path = write(tmp_path / name, column, 2 if case == "another length" else None)
    with pytest.raises(RunError) as error:
        read_predictions(path, "binary", BY_SITE)
    assert message in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_a_thousand_groups_and_a_column_that_is_not_there(suffix, tmp_path):
    names = [f"a{number:04d}" for number in range(1000)]
    path = write_names(tmp_path / f"f.{suffix}", names)
    assert read_predictions(path, "binary", BY_SITE).groups.names == names
    there = "array" if suffix == "npz" else "column"
    with pytest.raises(RunError, match=f"has no {there} 'place'; it has confidence, .*, site"):
        read_predictions(path, "binary", Names(groups="place"))
