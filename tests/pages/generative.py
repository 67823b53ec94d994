"""The numbers of docs/generative.md."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pandas as pd
from scipy import stats

from tests.pages.tables import at, table
from tests.paths import ROOT

FOLDER = "generative"
FAMILIES = ("linear", "leaky-ReLU", "coupling")
ROWS = (250, 2000, 16000)
DIRECTIONS = {"along": "along theta*", "random": "random"}
SEEDS = json.loads((ROOT / "results" / FOLDER / "provenance.json").read_text())["config"]["training_seeds"]
VERDICTS = ("| linear | no | undecided | yes |", "| leaky-ReLU | no | no | undecided |", "| coupling | no | no | no |")
REACH = stats.t(SEEDS - 1).ppf(0.975)  # standard errors in half of a 95 % interval


def numbers() -> dict[str, float]:
    verdicts = (ROOT / "results" / FOLDER / "README.md").read_text()
    assert all(row in verdicts for row in VERDICTS), "the page says these in words"
    return {"seeds": SEEDS} | dict(learning()) | falls() | signs() | bounds()


def learning() -> Iterator[tuple[str, float]]:
    """Yield the mean and half of its interval, for each number of the table."""
    for family in FAMILIES:
        for rows in ROWS:
            for kind in ("plain", "mixup"):
                row = at(f"{FOLDER}/family-rows-classifier.csv", family=family, rows=rows, classifier=kind)
                yield f"{family}.{rows}.{kind}", row.mean_excess
                yield f"{family}.{rows}.{kind}.half", REACH * row.mean_excess_se
            for name in DIRECTIONS:
                row = delta(family, rows, name)
                yield f"{family}.{rows}.{name}", row.delta
                yield f"{family}.{rows}.{name}.half", REACH * row.delta_se


def delta(family: str, rows: int, name: str) -> pd.Series:
    return at(f"{FOLDER}/family-rows-direction.csv", family=family, rows=rows, direction=DIRECTIONS[name])


def falls() -> dict[str, float]:
    """Return by which part E|delta_u| along theta* is smaller at 16,000 rows than at 2,000."""
    return {
        f"fall.{family}": 1 - delta(family, 16000, "along").delta / delta(family, 2000, "along").delta
        for family in FAMILIES
    }


def signs() -> dict[str, float]:
    """Return ECE(mix) - ECE with the h_hat of most rows: the ends nearest to 0 of the intervals of all families."""
    found = {n: table(f"{FOLDER}/family-rows-n.csv", rows=16000, n=n) for n in (8, 32, 512)}
    assert all(len(rows) == len(FAMILIES) for rows in found.values())
    highest = {n: (rows.difference + REACH * rows.difference_se).max() for n, rows in found.items()}
    lowest = {n: (rows.difference - REACH * rows.difference_se).min() for n, rows in found.items()}
    return {"help.8": highest[8], "help.32": highest[32], "harm.512": lowest[512]}


def bounds() -> dict[str, float]:
    found = table(f"{FOLDER}/family-rows-map.csv", map="h_hat").bound
    return {"bound.least": found.min(), "bound.most": found.max()}
