"""Names of classes: labels that are names, and tables and diagrams that show them."""

from __future__ import annotations

import re

import jax
import numpy as np
import pandas as pd
import pytest

from mixjax.calibration import top_label_ece
from mixjax.cli import main
from mixjax.report import columns, of_arrays
from mixjax.report.class_names import class_names, places_among
from mixjax.report.figures import classes_figure
from mixjax.report.reading import Names, Rules, read_predictions
from mixjax.runs import RunError
from tests.report.conftest import write_parquet

NAMES = ("dog", "cat", "bird $x$ in the hand")  # not in the order of letters
PROBS = np.array([[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4], [0.1, 0.7, 0.2]])
LABELS = np.array([0, 1, 2, 0])
TEXT = [NAMES[k] for k in LABELS]


@pytest.mark.parametrize(
    "labels",
    [TEXT, np.array(TEXT), pd.Series(TEXT), pd.Series(TEXT, dtype="category"), np.array(TEXT, object), LABELS],
    ids=["list", "text", "pandas", "categories", "objects", "numbers"],
)
def test_names_become_their_places_among_the_classes(labels):
    np.testing.assert_array_equal(places_among(NAMES, labels), LABELS)


def test_numbers_may_be_names():
    """As a scikit-learn model has them in `classes_`."""
    np.testing.assert_array_equal(places_among(class_names(np.array([3, 5, 7])), np.array([3, 5, 7, 3])), LABELS)


def test_masked_rows_may_have_any_label():
    assert places_among(NAMES, ["cat", None, "fish"], [True, False, False]).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("classes", "labels", "error", "message"),
    [
        (NAMES, ["dog", "fish"], ValueError, r"among dog, cat, bird \$x\$ in the hand, got 'fish' in row 1"),
        (NAMES, ["dog", None], ValueError, "got 'None' in row 1; where= leaves rows out"),
        (("dog", "dog", "cat"), ["dog"], ValueError, "classes must be different names, got dog, dog, cat"),
        (NAMES[:2], TEXT[:2], ValueError, r"classes must name the columns of the scores, got 2 for \(2, 3\)"),
        (set(NAMES), ["dog"], TypeError, "classes must be a list of names, in the order of the scores"),
        ("abc", ["a"], TypeError, "classes must be a list of names"),
        ([NAMES], ["dog"], TypeError, "classes must be a list of names"),
        (NAMES, [{}, {}], TypeError, "labels must be whole numbers, got object"),
        (NAMES, [{}, "dog"], ValueError, "got '{}' in row 0"),
        ((1, 2, 3), [1, 0], ValueError, "labels must be among 1, 2, 3, got '0' in row 1"),
    ],
)
def test_wrong_names(classes, labels, error, message):
    with pytest.raises(error, match=message):
        of_arrays(probs=PROBS[: len(labels)], labels=labels, classes=classes)


def test_two_models_and_a_mask_of_another_shape():
    probs, text, labels = np.tile(PROBS, (10, 1)), TEXT * 10, np.tile(LABELS, 10)
    pair = of_arrays(probs={"a": probs, "b": probs}, labels={"a": text, "b": labels}, classes=NAMES)
    assert pair.differences["ECE"].estimate == 0
    with pytest.raises(ValueError, match=r"where must have the shape of labels, \(4,\), got \(2,\)"):
        of_arrays(probs=PROBS, labels=TEXT, classes=NAMES, where=[True, False])


def write(path, names, labels):
    """PROBS, as columns of these names where a file has such, and labels."""
    frame = pd.DataFrame(PROBS, columns=[f"prob_{name}" for name in names]).assign(label=labels)
    if path.suffix == ".npz":
        np.savez(path, probs=PROBS, labels=labels)
    elif path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        write_parquet(path, frame)
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_may_have_the_names_of_classes_alone(kind, tmp_path):
    """As pandas.DataFrame(probs, columns=model.classes_) has them. Columns with the prefix are taken first."""
    path, save = tmp_path / f"f.{kind}", write_parquet if kind == "parquet" else lambda path, frame: frame.to_csv(path)
    frame = pd.DataFrame(PROBS[:, ::-1], columns=NAMES[::-1]).assign(label=TEXT)
    save(path, frame)
    found = read_predictions(path, "probs", Names(classes=NAMES))
    np.testing.assert_allclose(found.scores, PROBS)
    np.testing.assert_array_equal(found.labels, LABELS)
    save(path, frame.drop(columns="cat"))
    with pytest.raises(RunError, match="has no column 'cat'"):
        read_predictions(path, "probs", Names(classes=NAMES))
    save(path, frame.assign(**{f"prob_{name}": 1 / 3 for name in NAMES}, dog="yes"))
    assert np.unique(read_predictions(path, "probs", Names(classes=NAMES)).scores).size == 1


@pytest.mark.parametrize("kind", ["npz", "csv", "parquet"])
def test_whole_numbers_may_be_names_in_any_file(kind, tmp_path):
    """Columns by name and labels by place would exchange the classes without a word."""
    path = write(tmp_path / f"f.{kind}", "210", np.array([2, 1, 0, 2]))
    found = read_predictions(path, "probs", Names(classes=("2", "1", "0")))
    np.testing.assert_array_equal(found.labels, [0, 1, 2, 0])
    np.testing.assert_allclose(found.scores, PROBS)


@pytest.mark.parametrize("dtype", [str, int, float])
@pytest.mark.parametrize("kind", ["npz", "csv", "parquet"])
def test_numbers_are_names_or_places_but_not_both(kind, dtype, tmp_path, monkeypatch):
    """Names from 1 beside labels from 0, the first of which are no names; in a csv file of several chunks too."""
    monkeypatch.setattr(columns, "_CHUNK", 4)
    path = write(tmp_path / f"f.{kind}", "123", np.array([0, 0, 1, 2]).astype(dtype))
    with pytest.raises(RunError, match=r"is '0(\.0)?' in (row 0|line 2), which is not one of --classes"):
        read_predictions(path, "probs", Names(classes=("1", "2", "3")))
    write(path, "123", np.array([1, 1, 2, 3]).astype(dtype))
    found = read_predictions(path, "probs", Names(classes=("1", "2", "3")))
    np.testing.assert_array_equal(found.labels, [0, 0, 1, 2])


TRUTH = np.array([True, False, False, True])
SAME_IN_ANY_FILE = {  # labels, classes, places
    "truth values": (TRUTH, ("True", "False"), [0, 1, 1, 0]),
    "truth values in lower case": (TRUTH, ("true", "false"), [0, 1, 1, 0]),
    "truth values for 1 and 0": (TRUTH, ("1", "0"), [0, 1, 1, 0]),
    "1 and 0 for truth values": (TRUTH.astype(int), ("True", "False"), [0, 1, 1, 0]),
    "truth values as places": (TRUTH, ("no", "yes"), [1, 0, 0, 1]),
    "truth values as places beside true": (np.array([0, 1, 2, 1]), ("true", "false", "mixed"), [0, 1, 2, 1]),
    "places beside a name that is true": (np.array([0, 1, 2, 1]), ("pants-fire", "false", "true"), [0, 1, 2, 1]),
    "truth values beside 1 and others": (TRUTH, ("2", "1", "0"), [1, 2, 2, 1]),
    "names with a point": (TRUTH.astype(float), ("1.0", "0.0"), [0, 1, 1, 0]),
    "numbers below 0": (2.0 * TRUTH - 1, ("1", "-1"), [0, 1, 1, 0]),
    "fractions": (TRUTH + 0.5, ("1.5", "0.5"), [0, 1, 1, 0]),
    "fractions of 32 bits": ((TRUTH + 0.1).astype(np.float32), ("1.1", "0.1"), [0, 1, 1, 0]),
}


@pytest.mark.parametrize("kind", ["npz", "csv", "parquet", "arrays"])
@pytest.mark.parametrize(("labels", "classes", "places"), SAME_IN_ANY_FILE.values(), ids=SAME_IN_ANY_FILE)
def test_labels_are_the_same_in_any_file(kind, labels, classes, places, tmp_path):
    probs, path = np.full((4, len(classes)), 1 / len(classes)), tmp_path / f"f.{kind}"
    frame = pd.DataFrame(probs, columns=[f"prob_{name}" for name in classes]).assign(label=labels)
    if kind == "arrays":
        assert np.array_equal(places_among(class_names(classes), labels), places)
        return
    if kind == "npz":
        np.savez(path, probs=probs, labels=labels)
    elif kind == "csv":
        frame.to_csv(path, index=False)
    else:
        write_parquet(path, frame)
    assert read_predictions(path, "probs", Names(classes=classes)).labels.tolist() == places


@pytest.mark.parametrize("classes", [np.float32([2, 1, 0]), jax.numpy.array([2.0, 1.0, 0.0]), [2, 1.0, np.int8(0)]])
def test_classes_may_be_numbers_of_any_dtype(classes):
    assert class_names(classes) == ("2", "1", "0")
    assert places_among(class_names(classes), np.array([0, 1, 2, 2])).tolist() == [2, 1, 0, 0]


def test_names_that_are_written_in_two_ways_are_refused():
    for classes, pair in ((["1", "2", "1.0"], "1, 1.0"), ([True, "true"], "True, true")):
        with pytest.raises(ValueError, match=f"classes must be different names, and {pair} are the same"):
            class_names(classes)


def test_a_class_may_be_called_none(tmp_path):
    (tmp_path / "f.csv").write_text("prob_None,prob_cat,label\n.5,.5,None\n.5,.5,None\n")
    assert read_predictions(tmp_path / "f.csv", "probs", Names(classes=("None", "cat"))).labels.tolist() == [0, 0]
    assert places_among(("None", "cat"), np.array([b"cat", b"None"])).tolist() == [1, 0]


@pytest.mark.parametrize(("labels", "name"), [([1.0, np.nan, 2.0], "nan"), (["1", None, "2"], "None")])
def test_a_missing_label_has_no_name(labels, name):
    with pytest.raises(ValueError, match=rf"labels must be among 1, 2, {name}, got '{name}' in row 1"):
        places_among(("1", "2", name), labels)


def test_a_number_below_0_beside_an_empty_cell(tmp_path):
    (tmp_path / "f.csv").write_text("prob_-1,prob_1,label\n.5,.5,-1.0\n.5,.5,\n.5,.5,1.0\n")
    found = read_predictions(tmp_path / "f.csv", "probs", Names(classes=("-1", "1")))
    assert found.labels.tolist() == [0, 0, 1] and found.missing.tolist() == [False, True, False]


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("kind", ["npz", "csv", "parquet"])
def test_places_stay_places_beside_names_in_any_file(kind, text, tmp_path):
    """As numbers and as text; a number that is no place and no name is refused."""
    labels = LABELS.astype(str) if text else LABELS
    path = write(tmp_path / f"f.{kind}", NAMES, labels)
    np.testing.assert_array_equal(read_predictions(path, "probs", Names(classes=NAMES)).labels, LABELS)
    write(path, NAMES, np.where(LABELS == 2, "3", labels) if text else np.where(LABELS == 2, 3, LABELS))
    with pytest.raises(RunError, match=r"label.* must be in \[0, 3\)"):
        read_predictions(path, "probs", Names(classes=NAMES))


@pytest.mark.parametrize(("kind", "names"), [("npz", "210"), ("csv", "210"), ("parquet", "210"), ("csv", NAMES)])
def test_an_ignored_label_is_no_class(kind, names, tmp_path):
    path = write(tmp_path / f"f.{kind}", names, [*(int(name) if name.isdigit() else name for name in names), -100])
    found = read_predictions(path, "probs", Names(classes=tuple(names)), Rules(ignored_label=-100))
    np.testing.assert_array_equal(found.labels, [0, 1, 2])


def test_a_column_of_no_named_class_is_refused(tmp_path):
    frame = pd.DataFrame(PROBS, columns=["logit_cat", "logit_dog", "logit_owl"]).assign(label="cat")
    frame.to_csv(tmp_path / "f.csv", index=False)
    with pytest.raises(RunError, match="column logit_owl is of none of --classes"):
        read_predictions(tmp_path / "f.csv", "logits", Names(classes=("cat", "dog")))


def test_a_null_is_missing_beside_an_empty_name_and_there_may_be_many_classes(tmp_path):
    names = ["", *(f"class {k}" for k in range(1, 1200))]
    table = pd.DataFrame(np.full((1200, 1200), 1 / 1200), columns=[f"prob_{name}" for name in names])
    write_parquet(tmp_path / "f.parquet", table.assign(label=[None, *names[1:]]))
    found = read_predictions(tmp_path / "f.parquet", "probs", Names(classes=tuple(names)))
    assert np.flatnonzero(found.missing).tolist() == [0]
    assert found.labels[1:].tolist() == list(range(1, 1200))


def test_names_are_no_markup(capsys):
    of_arrays(probs=PROBS, labels=LABELS, classes=["[/b]", "[red]x", ":smile:"]).print()
    shown = capsys.readouterr().out
    assert "[/b]" in shown and "[red]x" in shown and ":smile:" in shown


@pytest.mark.medium
def test_tables_and_diagrams_show_the_names(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    report = of_arrays(probs=PROBS, labels=pd.Series(TEXT), classes=NAMES)
    report.print()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[-4:-1]] == ["dog", "cat", "bird"]
    assert max(map(len, lines)) <= 80
    with jax.enable_x64(True):
        figure, _ = classes_figure(report.reports[0])
    assert figure.axes[2].get_title().startswith("bird $x$ in t...: ECE")


def test_text_without_its_classes_says_what_to_do():
    for labels in (TEXT, pd.Series(TEXT, dtype="category")):
        with pytest.raises(TypeError, match=r"names need their places among the scores: pandas\.Categorical\(labels"):
            top_label_ece(PROBS, labels)


@pytest.mark.medium
@pytest.mark.parametrize("kind", ["npz", "csv", "parquet"])
def test_a_file_with_names_of_classes(kind, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    path = write(tmp_path / f"f.{kind}", NAMES, np.array(TEXT))
    command = ["report", str(path), "--probs", "--out", str(tmp_path / "out")]
    assert main([*command, "--classes", ",".join(NAMES)]) == 0
    assert re.search(r"\n +bird \$x\$ in the hand", capsys.readouterr().out)
    assert "bird $x$ in the hand" in (tmp_path / "out" / "report.html").read_text()
    for wrong in ("dog,cat,fish", "dog,cat", "dog,dog,cat"):
        assert main([*command, "--classes", wrong]) == 2
    assert main(command) == 2
