"""Checks of the arrays of a file: each failure is a `RunError`, one sentence with the row and the column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mixjax.numerics.arguments import shown
from mixjax.report.columns import Columns, is_table
from mixjax.report.numbers import row_count
from mixjax.runs import RunError
from mixjax.runs.untrusted import printable


def column(path: Path, columns: Columns, name: str) -> np.ndarray:
    """Return the array or column of a name, which must be there and hold real numbers."""
    if name not in columns.arrays:
        there = ", ".join(printable(name, 40) for name in columns.names[:12]) + (
            ", ..." if len(columns.names) > 12 else ""
        )
        raise RunError(f"{path} has no {'column' if is_table(path) else 'array'} {name!r}; it has {there or 'none'}")
    array = columns.arrays[name]
    if array.dtype.kind not in "biuf":
        raise RunError(f"{path}: {name} must be real numbers, got {array.dtype}")
    return array


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


def check_missing(name: str, missing: np.ndarray, row_name: Callable[[int], str], drop: bool) -> None:
    """Raise RunError if rows of the file `name` are missing, and are not to be dropped."""
    count = int(missing.sum())
    if count and not drop:
        hold, first = "holds" if count == 1 else "hold", row_name(int(np.argmax(missing)))
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
