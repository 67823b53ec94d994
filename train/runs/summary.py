"""The last epochs of nets over their seeds: means, standard deviations, 95 % intervals, differences of arms."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from ..loop.history import AT_THE_END, OF_PSEUDO_LABELS, OF_TRAINING, last_epochs
from ..loop.metrics import METRICS

__all__ = ["Cell", "SeedSummary", "accuracy_floor", "cells_of", "difference", "summarize", "summary_csv"]

Records = list[dict[str, Any]]
_SUMMARIZED = (*METRICS, *OF_TRAINING, *AT_THE_END, *OF_PSEUDO_LABELS, "temperature")


class SeedSummary(NamedTuple):
    """A mean over seeds with its 95 % interval (Student's t; NaN for one seed), and the standard deviation."""

    mean: float
    low: float
    high: float
    sd: float


@dataclass(frozen=True)
class Cell:
    """The nets that differ in their seed alone, at their last epoch on one test set."""

    net: str
    arm: str
    evaluation: str
    severity: float
    first: dict[str, Any]  # the record of the first seed, for all that the seeds have in common
    seeds: tuple[int, ...]
    metrics: dict[str, np.ndarray]  # one value a seed; NaN where a record has none

    @property
    def at_chance(self) -> bool:
        """True if some net is below the floor of accuracy: its calibration then means nothing."""
        return bool((self.metrics["accuracy"] < accuracy_floor(self.first["classes"])).any())


def accuracy_floor(classes: int) -> float:
    """Return three times chance; for fewer than five classes, where few nets reach it, half way from chance to 1."""
    return min(3 / classes, (1 + 1 / classes) / 2)


def cells_of(records: Records, *evaluations: str) -> list[Cell]:
    """Return the cells of a run, in the order of the records; only those of `evaluations` where any are given."""
    groups: dict[tuple[str, str, str, float], Records] = {}
    known = dict.fromkeys(record["evaluation"] for record in records if "accuracy" in record)
    for evaluation in (name for name in known if not evaluations or name in evaluations):
        for record in last_epochs(records, evaluation):
            key = (record["net"], record["arm"], evaluation, record.get("severity", 0.0))
            groups.setdefault(key, []).append(record)
    return [_cell(*key, group) for key, group in groups.items()]


def _cell(net: str, arm: str, evaluation: str, severity: float, group: Records) -> Cell:
    group = sorted(group, key=lambda record: record["seed"])
    names = [name for name in _SUMMARIZED if any(name in record for record in group)]
    metrics = {name: np.array([record.get(name, np.nan) for record in group]) for name in names}
    return Cell(net, arm, evaluation, severity, group[0], tuple(record["seed"] for record in group), metrics)


def summarize(values: np.ndarray) -> SeedSummary:
    """Summarise independent values, one a seed."""
    values = np.asarray(values, np.float64)
    count, mean = len(values), float(values.mean())
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
        rows.append(_row(cell, cell.arm, cell.metrics))
        bases = before.setdefault((cell.net, cell.evaluation, cell.severity), [])
        for base in bases:
            names = [name for name in cell.metrics if name in base.metrics]
            paired = {name: difference(cell, base, name) for name in names}
            rows.append(_row(cell, f"{cell.arm} - {base.arm}", paired))
        bases.append(cell)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _row(cell: Cell, arm: str, metrics: dict[str, np.ndarray]) -> dict[str, Any]:
    row: dict[str, Any] = {"net": cell.net, "arm": arm, "evaluation": cell.evaluation, "severity": cell.severity}
    row |= {"seeds": len(cell.seeds), "at_chance": int(cell.at_chance)}
    for name, values in metrics.items():
        if not np.isnan(values).all():
            for part, value in summarize(values)._asdict().items():
                row[f"{name}_{part}"] = "" if np.isnan(value) else f"{value:.5g}"
    return row
