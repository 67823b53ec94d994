"""The tables of the terminal: whole where it is narrow, on one line where they are piped."""

from __future__ import annotations

import dataclasses
import re

import pytest

from mixjax.report.comparison import compare
from mixjax.report.metrics import report_on
from mixjax.report.numbers import ends, estimate, row_count, with_interval
from mixjax.report.reading import read_predictions
from mixjax.report.terminal import class_cells, print_comparison, print_report
from tests.report.conftest import SETTINGS

NAMES = ("category_of_animals_cat", "category_of_animals_dog", "category_of_animals_bird")


@pytest.mark.parametrize("width", ["80", None])
def test_no_cell_is_cut(width, plain, monkeypatch, capsys):
    """Seven digits of rows, and six of each number, which are more than 80 columns."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if width:
        monkeypatch.setenv("COLUMNS", width)
    small = plain.classes[0].ece._replace(standard_error=1e-6, low=0.123456, high=0.654321)
    classes = tuple(each._replace(rows=1_003_123, ece=small) for each in plain.classes)
    report = dataclasses.replace(plain, classes=classes)
    print_report(report)
    table = re.split("classes *\n", capsys.readouterr().out)[-1]
    assert "\N{HORIZONTAL ELLIPSIS}" not in table
    for cell in class_cells(report, 0)[:-1]:
        for word in cell.split():
            assert word in table
    if width is None:
        assert len(table.strip().splitlines()) == 2 + len(classes)  # heading, rule, rows


@pytest.mark.parametrize(("width", "wide"), [("80", False), ("130", True), (None, True)])
def test_a_comparison_has_the_models_own_intervals_where_they_have_room(width, wide, files, plain, monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    if width:
        monkeypatch.setenv("COLUMNS", width)
    other = report_on(read_predictions(files / "other.npz", "logits"), SETTINGS)
    print_comparison(compare(plain, other), ["A: plain", "B: other"])
    lines = capsys.readouterr().out.splitlines()
    for metric in (*plain.metrics, *other.metrics):
        (line,) = (line for line in lines if line.startswith(f"  {metric.name}  "))
        assert estimate(metric.interval) in line
        assert (with_interval(metric.interval) in line) == (wide or not ends(metric.interval))


@pytest.mark.parametrize(
    ("width", "shown"), [("80", "categor..."), ("100", "category_of_animals_cat"), (None, NAMES[0])]
)
def test_names_of_classes_have_the_room_there_is(width, shown, plain, monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    if width:
        monkeypatch.setenv("COLUMNS", width)
    print_report(dataclasses.replace(plain, file=dataclasses.replace(plain.file, class_names=NAMES)))
    lines = re.split("classes *\n", capsys.readouterr().out)[-1].splitlines()
    assert sum(shown in line for line in lines) >= 1


def test_one_row():
    assert [row_count(number) for number in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
