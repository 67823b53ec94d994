"""What figures are drawn from: the rows of summary.csv, and the records of a run where they are at hand."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mixjax.runs import RunError
from mixjax.runs.untrusted import printable

from ..loop.history import DIVERGED, Records
from .summary import SeedSummary, summary_csv

__all__ = ["DamagedSummaryError", "Row", "Stored", "rows_of", "stored_of", "whole_rows"]

_PARTS = SeedSummary._fields


@dataclass(frozen=True)
class Row:
    """A row of summary.csv: an arm of a net on one test set, or the difference of two arms, "A - B".

    `diverged` nets are not among the seeds; where none is left, every metric is NaN.
    """

    net: str
    arm: str
    evaluation: str
    severity: float
    seeds: int
    at_chance: bool
    metrics: dict[str, SeedSummary]
    diverged: int = 0

    @property
    def marked(self) -> bool:
        """True if some net is near chance or has diverged: the point is hollow, and read with care."""
        return self.at_chance or self.diverged > 0

    @property
    def sizes(self) -> dict[str, int]:
        """The width and the depth in the name of a fully connected net; RunError for another name."""
        found = re.fullmatch(r"mlp-(\d{1,9})x(\d{1,9})", self.net)
        if not found:
            raise RunError(f"{printable(self.net)} is not the name of a fully connected net, such as mlp-300x4")
        return {"width": int(found[1]), "depth": int(found[2])}


@dataclass(frozen=True)
class Stored:
    """The rows of a table, how many test rows each net was scored on, and the records of the run, if there are any."""

    rows: list[Row]
    test_rows: int
    records: Records

    def arms(self, *evaluations: str) -> list[Row]:
        """Return the rows of arms, without the differences, on these test sets."""
        return [row for row in self.rows if row.evaluation in evaluations and " - " not in row.arm]

    def of_finished(self, evaluation: str) -> Records:
        """Return the records of a test set, of the nets that did not diverge."""
        lost = {_net_of(record) for record in self.records if record["evaluation"] == DIVERGED}
        return [each for each in self.records if each["evaluation"] == evaluation and _net_of(each) not in lost]

    def difference(self, row: Row, base: Row) -> dict[str, SeedSummary]:
        """Return the metrics of an arm minus those of another, seed by seed."""
        key = (row.net, f"{row.arm} - {base.arm}", row.evaluation, row.severity)
        return next(one.metrics for one in self.rows if (one.net, one.arm, one.evaluation, one.severity) == key)


def _net_of(record: dict[str, Any]) -> tuple[str, str, int]:
    return record["job"], record["arm"], record["seed"]


class DamagedSummaryError(ValueError):
    """Report what is wrong with a summary.csv, and in which line; the text goes on from the name of the file."""


def rows_of(table: str) -> list[Row]:
    """Return the rows of a summary.csv, whose lines have as many cells as it has columns.

    Raises:
      DamagedSummaryError: if it is no such table, by its line.
    """
    rows = []
    for number, line in enumerate(csv.DictReader(io.StringIO(table)), start=2):
        try:
            rows.append(_row(line))
        except KeyError as error:
            raise DamagedSummaryError(f" is not a summary of nets: it has no column {error}") from None
        except ValueError as error:
            raise DamagedSummaryError(f", line {number}: {error}") from None
    return rows


def whole_rows(table: str) -> list[Row]:
    """Return the rows of a summary.csv from which none is missing, as far as the others tell.

    The nets of a test set have the same arms, and each arm has a row of its difference from the first.

    Raises:
      DamagedSummaryError: if it is no such table, has no rows, or lacks one.
    """
    rows = rows_of(table)
    if not rows:
        raise DamagedSummaryError(" has no rows")
    groups: dict[tuple[str, str, float], set[str]] = {}
    arms: dict[str, dict[str, None]] = {}  # of each test set, in order
    for row in rows:
        groups.setdefault((row.net, row.evaluation, row.severity), set()).add(row.arm)
        arms.setdefault(row.evaluation, {}).update(dict.fromkeys(row.arm.split(" - ")))
    for (net, evaluation, severity), found in groups.items():
        first, *others = arms[evaluation]
        wanted = [first, *(name for arm in others for name in (arm, f"{arm} - {first}"))]
        if missing := [name for name in wanted if name not in found]:
            where = f"{printable(net)} on {printable(evaluation)}, severity {severity:g}"
            raise DamagedSummaryError(f" has no row of {printable(missing[0])} for {where}; it was cut")
    return rows


def _row(line: dict[str, str]) -> Row:
    seeds, diverged = int(_number(line, "seeds")), int(_number({"diverged": "", **line}, "diverged", 0.0))
    columns = [column for column in line if column.endswith("_mean") and (line[column] or not seeds)]
    names = [column.removesuffix("_mean") for column in columns]
    metrics = {name: SeedSummary(*(_number(line, f"{name}_{part}", math.nan) for part in _PARTS)) for name in names}
    common = (line["net"], line["arm"], line["evaluation"], _number(line, "severity"), seeds)
    return Row(*common, line["at_chance"] == "1", metrics, diverged)


def _number(line: dict[str, str], name: str, empty: float | None = None) -> float:
    """Return a cell as a finite number, or `empty` where it is empty and that is given."""
    if not line[name] and empty is not None:
        return empty
    try:
        value = float(line[name])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{name} is {printable(line[name], 40)!r}, which is not a finite number")
    return value


def stored_of(records: Sequence[dict[str, Any]]) -> Stored:
    """Return what figures are drawn from, of a finished run."""
    tables = (record["count"] for record in records if record["evaluation"] == "reliability")
    return Stored(rows_of(summary_csv(list(records))), round(sum(next(tables, ()))), list(records))
