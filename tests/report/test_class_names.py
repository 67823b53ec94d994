"""Names of classes: labels that are names, and tables and diagrams that show them."""

from __future__ import annotations

import jax
import numpy as np
import pandas as pd
import pytest

from mixjax.calibration import top_label_ece
from mixjax.cli import main
from mixjax.report import of_arrays
from mixjax.report.class_names import places_among
from mixjax.report.figures import classes_figure

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
    np.testing.assert_array_equal(places_among(NAMES, labels, None), LABELS)


def test_numbers_may_be_names():
    """As a scikit-learn model has them in `classes_`."""
    np.testing.assert_array_equal(places_among((3, 5, 7), np.array([3, 5, 7, 3]), None), LABELS)


def test_masked_rows_may_have_any_label():
    assert places_among(NAMES, ["cat", None, "fish"], [True, False, False]).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("classes", "labels", "message"),
    [
        (
            NAMES,
            ["dog", "fish"],
            r"among the classes dog, cat, bird \$x\$ in the hand, got fish in row 1",
        ),
        (NAMES, ["dog", None], "got None in row 1"),
        (("dog", "dog", "cat"), ["dog"], "classes must be different names, got dog, dog, cat"),
        (NAMES[:2], TEXT[:2], r"classes must name the columns of the scores, got 2 for \(2, 3\)"),
    ],
)
def test_wrong_names(classes, labels, message):
    with pytest.raises(ValueError, match=message):
        of_arrays(probs=PROBS[: len(labels)], labels=labels, classes=classes)


@pytest.mark.medium
def test_tables_and_diagrams_show_the_names(capsys):
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
def test_a_file_with_names_of_classes(kind, tmp_path, capsys):
    path = tmp_path / f"f.{kind}"
    frame = pd.DataFrame(PROBS, columns=[f"prob_{name}" for name in NAMES]).assign(label=TEXT)
    if kind == "npz":
        np.savez(path, probs=PROBS, labels=np.array(TEXT))
    elif kind == "csv":
        frame.to_csv(path, index=False)
    else:
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    command = ["report", str(path), "--probs", "--out", str(tmp_path / "out")]
    assert main([*command, "--classes", ",".join(NAMES)]) == 0
    assert "\n  bird $x..." in capsys.readouterr().out
    assert "bird $x$ in the hand" in (tmp_path / "out" / "report.html").read_text()
    for wrong in ("dog,cat,fish", "dog,cat", "dog,dog,cat"):
        assert main([*command, "--classes", wrong]) == 2
    assert main(command) == 2
