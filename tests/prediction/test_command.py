"""The command: from a file to the answer, a table, a figure, a csv file and one page that needs nothing else."""

from __future__ import annotations

import csv
import re
import shutil

import numpy as np
import pytest

from mixjax.cli import main
from mixjax.prediction.features import read_features
from mixjax.prediction.table import Numbers, predict_pair
from tests.prediction.conftest import PENALTIES, SETTINGS
from tests.report.test_cli import assert_refused, checked_page

SAME = ["--n", "60", "--penalties", "0.0001,0.01,1", "--alphas", "1", "--smoothings", "0.1"]  # as `SETTINGS`
BAD = {
    "no file": (["--n", "60"], "the following arguments are required: FILE"),
    "no n": (["two.npz"], "the following arguments are required: --n"),
    "missing file": (["nothing.npz", "--n", "60"], "there is no file nothing.npz"),
    "n": (["two.npz", "--n", "1"], "--n must be at least 2, a row of each class, got 1"),
    "n is not whole": (["two.npz", "--n", "2.5"], "--n: must be a whole number, got '2.5'"),
    "check of all rows": (["two.npz", "--n", "200", "--check"], "--check fits 200 rows and scores the others"),
    "check of few rows": (["two.npz", "--n", "171", "--check"], "scores the others, at least 30, and two.npz has 200"),
    "no subset": (["two.npz", "--n", "60", "--check", "0"], "--check must be 2 subsets or more, got 0; leave it out"),
    "no solution": (["two.npz", "--n", "60", "--penalties", "1e30"], "was not found numerically with any penalty"),
    "penalty": (["two.npz", "--n", "60", "--penalties", "0,1"], "must be positive, got 0: without one there is no fit"),
    "penalties": (["two.npz", "--n", "60", "--penalties", "1;2"], "must be numbers separated by commas, got"),
    "smoothing": (["two.npz", "--n", "60", "--smoothings", "1"], "--smoothings must be in [0, 1), got 1"),
    "pair": (["rows.csv", "--n", "60", "--pair", "2,3"], "rows.csv has no class 3; it has 2, 5, 7"),
    "half a pair": (["two.npz", "--n", "60", "--pair", "2"], "must be two labels separated by a comma, got '2'"),
    "the same twice": (["two.npz", "--n", "60", "--pair", "2,2"], "must be two different labels, got '2,2'"),
    "one class": (["one.npz", "--n", "60"], "all labels are 2; a prediction needs two classes"),
    "constant": (["flat.npz", "--n", "60"], "every feature is constant within the classes 2 and 5"),
    "NaN": (["nan.npz", "--n", "60"], "nan.npz: 1 of 200 rows holds NaN or an empty cell, the first is row 7"),
    "no such place": (["two.npz", *SAME, "--out", "/proc/nowhere/p"], "cannot write to"),
}  # fmt: skip


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    """The folder that the command runs in."""
    for name in ("rows.npz", "rows.csv", "two.npz"):
        shutil.copy(folder / name, tmp_path / name)
    with np.load(folder / "two.npz") as arrays:
        x, labels = arrays["features"], arrays["labels"]
    np.savez(tmp_path / "one.npz", features=x, labels=np.full(200, 2))
    np.savez(tmp_path / "flat.npz", features=np.tile(labels[:, None], 3), labels=labels)
    x[7, 0] = np.nan
    np.savez(tmp_path / "nan.npz", features=x, labels=labels)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.medium
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence_and_status_2(case, here, capsys):
    arguments, message = BAD[case]
    assert_refused(["predict", *arguments], message, here, capsys)


@pytest.mark.medium
def test_two_classes(here, capsys):
    assert main(["predict", "two.npz", *SAME, "--check", "2", "--seed", "4"]) == 0
    out, error = capsys.readouterr()
    assert error == ""
    assert max(map(len, out.splitlines())) <= 80 and "…" not in out
    said = " ".join(out.split())
    assert said.startswith(
        "Predicted for a logistic fit to 60 rows of classes 2 and 5 (200 rows in the file), 8 features: Mixup"
    )
    assert "Best by NLL: " in said and "Best by ECE: " in said and "measured change" in said
    place = here / "two_prediction"
    files = {"prediction.html", "prediction.csv", "prediction_2_5.png", "prediction_2_5.svg"}
    assert {path.name for path in place.iterdir()} == files
    text = checked_page(place / "prediction.html")
    command = "mixjax predict two.npz --n 60 --penalties 0.0001,0.01,1 --alphas 1 --smoothings 0.1 --check 2 --seed 4"
    assert command in text
    assert str(here) not in (place / "prediction.html").read_text()
    for sentence in re.findall(r"(Best by ECE: .*?\)\.)", said):
        assert sentence in text
    first = {path.name: path.read_bytes() for path in place.iterdir()}
    assert main(["predict", "two.npz", *SAME, "--check", "2", "--seed", "4"]) == 0
    assert {path.name: path.read_bytes() for path in place.iterdir()} == first


@pytest.mark.medium
def test_each_pair_of_three_classes(here, capsys):
    assert main(["predict", "rows.csv", *SAME, "--out", "pairs"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80 and "…" not in out
    assert all(f" {pair} " in out for pair in ("2, 5", "2, 7", "5, 7"))
    assert "of 3 pairs" in " ".join(out.split())
    text = checked_page(here / "pairs" / "prediction.html")
    assert "Classes 2 and 7, 200 rows" in text
    with open(here / "pairs" / "prediction.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 3 * 3 * 3
    features = read_features(here / "rows.csv", None, None, False)
    for pair in ((2, 5), (2, 7)):
        numbers = predict_pair(features, pair, SETTINGS, PENALTIES).numbers
        mine = [line for line in lines if (line["first"], line["second"]) == tuple(map(str, pair))]
        for name in Numbers._fields:
            found = [float(line[name]) for line in mine]
            np.testing.assert_allclose(found, getattr(numbers, name).ravel(), rtol=1e-5)


@pytest.mark.medium
def test_labels_of_either_sign(here, capsys):
    """The command that the page names can be given again."""
    with np.load(here / "two.npz") as arrays:
        np.savez(here / "signs.npz", x=arrays["features"], labels=np.where(arrays["labels"] == 2, -1, 1))
    assert main(["predict", "signs.npz", *SAME, "--features-name", "x", "--pair=-1,1"]) == 0
    assert "60 rows of classes -1 and 1 (200 rows in the file)" in " ".join(capsys.readouterr().out.split())
    text = checked_page(here / "signs_prediction" / "prediction.html")
    assert "mixjax predict signs.npz --n 60 --pair=-1,1 --penalties 0.0001,0.01,1" in text


@pytest.mark.medium
def test_one_pair_of_three_classes(here, capsys):
    assert main(["predict", "rows.npz", *SAME, "--pair", "7,2"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "60 rows of classes 7 and 2 (200 rows in the file)" in said
    assert (here / "rows_prediction" / "prediction_7_2.png").exists()
