r"""Two models on the same rows: the differences of their errors, with paired intervals.

Means of losses (NLL, Brier score, signed gap, accuracy) have paired differences row by row, and the normal interval of
their mean. Binned errors are resampled on paired bins. A bootstrap sample of N rows is a multinomial draw of the rows
of each cell (bin and correctness under A, bin and correctness under B). The sums of confidences of both models within
the cells vary little, and are drawn as normals with the same means and covariances. Common parts of the models cancel,
as they do when rows are resampled; the cost grows with the cells that hold rows, at most (2 M)^2 and at most N.

Intervals are the basic ones, as in `mixjax.calibration.intervals`. The bias of the plain ECE cancels in part only.
Groups of rows are compared in the same way, each by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from mixjax.calibration.intervals import Interval, basic_interval
from mixjax.calibration.reliability_table import Reliability, reliability
from mixjax.report.losses import interval_of_mean, losses
from mixjax.report.metrics import Metric, Report, Settings, top_labels
from mixjax.report.numbers import row_count
from mixjax.report.reading import FilePredictions
from mixjax.runs import RunError
from mixjax.runs.untrusted import printable

_BLOCK = 1 << 22  # numbers to draw at a time


class GroupDifferences(NamedTuple):
    """The rows of a group, and the differences second - first within it."""

    num_rows: int
    accuracy: Interval
    ece: Interval
    signed_gap: Interval


@dataclass(frozen=True)
class Comparison:
    """Two reports on the same rows, and the differences second - first, of all rows and of each group."""

    first: Report
    second: Report
    differences: tuple[Metric, ...]
    groups: Mapping[Any, GroupDifferences]


def check_pair(first: FilePredictions, second: FilePredictions) -> None:
    """Raise RunError unless both files have the same number of rows, classes, labels, groups and ignored rows.

    Files of kind "binary" have no labels, and correctness may differ; their rows are taken to be the same.
    """
    if not np.array_equal(first.ignored, second.ignored):
        raise RunError(f"{first.name} and {second.name} ignore different rows; rows are paired by their position")
    if len(first) != len(second):
        raise RunError(
            f"{first.name} has {row_count(len(first))} and {second.name} has {len(second)}; a comparison is paired"
        )
    if first.num_classes != second.num_classes:
        raise RunError(f"{first.name} has {first.num_classes} classes and {second.name} has {second.num_classes}")
    differ = (first.labels != second.labels) & ~first.missing & ~second.missing
    if first.kind != "binary" and differ.any():
        row = int(np.argmax(differ))
        labels = f"{first.labels[row]} and {second.labels[row]}, {first.row_name(row)}"
        which = f"in {differ.sum()} rows (first {labels}); rows are paired by their position"
        raise RunError(f"{first.name} and {second.name} have different labels {which}")
    groups = first.groups, second.groups
    if groups[0] is not None and groups[1] is not None and (differ := groups[0].differ(groups[1])).any():
        row = int(np.argmax(differ))
        a, b = (printable(of_rows.name_of(row), 40) for of_rows in (groups[0], groups[1]))
        which = f"first {a} and {b}, {first.row_name(row)}"
        raise RunError(f"{first.name} and {second.name} have different groups in {differ.sum()} rows ({which})")


def compare(first: Report, second: Report) -> Comparison:
    """Return the differences second - first, with paired intervals."""
    settings = first.settings
    seed = np.asarray(jax.random.key_data(jax.random.fold_in(settings.keys()[0], 1))).tolist()
    pair = _Scores.of(first), _Scores.of(second)
    differences = _differences_of_means(first, second, pair)
    differences |= _differences_of_bins(seed, pair, settings)
    order = ("accuracy", "mean correctness", "ECE", "debiased squared error", "signed gap", "NLL", "Brier score")
    metrics = (Metric(name, differences[name], first.metric(name).meaning) for name in order if name in differences)
    return Comparison(first, second, tuple(metrics), _differences_of_groups(seed, first, second, pair))


def _differences_of_groups(
    seed: list[int], first: Report, second: Report, pair: tuple[_Scores, _Scores]
) -> dict[Any, GroupDifferences]:
    groups, settings = first.file.groups, first.settings
    if groups is None or second.file.groups is None:
        return {}
    found = {}
    for code in np.unique(groups.codes).tolist():
        rows = groups.codes == code
        a, b = pair[0].of_rows(rows, settings), pair[1].of_rows(rows, settings)
        found[groups.names[code]] = GroupDifferences(
            int(rows.sum()),
            interval_of_mean(b.correct - a.correct, settings.level),
            _differences_of_bins([*seed, 1 + code], (a, b), settings)["ECE"],
            interval_of_mean(b.residual - a.residual, settings.level),
        )
    return found


def _differences_of_means(first: Report, second: Report, pair: tuple[_Scores, _Scores]) -> dict[str, Interval]:
    level, rows = first.settings.level, []
    for report, scores in zip((first, second), pair, strict=True):
        rows.append({report.metrics[0].name: scores.correct, "signed gap": scores.residual, **losses(report.file)})
    with np.errstate(invalid="ignore"):  # infinite losses of a row under both models have no difference
        return {name: interval_of_mean(rows[1][name] - rows[0][name], level) for name in rows[0]}


class _Scores(NamedTuple):
    """The predicted class of each row under one model: confidence, correctness and bin, shape [N]."""

    confidence: np.ndarray  # in the dtype of the file, which decides on the bin
    correct: np.ndarray  # float64
    bins: np.ndarray

    @classmethod
    def of(cls, report: Report) -> _Scores:
        """Return the scores of all rows."""
        confidence, correct = map(np.asarray, top_labels(report.file))
        return cls(confidence, correct.astype(np.float64), _bin_of(confidence, report.table))

    def of_rows(self, rows: np.ndarray, settings: Settings) -> _Scores:
        """Return the scores of the rows where `rows` [N] is True, in bins of their own."""
        table = reliability(self.confidence, self.correct, where=rows, **settings.bins)
        confidence = self.confidence[rows]
        return _Scores(confidence, self.correct[rows], _bin_of(confidence, table))

    @property
    def residual(self) -> np.ndarray:
        """Confidence - correctness, whose mean is the signed gap."""
        return self.confidence.astype(np.float64) - self.correct


class _Cells(NamedTuple):
    """Rows that share bins and correctness under both models; index 0 is A, 1 is B."""

    rows: np.ndarray  # [cells]
    bins: np.ndarray  # [2, cells]
    correct: np.ndarray  # [2, cells]
    mean: np.ndarray  # [2, cells], of the confidences
    squares: np.ndarray  # [2, cells], sums of squares of the residuals
    root: np.ndarray  # [2, 2, cells], square root of the covariance of the confidences


def _differences_of_bins(seed: list[int], pair: tuple[_Scores, _Scores], settings: Settings) -> dict[str, Interval]:
    """Return the differences with their intervals, whose ends are NaN for one row."""
    rng = np.random.default_rng(seed)
    cells, rows = _cells(pair, settings.num_bins), len(pair[0].bins)
    observed = _errors(cells.rows[None], np.zeros((2, 1, len(cells.rows))), cells)
    block = max(1, _BLOCK // (3 * len(cells.rows)))
    drawn = []
    for start in range(0, settings.replicates, block):
        size = min(block, settings.replicates - start)
        count = rng.multinomial(rows, cells.rows / rows, size).astype(np.float64)
        normal = rng.standard_normal((2, *count.shape))
        noise = np.sqrt(count) * np.einsum("ijc,jrc->irc", cells.root, normal)
        drawn.append(_errors(count, noise, cells))
    intervals = {}
    for name, truth in (("ECE", "ECE"), ("debiased squared error", "plain squared error")):
        errors = np.concatenate([part[name] for part in drawn], axis=1)
        estimate, world = (np.diff(observed[which][:, 0])[0] for which in (name, truth))
        intervals[name] = basic_interval(estimate, world, errors[1] - errors[0], settings.level)
        if rows == 1:
            intervals[name] = Interval(float(estimate), *[float("nan")] * 3)
    return intervals


def _cells(pair: tuple[_Scores, _Scores], num_bins: int) -> _Cells:
    category = [2 * model.bins + model.correct.astype(np.int64) for model in pair]
    present, cell = np.unique(category[0] * (2 * num_bins) + category[1], return_inverse=True)
    count = np.bincount(cell).astype(np.float64)
    f = np.stack([model.confidence for model in pair]).astype(np.float64)
    mean = np.stack([np.bincount(cell, part) for part in f]) / count
    a, b = f - mean[:, cell]
    squares = np.stack([np.bincount(cell, part) for part in (model.residual**2 for model in pair)])
    covariance = [np.bincount(cell, part) / count for part in (a * a, a * b, b * b)]
    both = np.stack(np.divmod(present, 2 * num_bins))
    return _Cells(count, both // 2, both % 2, mean, squares, _cholesky(*covariance))


def _bin_of(confidence: np.ndarray, table: Reliability) -> np.ndarray:
    """Return the bin of each row, from the lowest confidence of each bin."""
    filled = np.flatnonzero(np.asarray(table.count) > 0)
    lowest = np.asarray(table.lowest)[filled]
    return filled[np.searchsorted(lowest, confidence.astype(lowest.dtype), side="right") - 1]


def _cholesky(aa: np.ndarray, ab: np.ndarray, bb: np.ndarray) -> np.ndarray:
    """Return lower triangular roots of 2 x 2 covariances, which may be singular."""
    first = np.sqrt(aa)
    cross = np.where(first > 0, ab / np.where(first > 0, first, 1), 0)
    return np.stack([[first, np.zeros_like(first)], [cross, np.sqrt(np.maximum(bb - cross**2, 0))]])


def _errors(count: np.ndarray, noise: np.ndarray, cells: _Cells) -> dict[str, np.ndarray]:
    """Return errors of both models [2, samples] for counts [samples, cells] and noise in the sums of confidence."""
    errors: dict[str, list[np.ndarray]] = {"ECE": [], "plain squared error": [], "debiased squared error": []}
    rows = count.sum(axis=1)
    for model in (0, 1):
        order = np.argsort(cells.bins[model], kind="stable")
        starts = np.flatnonzero(np.diff(cells.bins[model][order], prepend=-1))
        parts = (
            count,
            count * (cells.correct[model] - cells.mean[model]) - noise[model],
            count * (cells.squares[model] / cells.rows),
        )
        size, residual, spread = (np.add.reduceat(part[:, order], starts, axis=1) for part in parts)
        paired = size > 1
        unbiased = np.where(paired, (residual**2 - spread) / np.maximum(size - 1, 1), 0)
        errors["ECE"].append(np.abs(residual).sum(axis=1) / rows)
        errors["plain squared error"].append((residual**2 / np.maximum(size, 1)).sum(axis=1) / rows)
        with np.errstate(invalid="ignore"):  # NaN where no bin has two rows
            errors["debiased squared error"].append(unbiased.sum(axis=1) / (size * paired).sum(axis=1))
    return {name: np.stack(values) for name, values in errors.items()}
