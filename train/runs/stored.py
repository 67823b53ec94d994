"""What figures are drawn from: the rows of summary.csv, and the records of a run where they are at hand."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .summary import SeedSummary, summary_csv

__all__ = ["Row", "Stored", "rows_of", "stored_of"]

_PARTS = SeedSummary._fields


@dataclass(frozen=True)
class Row:
    """A row of summary.csv: an arm of a net on one test set, or the difference of two arms, "A - B"."""

    net: str
    arm: str
    evaluation: str
    severity: float
    seeds: int
    at_chance: bool
    metrics: dict[str, SeedSummary]

    @property
    def sizes(self) -> dict[str, int]:
        """The width and the depth in the name of a fully connected net."""
        width, depth = self.net.removeprefix("mlp-").split("x")
        return {"width": int(width), "depth": int(depth)}


@dataclass(frozen=True)
class Stored:
    """The rows of a table, how many test rows each net was scored on, and the records of the run, if there are any."""

    rows: list[Row]
    test_rows: int
    records: list[dict[str, Any]]

    def arms(self, *evaluations: str) -> list[Row]:
        """Return the rows of arms, without the differences, on these test sets."""
        return [row for row in self.rows if row.evaluation in evaluations and " - " not in row.arm]

    def difference(self, row: Row, base: Row) -> dict[str, SeedSummary]:
        """Return the metrics of an arm minus those of another, seed by seed."""
        key = (row.net, f"{row.arm} - {base.arm}", row.evaluation, row.severity)
        return next(one.metrics for one in self.rows if (one.net, one.arm, one.evaluation, one.severity) == key)


def rows_of(table: str) -> list[Row]:
    """Return the rows of a summary.csv.

    Raises:
      ValueError: if it is no such table.
    """
    try:
        return [_row(line) for line in csv.DictReader(io.StringIO(table))]
    except (KeyError, TypeError) as error:
        raise ValueError(f"this is not a summary of nets: {error}") from None


def _row(line: dict[str, str]) -> Row:
    names = [column.removesuffix("_mean") for column in line if column.endswith("_mean") and line[column]]
    metrics = {name: SeedSummary(*(float(line[f"{name}_{part}"] or "nan") for part in _PARTS)) for name in names}
    common = (line["net"], line["arm"], line["evaluation"], float(line["severity"]), int(line["seeds"]))
    return Row(*common, line["at_chance"] == "1", metrics)


def stored_of(records: Sequence[dict[str, Any]]) -> Stored:
    """Return what figures are drawn from, of a finished run."""
    tables = (record["count"] for record in records if record["evaluation"] == "reliability")
    return Stored(rows_of(summary_csv(list(records))), round(sum(next(tables, ()))), list(records))
