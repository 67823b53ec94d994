"""The tables of the terminal: whole where it is narrow, on one line where they are piped."""

from __future__ import annotations

import dataclasses
import re

import pytest

from mixjax.report.numbers import row_count
from mixjax.report.terminal import class_cells, print_report


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


def test_one_row():
    assert [row_count(number) for number in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
