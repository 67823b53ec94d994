"""Published tables, read without trust: a damaged one is refused by its file and line."""

from __future__ import annotations

import io

import pandas as pd

from mixjax.runs import Location, RunError
from mixjax.runs.csv_rows import read_rows
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
    """Return the text of a table that has numbers where it says how well these are known."""
    names, *rows = read_rows(path)
    known = [k for k, name in enumerate(names) if name.endswith("_se") or f"{name}_se" in names]
    for line, row in enumerate(rows, start=2):
        for k in known:
            if row[k] and not _is_number(row[k]):
                cell = printable(row[k], 40)
                raise RunError(f"{path}, line {line}: {printable(names[k])} is {cell!r}, which is not a number")
    return read_text(path)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
