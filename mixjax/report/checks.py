"""Checks of the arrays of a file: each failure is a `RunError`, one sentence with the row and the column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from mixjax.calibration.rows.clean import is_share
from mixjax.calibration.rows.predictions import slack_of_rows
from mixjax.numerics.arguments import shown
from mixjax.report.class_names import listed
from mixjax.report.columns import Columns, is_table
from mixjax.report.groups import Groups
from mixjax.report.numbers import row_count
from mixjax.runs import RunError
from mixjax.runs.untrusted import printable


def column(path: Path, columns: Columns, name: str) -> np.ndarray:
    """Return the array or column of a name, which must be there and hold real numbers."""
    if name not in columns.arrays:
        raise absent(path, columns, name)
    array = columns.arrays[name]
    if array.dtype.kind not in "biuf":
        raise RunError(f"{path}: {name} must be real numbers, got {array.dtype}")
    return array


def groups_of(path: Path, columns: Columns, name: str | None, rows: int) -> Groups | None:
    """Return the groups in the array or column of a name, which must be there and have as many rows; None for None."""
    if name is None:
        return None
    if columns.groups is None:
        raise absent(path, columns, name)
    if len(columns.groups.codes) != rows:
        shown = printable(name, 40)
        raise RunError(f"{path}: {shown} has {row_count(len(columns.groups.codes))} and the predictions have {rows}")
    return columns.groups


def absent(path: Path, columns: Columns, name: str) -> RunError:
    """Return the error that says what is there instead."""
    there = listed(columns.names) or "none"
    return RunError(f"{path} has no {'column' if is_table(path) else 'array'} {name!r}; it has {there}")


def check_real(path: Path, name: str, scores: np.ndarray) -> None:
    """Raise RunError for booleans where numbers should be."""
    if scores.dtype == bool:
        raise RunError(f"{path}: {name} must be real numbers, got {scores.dtype}")


def check_lengths(path: Path, name: str, values: np.ndarray, other_name: str, other: np.ndarray) -> None:
    """Raise RunError unless two arrays have the same number of rows, which is not 0."""
    if len(values) != len(other):
        raise RunError(f"{path}: {name} has {row_count(len(values))} and {other_name} has {len(other)}")
    if len(values) == 0:
        raise RunError(f"{path} has no rows")


def check_shapes(
    path: Path, name: str, scores: np.ndarray, labels_name: str, labels: np.ndarray, least: int, shape: str
) -> None:
    """Raise RunError unless `scores` have `least` columns or more, as `shape` says, and `labels` [N] as many rows."""
    if scores.ndim == 1 and labels.ndim == 2:
        shapes = f"{name} has shape {scores.shape} and {labels_name} {labels.shape}"
        raise RunError(f"{path}: {shapes}: are they swapped? {name} must have {shape}")
    if scores.ndim != 2 or scores.shape[1] < least:
        raise RunError(f"{path}: {name} must have {shape}, got shape {scores.shape}")
    if labels.ndim != 1:
        raise RunError(f"{path}: {labels_name} must have shape [N], got {labels.shape}; one-hot rows are not labels")
    check_lengths(path, name, scores, labels_name, labels)


def check_whole(path: Path, columns: Columns, name: str, labels: np.ndarray) -> None:
    """Raise RunError unless labels are whole numbers; pandas makes floats of them where one is missing."""
    if labels.dtype.kind != "f":
        return
    values = np.ma.getdata(labels)
    whole = (values == np.floor(values)) & (np.abs(values) < 2.0**53)
    broken = ~np.ma.getmaskarray(labels) & ~np.isnan(values) & ~whole
    if broken.any():
        row = int(np.argmax(broken))
        raise RunError(
            f"{path}: {name} must be whole numbers, got {labels.dtype} ({values[row]} in {columns.row_name(row)})"
        )


def check_missing(
    name: str, missing: np.ndarray, row_name: Callable[[int], str], drop: bool, groups: Groups | None = None
) -> None:
    """Raise RunError if rows of the file `name` are missing, and are not to be dropped."""
    count = int(missing.sum())
    if count and not drop:
        row = int(np.argmax(missing))
        hold, first = "holds" if count == 1 else "hold", row_name(row)
        if groups is not None and groups.missing[row]:
            first += f" in column {printable(groups.column, 40)}"
        raise RunError(
            f"{name}: {count} of {len(missing)} rows {hold} NaN or an empty cell, the first is {first}; "
            "--drop-nan leaves them out"
        )


@dataclass(frozen=True)
class Check:
    """A check that raises RunError for the first row that is neither missing nor right."""

    path: Path
    columns: Columns
    missing: np.ndarray

    def __call__(self, name: str, values: np.ndarray, right: np.ndarray, rule: str) -> None:
        """Raise for the first of `values` that is not `right`; `rule` is what it must be."""
        wrong = ~right
        rows = (wrong if wrong.ndim == 1 else wrong.any(axis=1)) & ~self.missing
        if rows.any():
            row = int(np.argmax(rows))
            column = "" if wrong.ndim == 1 else f", class {int(np.argmax(wrong[row]))}"
            value = values[row] if wrong.ndim == 1 else values[row][wrong[row]][0]
            raise RunError(
                f"{self.path}: {name} must be {rule}, got {shown(value)} in {self.columns.row_name(row)}{column}"
            )


def check_probs(check: Check, name: str, probs: np.ndarray) -> None:
    """Check that rows are probabilities that sum to 1."""
    with np.errstate(over="ignore"):
        slack = np.asarray(slack_of_rows(jnp.asarray(probs.astype(np.float32))))
    check(name, probs, is_share(probs, slack), "in [0, 1] (are they logits? use --logits)")
    sums = probs.sum(axis=1, dtype=np.float64)
    rule = f"rows that sum to 1 within {slack.min():g} (rounded? use --normalize)"
    check(name, sums, np.abs(sums - 1) <= slack[:, 0], rule)


def normalized(check: Check, name: str, probs: np.ndarray) -> np.ndarray:
    """Divide the rows by their sums, in at least the precision of float32."""
    check(name, probs, (probs >= 0) & (probs < np.inf), "at least 0 and finite")
    sums = probs.sum(axis=1, dtype=np.float64)
    check(name, sums, (sums > 0) & (sums < np.inf), "rows with a sum above 0")
    with np.errstate(invalid="ignore", divide="ignore"):
        return (probs / sums[:, None]).astype(np.float64 if probs.dtype.itemsize > 4 else np.float32)


def check_logits(check: Check, name: str, logits: np.ndarray) -> None:
    """Check that rows of logits have a softmax."""
    check(name, logits, logits < np.inf, "below infinity")
    largest = logits.max(axis=1)
    check(name, largest, largest > -np.inf, "above -inf for one class at least")
