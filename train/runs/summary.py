"""The last epoch of each kind of net over its seeds: means, standard deviations, 95 % intervals; arms in pairs."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from ..loop.history import AT_THE_END, OF_PSEUDO_LABELS, OF_TRAINING, last_epochs
from ..loop.metrics import METRICS

__all__ = ["Cell", "Estimate", "accuracy_floor", "cells_of", "difference", "estimate", "summary_csv"]

Records = list[dict[str, Any]]
_SUMMARISED = (*METRICS, *OF_TRAINING, *AT_THE_END, *OF_PSEUDO_LABELS, "temperature")


class Estimate(NamedTuple):
    """A mean over seeds with its 95 % interval (Student's t; NaN for one seed), and the standard deviation."""

    mean: float
    low: float
    high: float
    sd: float


@dataclass(frozen=True)
class Cell:
    """The nets that differ in their seed alone, at their last epoch.

    Attributes:
      net: name of the shape.
      first: the record of the first seed, for all that the seeds have in common.
      arm, evaluation, severity: what was done, and what it was tested on.
      seeds: in order.
      figures: of each metric, one a seed; NaN where a record has none.
    """

    net: str
    arm: str
    evaluation: str
    severity: float
    first: dict[str, Any]
    seeds: tuple[int, ...]
    figures: dict[str, np.ndarray]

    @property
    def at_chance(self) -> bool:
        """Whether some net is below the floor of accuracy: its calibration then says nothing."""
        return bool((self.figures["accuracy"] < accuracy_floor(self.first["classes"])).any())


def accuracy_floor(classes: int) -> float:
    """Three times chance; of fewer than five classes, where that is hardly to be had, half way from chance to 1."""
    return min(3 / classes, (1 + 1 / classes) / 2)


def cells_of(records: Records) -> list[Cell]:
    """All kinds of nets and evaluations of a run, in the order of the records."""
    groups: dict[tuple[str, str, str, float], Records] = {}
    for evaluation in dict.fromkeys(record["evaluation"] for record in records if "accuracy" in record):
        for record in last_epochs(records, evaluation):
            key = (record["net"], record["arm"], evaluation, record.get("severity", 0.0))
            groups.setdefault(key, []).append(record)
    return [_cell(*key, group) for key, group in groups.items()]


def _cell(net: str, arm: str, evaluation: str, severity: float, group: Records) -> Cell:
    group = sorted(group, key=lambda record: record["seed"])
    names = [name for name in _SUMMARISED if any(name in record for record in group)]
    figures = {name: np.array([record.get(name, np.nan) for record in group]) for name in names}
    return Cell(net, arm, evaluation, severity, group[0], tuple(record["seed"] for record in group), figures)


def estimate(values: np.ndarray) -> Estimate:
    """Of values that are independent."""
    values = np.asarray(values, np.float64)
    count, mean = len(values), float(values.mean())
    if count < 2:
        return Estimate(mean, np.nan, np.nan, np.nan)
    sd = float(values.std(ddof=1))
    reach = float(stdtrit(count - 1, 0.975)) * sd / count**0.5
    return Estimate(mean, mean - reach, mean + reach, sd)


def difference(cell: Cell, base: Cell, name: str) -> np.ndarray:
    """cell - base of each seed that both have: nets that began alike and saw the same rows in the same order."""
    common = [seed for seed in cell.seeds if seed in base.seeds]
    pick = [[one.seeds.index(seed) for seed in common] for one in (cell, base)]
    return cell.figures[name][pick[0]] - base.figures[name][pick[1]]


def summary_csv(records: Records) -> str:
    """A row for each kind of net, and one for each arm minus each arm before it of the same net."""
    before: dict[tuple[str, str, float], list[Cell]] = {}
    rows = []
    for cell in cells_of(records):
        rows.append(_row(cell, cell.arm, cell.figures))
        bases = before.setdefault((cell.net, cell.evaluation, cell.severity), [])
        for base in bases:
            names = [name for name in cell.figures if name in base.figures]
            paired = {name: difference(cell, base, name) for name in names}
            rows.append(_row(cell, f"{cell.arm} - {base.arm}", paired))
        bases.append(cell)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _row(cell: Cell, arm: str, figures: dict[str, np.ndarray]) -> dict[str, Any]:
    row: dict[str, Any] = {"net": cell.net, "arm": arm, "evaluation": cell.evaluation, "severity": cell.severity}
    row |= {"seeds": len(cell.seeds), "at_chance": int(cell.at_chance)}
    for name, values in figures.items():
        if not np.isnan(values).all():
            for part, value in estimate(values)._asdict().items():
                row[f"{name}_{part}"] = "" if np.isnan(value) else f"{value:.5g}"
    return row
