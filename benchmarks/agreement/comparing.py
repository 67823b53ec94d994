"""Means over seeds of two libraries, in units of the standard error of their difference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from benchmarks.report import Row, Section

LIMIT = 3.0  # standard errors
ASKED = ("train_loss", "nll", "accuracy", "ece")  # the other metrics are beside these
METRICS = (*ASKED, "signed_gap", "temperature")
LIBRARIES = ("mixjax", "PyTorch")
EFFECT = "mixup - erm"


class Welch(NamedTuple):
    """A difference of means, its standard error, their ratio z, degrees of freedom, and p of Student's t."""

    difference: float
    standard_error: float
    z: float
    freedom: float
    p: float


def welch(ours: np.ndarray, theirs: np.ndarray) -> Welch:
    """Compare two samples, [seeds] each, whose variances may differ.

    z is 0 for equal samples without spread, infinite for other samples without spread, and NaN where a number is.
    """
    parts = [np.var(sample, ddof=1) / len(sample) for sample in (ours, theirs)]
    difference, error = float(np.mean(ours) - np.mean(theirs)), math.sqrt(sum(parts))
    z = difference / error if error else math.copysign(math.inf, difference) if difference else 0.0
    below = sum(part**2 / (len(sample) - 1) for part, sample in zip(parts, (ours, theirs), strict=True))
    freedom = sum(parts) ** 2 / below if below else math.inf
    return Welch(difference, error, z, float(freedom), float(2 * stdtr(freedom, -abs(z))))


def quantities(rows: Sequence[Row], task: str, library: str) -> dict[tuple[str, str], np.ndarray]:
    """Return what is compared of a task: each metric of each arm, and Mixup's effect on the ECE; [seeds] each."""
    found = {
        (arm, metric): np.array([row[metric] for row in rows
                                 if (row["task"], row["library"], row["arm"]) == (task, library, arm)], np.float64)
        for arm in ("erm", "mixup")
        for metric in METRICS
    }  # fmt: skip
    return found | {(EFFECT, "ece"): found["mixup", "ece"] - found["erm", "ece"]}


def comparisons_section(rows: Sequence[Row], seeds: int) -> Section:
    """Compare the libraries in every quantity of every task.

    Args:
      rows: a net each, in the order of the seeds.
      seeds: of a library in an arm.
    """
    table: list[Row] = []
    cubes = []
    for task in dict.fromkeys(row["task"] for row in rows):
        ours, theirs = (quantities(rows, task, library) for library in LIBRARIES)
        finite = [what for what in ours if np.isfinite([ours[what], theirs[what]]).all()]
        table += [_compared(task, *what, ours[what], theirs[what]) for what in finite]
        cubes.append({what: np.stack([ours[what], theirs[what]]) for what in finite})
    text = (
        f"Means over {seeds} seeds of each library, and their difference, mixjax - PyTorch, over its standard error: z "
        "(Welch). train_loss is that of the mixed batches of the last epoch. The other metrics are of the test rows: "
        "signed_gap is confidence - accuracy, and temperature has the least NLL; it is left out where a net has none. "
        f"{EFFECT} is the effect of Mixup, of nets of the same seed."
    )
    asked = [row for row in table if row["metric"] in ASKED and row["arm"] != EFFECT]
    only = [{what: sample for what, sample in cube.items() if what[1] in ASKED and what[0] != EFFECT} for cube in cubes]
    return Section(
        "comparisons", "Means over seeds", text, table, {"asked": _counts(asked, only), "all": _counts(table, cubes)}
    )


def summary_section(sections: Sequence[Section]) -> Section:
    """Say how many comparisons are beyond 3 standard errors, and how many would be by chance."""
    found = {section.name: section.ratios for section in sections}
    lines = {
        "count": "comparisons",
        "largest_z": "largest z, without its sign",
        "beyond": "beyond 3 standard errors",
        "expected_beyond": "expected beyond 3, of libraries that train alike",
        "chance_beyond": "probability that such libraries have one beyond 3",
        "chance_of_largest": "probability that such libraries have a z as large",
    }
    rows = [
        {"what": text, "loss, NLL, accuracy, ECE": found["comparisons"]["asked"][name],
         "all": found["comparisons"]["all"][name]}
        for name, text in lines.items()
    ]  # fmt: skip
    steps = found["steps"]
    text = (
        "Asked: loss, accuracy and ECE within 3 standard errors over five seeds. Five seeds are few: z is beyond 3 "
        "with probability 0.017 at 8 degrees of freedom (Student's t) and 0.04 at 4, not 0.003. The expected number "
        "is the sum over the comparisons. The probabilities below it are exact for libraries that train alike: the "
        "seeds of each task, with both arms, are given to the libraries in every possible way, half to each, which "
        "keeps how the metrics of a net depend on each other. With the same first weights, batches and Mixup "
        f"weights in both, the losses of a step agree to {steps['median']:.0e} of them (median, of the worst net), "
        f"and those of PyTorch in float32 and float64 to {steps['PyTorch_median']:.0e}, until rounding gives the "
        "input of a ReLU the other sign."
    )
    return Section("summary", "Summary", text, rows)


def largest_when_relabeled(cube: np.ndarray) -> np.ndarray:
    """Return the largest |z| of a task for every way to call half of its nets those of mixjax.

    Args:
      cube: [2, seeds, quantities], of both libraries.
    """
    seeds = cube.shape[1]
    pooled = cube.reshape(2 * seeds, -1)
    firsts = np.array([np.isin(np.arange(2 * seeds), chosen) for chosen in combinations(range(2 * seeds), seeds)])
    one, other = (np.stack([pooled[mask] for mask in masks]) for masks in (firsts, ~firsts))
    error = np.sqrt((one.var(1, ddof=1) + other.var(1, ddof=1)) / seeds)
    difference = np.abs(one.mean(1) - other.mean(1))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(error > 0, difference / error, np.where(difference > 0, np.inf, 0.0))
    return z.max(1)


def chance_beyond(tasks: Iterable[np.ndarray], limit: float) -> float:
    """Return the probability that the largest |z| of independent tasks is at least the limit.

    Args:
      tasks: the largest |z| of each for every labeling, of which all are equally probable.
    """
    return 1 - math.prod(float((largest < limit).mean()) for largest in tasks)


def _compared(task: str, arm: str, metric: str, ours: np.ndarray, theirs: np.ndarray) -> Row:
    samples = dict(zip(LIBRARIES, (ours, theirs), strict=True))
    means = {f"{library}_mean": float(sample.mean()) for library, sample in samples.items()}
    sds = {f"{library}_sd": float(sample.std(ddof=1)) for library, sample in samples.items()}
    return {"task": task, "arm": arm, "metric": metric, **means, **sds, **welch(ours, theirs)._asdict()}


def _counts(table: Sequence[Row], tasks: Sequence[Mapping[tuple[str, str], np.ndarray]]) -> dict[str, float]:
    largest = max(abs(row["z"]) for row in table)
    relabeled = [largest_when_relabeled(np.stack(list(task.values()), -1)) for task in tasks]
    return {
        "count": len(table),
        "largest_z": largest,
        "smallest_p": min(row["p"] for row in table),
        "beyond": sum(abs(row["z"]) > LIMIT for row in table),
        "expected_beyond": sum(float(2 * stdtr(row["freedom"], -LIMIT)) for row in table),
        "chance_beyond": chance_beyond(relabeled, LIMIT),
        "chance_of_largest": chance_beyond(relabeled, largest * (1 - 1e-9)),
    }
