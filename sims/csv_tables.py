"""Published tables, read without trust: a damaged one is refused by its file and line."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import pandas as pd

from mixjax.runs import Location, RunError
from mixjax.runs.untrusted import printable, read_text


def read_tables(folder: Location) -> dict[str, str]:
    """Return the text of each CSV file of a published folder, by its name.

    Raises:
      RunError: for a file that is no table, by the file and its line.
    """
    paths = sorted((path for path in folder.iterdir() if path.name.endswith(".csv")), key=lambda path: path.name)
    return {path.name: _checked(path) for path in paths}


def parse_table(text: str) -> pd.DataFrame:
    """Parse a table; only an empty cell is missing."""
    return pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""], low_memory=False)


def numbers(column: pd.Series) -> pd.Series:
    """Return the cells of a column as floats: NaN where one is empty, or no number."""
    return pd.to_numeric(column, errors="coerce").astype(float)


def _checked(path: Location) -> str:
    """Return the text of a table, whose lines have one length, are distinct, and have numbers beside their errors."""
    try:
        text = read_text(path)
        rows = list(csv.reader(io.StringIO(text), strict=True))
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise RunError(f"{path}, line {line}: not text in UTF-8, so this is no table") from None
    except (ValueError, csv.Error) as error:
        raise RunError(f"{path} is no table: {error}") from None
    if not rows or not rows[0]:
        raise RunError(f"{path}, line 1: no names of columns; the file is empty or cut off")
    seen: dict[tuple[str, ...], int] = {}
    for line, row in enumerate(rows, start=1):
        if fault := _fault(row, rows[0]) or _repeats(row, seen):
            raise RunError(f"{path}, line {line}: {fault}")
        seen[tuple(row)] = line
    return text


def _fault(row: Sequence[str], names: Sequence[str]) -> str:
    """Describe what is wrong with a row by itself; empty if nothing is."""
    if len(row) != len(names):
        return f"{len(row)} cells, where the table has {len(names)} columns"
    if row is names:
        repeated = [name for name in names if names.count(name) > 1]
        return f"two columns of the name {printable(repeated[0])}" if repeated else ""
    for name, cell in zip(names, row, strict=True):
        if (name.endswith("_se") or f"{name}_se" in names) and cell and not _is_number(cell):
            return f"{printable(name)} is {printable(cell, 40)!r}, which is no number"
    return ""


def _repeats(row: Sequence[str], seen: dict[tuple[str, ...], int]) -> str:
    before = seen.get(tuple(row))
    return f"the same as line {before}" if before else ""


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
