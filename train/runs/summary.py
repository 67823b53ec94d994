"""The last epochs of nets over their seeds: means, standard deviations, 95 % intervals, differences of arms."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from ..loop.history import AT_THE_END, DIVERGED, OF_PSEUDO_LABELS, OF_TRAINING, Records, last_epochs
from ..loop.metrics import METRICS

__all__ = [
    "Cell",
    "SeedSummary",
    "accuracy_floor",
    "cells_of",
    "difference",
    "divergence",
    "summarize",
    "summary_csv",
]

_SUMMARIZED = (*METRICS, *OF_TRAINING, *AT_THE_END, *OF_PSEUDO_LABELS, "temperature", "fitted")


class SeedSummary(NamedTuple):
    """A mean over seeds with its 95 % interval (Student's t; NaN for one seed), and the standard deviation.

    All are NaN where every net diverged.
    """

    mean: float
    low: float
    high: float
    sd: float


@dataclass(frozen=True)
class Cell:
    """The nets that differ in their seed alone, at their last epoch on one test set; without those that diverged."""

    net: str
    arm: str
    evaluation: str
    severity: float
    first: dict[str, Any]  # the record of the first seed, for all that the seeds have in common
    seeds: tuple[int, ...]
    metrics: dict[str, np.ndarray]  # one value a seed; NaN where a record has none
    diverged: tuple[int, ...] = ()  # seeds that are left out

    @property
    def at_chance(self) -> bool:
        """True if some net is below the floor of accuracy: its calibration then means nothing."""
        return bool((self.metrics["accuracy"] < accuracy_floor(self.first["classes"])).any())


def accuracy_floor(classes: int) -> float:
    """Return three times chance; for fewer than five classes, where few nets reach it, half way from chance to 1."""
    return min(3 / classes, (1 + 1 / classes) / 2)


def cells_of(records: Records) -> list[Cell]:
    """Return the cells of a run, in the order of the records."""
    known = dict.fromkeys(["test", *(record["evaluation"] for record in records if "accuracy" in record)])
    cells = []
    for evaluation in known:
        groups: dict[tuple[str, float, str], Records] = {}
        for record in _tested(records, evaluation):
            groups.setdefault((record["net"], record.get("severity", 0.0), record["arm"]), []).append(record)
        cells += [_cell(evaluation, group) for group in _in_order(groups, records)]
    return cells


def _tested(records: Records, evaluation: str) -> Records:
    """Return the last records on a test set; a net that diverged has one for each severity."""
    on_it = [record for record in records if record["evaluation"] == evaluation]
    severities = {record["severity"]: {"severity": record["severity"]} for record in on_it if "severity" in record}
    return [
        record | severity
        for record in last_epochs(records, evaluation)
        for severity in (severities.values() if record["evaluation"] == DIVERGED and severities else [{}])
    ]


def _in_order(groups: Mapping[tuple[str, float, str], Records], records: Records) -> list[Records]:
    """Return groups by net, severity and arm, each in the order in which they first appear."""
    nets, arms = (_places(record[name] for record in records) for name in ("net", "arm"))
    severities = _places(severity for _, severity, _ in groups)
    order = sorted(groups, key=lambda key: (nets[key[0]], severities[key[1]], arms[key[2]]))
    return [groups[key] for key in order]


def _places(values: Iterable[Any]) -> dict[Any, int]:
    return {value: place for place, value in enumerate(dict.fromkeys(values))}


def _cell(evaluation: str, group: Records) -> Cell:
    group = sorted(group, key=lambda record: record["seed"])
    lost = tuple(record["seed"] for record in group if record["evaluation"] == DIVERGED)
    living = [record for record in group if record["evaluation"] != DIVERGED]
    names = [name for name in _SUMMARIZED if any(name in record for record in living)] or METRICS
    metrics = {name: np.array([float(record.get(name, np.nan)) for record in living]) for name in names}
    first, seeds = group[0], tuple(record["seed"] for record in living)
    return Cell(first["net"], first["arm"], evaluation, first.get("severity", 0.0), first, seeds, metrics, lost)


def divergence(record: dict[str, Any]) -> str:
    """Name the net that a record reports as diverged, and when it did."""
    when = f"step {record['step']} of epoch {record['epoch']}"
    return f"{record['net']}, arm {record['arm']}, seed {record['seed']} ({when})"


def summarize(values: np.ndarray) -> SeedSummary:
    """Summarize independent values, one a seed."""
    values = np.asarray(values, np.float64)
    count = len(values)
    mean = float(values.mean()) if count else np.nan
    if count < 2:
        return SeedSummary(mean, np.nan, np.nan, np.nan)
    sd = float(values.std(ddof=1))
    reach = float(stdtrit(count - 1, 0.975)) * sd / count**0.5
    return SeedSummary(mean, mean - reach, mean + reach, sd)


def difference(cell: Cell, base: Cell, name: str) -> np.ndarray:
    """Return cell - base for each seed that both have: nets that began alike and saw the same rows in order."""
    common = [seed for seed in cell.seeds if seed in base.seeds]
    pick = [[one.seeds.index(seed) for seed in common] for one in (cell, base)]
    return cell.metrics[name][pick[0]] - base.metrics[name][pick[1]]


def summary_csv(records: Records) -> str:
    """Return a table: a row for each cell, and one for each arm minus each arm before it of the same net."""
    before: dict[tuple[str, str, float], list[Cell]] = {}
    rows = []
    for cell in cells_of(records):
        rows.append(_row(cell, cell.arm, cell.seeds, cell.diverged, cell.metrics))
        bases = before.setdefault((cell.net, cell.evaluation, cell.severity), [])
        for base in bases:
            names = [name for name in cell.metrics if name in base.metrics]
            paired = {name: difference(cell, base, name) for name in names}
            seeds, lost = {*cell.seeds} & {*base.seeds}, {*cell.diverged} | {*base.diverged}
            rows.append(_row(cell, f"{cell.arm} - {base.arm}", seeds, lost, paired))
        bases.append(cell)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _row(
    cell: Cell, arm: str, seeds: Collection[int], diverged: Collection[int], metrics: Mapping[str, np.ndarray]
) -> dict[str, Any]:
    """Return a row; the column of nets that diverged is there only if some did."""
    row: dict[str, Any] = {"net": cell.net, "arm": arm, "evaluation": cell.evaluation, "severity": cell.severity}
    row |= {"seeds": len(seeds), "at_chance": int(cell.at_chance)}
    row |= {"diverged": len(diverged)} if diverged else {}
    for name, values in metrics.items():
        if not np.isnan(values).all():
            for part, value in summarize(values)._asdict().items():
                row[f"{name}_{part}"] = "" if np.isnan(value) else f"{value:.5g}"
    return row
