"""The comparison of a published table with the same table made anew: equal, to how many digits, or where it is not.

A number agrees if it differs by no more than the tolerance times itself, by a fifth of its standard error (the column
of its name with `_se`), which is more than one of a thousand replicates that falls to the other side of a threshold, or
by 1e-6 of the largest in its column: a difference of two nearly equal numbers has few digits of its own. A standard
error agrees to 2 %, as well as a thousand replicates tell it. Both tables are rounded for print, to four or six digits.
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

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
    r"""Compare a CSV file as published with its text made anew; None where one of the two does not have it.

    Example:
      >>> from mixjax.sims.comparing import compare
      >>> compare("table.csv", "n,ece\n1,.5\n2,.25\n", "n,ece\n1,.5\n2,.26\n").text
      'different in 1 of 4 numbers, most in line 3 (n = 2): ece is 0.25 then and 0.26 now'
    """
    if then == now:
        return Comparison(file, "equal", agrees=True, identical=True)
    if then is None or now is None:
        return Comparison(file, "not published, and made now" if then is None else "published, and not made now")
    old, new = (pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""]) for text in (then, now))
    if other := {*old.columns} ^ {*new.columns}:
        text = f"different columns: {', '.join(sorted(other))} only {_side(other, old)}"
        columns = [name for name in old.columns if name in new]
        if not columns:
            return Comparison(file, text)
        then, now = (table[columns].to_csv(index=False) for table in (old, new))
        return Comparison(file, f"{text}; the others are {compare(file, then, now, tolerance).text}")
    new = new[old.columns]
    if len(old) == len(new):
        return _numbers(file, old, new, tolerance)
    names = _axes(old)
    keys = pd.MultiIndex.from_frame(old[names]), pd.MultiIndex.from_frame(new[names])
    text = f"different rows: {len(old):,} then and {len(new):,} now"
    both = old[keys[0].isin(keys[1])], new[keys[1].isin(keys[0])]
    if not names or not len(both[0]) == len(both[1]) > 0:
        return Comparison(file, text)
    first, second = (part.reset_index(drop=True) for part in both)
    in_both = _numbers(file, first, second, tolerance)
    return Comparison(file, f"{text}; the {len(both[0]):,} in both are {in_both.text}")


def _side(columns: set[str], old: pd.DataFrame) -> str:
    return "then" if columns <= {*old.columns} else "now" if not columns & {*old.columns} else "then or now"


def _numbers(file: str, old: pd.DataFrame, new: pd.DataFrame, tolerance: float) -> Comparison:
    parts = [_gaps(old, new, name) for name in old.columns]
    gap, excused = (np.stack(part, axis=1) for part in zip(*parts, strict=True))
    differs, small = (gap > tolerance) & ~excused, (gap > tolerance) & excused
    counted = np.where(differs, gap, -1) if differs.any() else np.where(small, 0, gap)
    row, column = map(int, np.unravel_index(np.argmax(counted), gap.shape))
    name = str(old.columns[column])
    where = f"line {row + 2}{_named(old, row)}: {name} is {_pair(old, new, row, name)}"
    if differs.any():
        return Comparison(file, f"different in {differs.sum():,} of {differs.size:,} numbers, most in {where}")
    largest = counted[row, column]
    text = f"equal to {math.floor(-math.log10(largest))} digits, least in {where}" if largest > 0 else "equal"
    text += f"; {small.sum():,} more differ by less than is known of them" if small.any() else ""
    return Comparison(file, text, agrees=True)


def _gaps(old: pd.DataFrame, new: pd.DataFrame, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return how far the values of a column differ, as a part of themselves, and whether that may be."""
    one, other = old[name], new[name]
    same = (one == other).to_numpy() | (one.isna() & other.isna()).to_numpy()
    if not all(pd.api.types.is_numeric_dtype(values) for values in (one, other)):
        return np.where(same, 0.0, np.inf), same
    a, b = (values.to_numpy(np.float64) for values in (one, other))
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.abs(a - b)
        gap = np.where(same, 0.0, apart / np.maximum(np.abs(a), np.abs(b)))
        error = old[f"{name}_se"].to_numpy(np.float64) if f"{name}_se" in old else 0.0
        excused = same | (apart <= _OF_ERROR * error) | (apart <= _OF_COLUMN * np.nanmax(np.abs(a), initial=0.0))
        excused |= name.endswith("_se") & (gap <= _OF_ERRORS)
    return np.where(np.isnan(gap), np.inf, gap), excused


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
    then, now = old[name].iloc[row], new[name].iloc[row]
    error = old[f"{name}_se"].iloc[row] if f"{name}_se" in old else 0
    apart = f" ({abs(now - then) / error:.2g} standard errors)" if error > 0 and np.isfinite(now - then) else ""
    return f"{_text(then)} then and {_text(now)} now{apart}"


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
