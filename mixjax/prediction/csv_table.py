"""Every predicted number as a csv file, next to the measured ones."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence

from mixjax.commands import exactly
from mixjax.prediction.measuring import Check
from mixjax.prediction.table import Cell, Numbers, Prediction


def csv_table(predictions: Sequence[Prediction], checks: Sequence[Check | None]) -> str:
    """Return a line for each pair, arm and penalty; empty cells are what was not measured, or not found."""
    measured = any(check is not None for check in checks)
    ends = [f"measured_{name}{end}" for name in Numbers._fields for end in ("", "_low", "_high")] if measured else []
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["first", "second", "n", "alpha", "smoothing", "penalty", *Numbers._fields, *ends])
    for prediction, check in zip(predictions, checks, strict=True):
        for arm in range(len(prediction.arms)):
            for k in range(len(prediction.penalties)):
                writer.writerow(_line(prediction, check, (arm, k), measured))
    return text.getvalue()


def _line(prediction: Prediction, check: Check | None, cell: Cell, measured: bool) -> Iterator[str]:
    arm = prediction.arms[cell[0]]
    yield from (*map(str, prediction.pair), str(prediction.settings.n))
    yield from map(exactly, (arm.alpha, arm.smoothing, prediction.penalties[cell[1]]))
    for field in Numbers._fields:
        yield _cell(prediction.at(field, cell))
    for field in Numbers._fields if measured else ():
        found = check.at(field, cell) if check is not None and cell in check.cells else (math.nan,) * 3
        yield from map(_cell, found)


def _cell(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"
