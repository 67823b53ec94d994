"""The comparison of a published table with the same table made again: equal, to how many digits, or where it differs.

A number agrees if it differs by no more than the tolerance times itself, by a fifth of its standard error (the column
of its name with `_se`), which is more than one of a thousand replicates that falls to the other side of a threshold, or
by 1e-6 of the median size of its column: a difference of two nearly equal numbers has few digits of its own. A standard
error agrees to 2 %, as well as a thousand replicates tell it. An infinity agrees with itself alone. Both tables are
rounded for print, to four or six digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from mixjax.runs.untrusted import printable

from .csv_tables import numbers, parse_table

TOLERANCE = 2e-3  # two units in the last of four printed digits
_OF_ERROR, _OF_ERRORS, _OF_COLUMN = 1 / 5, 2e-2, 1e-6


@dataclass(frozen=True)
class Comparison:
    """How a table agrees with the published one.

    Attributes:
      file: its name.
      text: in words.
      agrees: whether all its numbers do, and whatever is not a number is the same.
      identical: whether it is the same text.
    """

    file: str
    text: str
    agrees: bool = False
    identical: bool = False


def compare(file: str, then: str | None, now: str | None, tolerance: float = TOLERANCE) -> Comparison:
    r"""Compare a published CSV file with its text made again; None if one of the two is missing.

    Rows are matched by their first columns, as many as tell all rows apart.

    Example:
      >>> from mixjax.sims.comparing import compare
      >>> compare("table.csv", "n,ece\n1,.5\n2,.25\n", "n,ece\n1,.5\n2,.26\n").text
      'different in 1 of 4 numbers, most in line 3 (n = 2): ece is 0.25 then and 0.26 now'
    """
    if then == now:
        return Comparison(file, "equal", agrees=True, identical=True)
    if then is None or now is None:
        return Comparison(file, "not published, but made now" if then is None else "published, but not made now")
    old, new = map(parse_table, (then, now))
    other = {*old.columns} ^ {*new.columns}
    if not other:
        return _rows(file, old, new[old.columns], tolerance)
    text = f"different columns: {', '.join(sorted(other))} only {_side(other, old)}"
    columns = [name for name in old.columns if name in new]
    if not columns:
        return Comparison(file, text)
    return Comparison(file, f"{text}; the others are {_rows(file, old[columns], new[columns], tolerance).text}")


def _side(columns: set[str], old: pd.DataFrame) -> str:
    return "then" if columns <= {*old.columns} else "now" if not columns & {*old.columns} else "then or now"


def _rows(file: str, old: pd.DataFrame, new: pd.DataFrame, tolerance: float) -> Comparison:
    """Compare tables of the same columns."""
    if len(old) == len(new) == 0:
        return Comparison(file, "equal", agrees=True)
    partner = _partners(old, new)
    there, in_order = partner >= 0, np.arange(len(old))
    if len(old) == len(new) and (partner == in_order)[there].all():  # a changed name of a row is a changed cell
        return _numbers(file, old, new, tolerance)
    found = _numbers(file, old[there], new.iloc[partner[there]], tolerance) if there.any() else None
    if found and there.all() and len(old) == len(new):
        return replace(found, text=f"{found.text}; the rows are in another order")
    text = f"different rows: {len(old):,} then and {len(new):,} now"
    return Comparison(file, f"{text}; the {there.sum():,} in both are {found.text}" if found else text)


def _partners(old: pd.DataFrame, new: pd.DataFrame) -> np.ndarray:
    """Return the position in `new` of each row of `old`, or -1."""
    names = _axes(old)
    none = np.full(len(old), -1)
    if not names or new.duplicated(names).any():
        return none
    return pd.MultiIndex.from_frame(new[names]).get_indexer(pd.MultiIndex.from_frame(old[names]))


def _numbers(file: str, old: pd.DataFrame, new: pd.DataFrame, tolerance: float) -> Comparison:
    """Compare tables of the same columns, row by row; the index of `old` counts the rows of the file."""
    new = new.set_axis(old.index)
    parts = [_gaps(old, new, name) for name in old.columns]
    gap, excused = (np.stack(part, axis=1) for part in zip(*parts, strict=True))
    differs, small = (gap > tolerance) & ~excused, (gap > tolerance) & excused
    counted = np.where(differs, gap, -1) if differs.any() else np.where(small, 0, gap)
    row, column = map(int, np.unravel_index(np.argmax(counted), gap.shape))
    name = str(old.columns[column])
    where = f"line {old.index[row] + 2}{_named(old, row)}: {name} is {_pair(old, new, row, name)}"
    if differs.any():
        return Comparison(file, f"different in {differs.sum():,} of {differs.size:,} numbers, most in {where}")
    largest = counted[row, column]
    text = f"equal to {math.floor(-math.log10(largest))} digits, least in {where}" if largest > 0 else "equal"
    text += f"; {small.sum():,} more differ by less than their own uncertainty" if small.any() else ""
    return Comparison(file, text, agrees=True)


def _gaps(old: pd.DataFrame, new: pd.DataFrame, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return how far the values of a column differ, as a part of themselves, and whether that may be.

    Only what is a finite number is excused: an infinity is equal to itself, and text to the same text.
    """
    one, other = old[name], new[name]
    same = (one == other).to_numpy(bool) | (one.isna() & other.isna()).to_numpy()
    a, b = (numbers(values).to_numpy() for values in (one, other))
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.abs(a - b)
        gap = np.where(same, 0.0, apart / np.maximum(np.abs(a), np.abs(b)))
    error = numbers(old[f"{name}_se"]).to_numpy() if f"{name}_se" in old else np.zeros(len(old))
    known = np.maximum(_OF_COLUMN * _typical(a), np.where(np.isfinite(error), _OF_ERROR * error, 0.0))
    excused = (apart <= known) | (name.endswith("_se") & (gap <= _OF_ERRORS))
    return np.where(np.isnan(gap), np.inf, gap), same | (np.isfinite(apart) & excused)


def _typical(values: np.ndarray) -> float:
    """Return the median size of finite values other than 0, which few huge ones do not move; 0 where there are none."""
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    return float(np.quantile(sizes, 0.5, method="lower")) if sizes.size else 0.0


def _axes(table: pd.DataFrame) -> list[str]:
    """Return the first columns, as many as tell all rows apart; none if no number of them does."""
    counts = range(1, table.shape[1])
    count = next((count for count in counts if not table.iloc[:, :count].duplicated().any()), 0)
    return list(table.columns[:count])


def _named(table: pd.DataFrame, row: int) -> str:
    """Return the row in words: by its first columns, as many as tell all rows apart, without those of one value."""
    varied = (name for name in _axes(table) if table[name].nunique() > 1)
    words = [f"{name} = {_text(table[name].iloc[row])}" for name in varied]
    return f" ({', '.join(words)})" if words else ""


def _pair(old: pd.DataFrame, new: pd.DataFrame, row: int, name: str) -> str:
    """Return both values of a cell, and by how many standard errors they differ, if there is one."""
    apart = abs(numbers(new[name]).iloc[row] - numbers(old[name]).iloc[row])
    error = numbers(old[f"{name}_se"]).iloc[row] if f"{name}_se" in old else 0.0
    known = np.isfinite(apart) and 0 < error < np.inf
    errors = f" ({apart / error:.2g} standard errors)" if known else ""
    return f"{_text(old[name].iloc[row])} then and {_text(new[name].iloc[row])} now{errors}"


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else printable(value, 40)
