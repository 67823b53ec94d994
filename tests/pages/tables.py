"""Rows of the tables in results/, by the values of their columns."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from tests.paths import ROOT


@cache
def _read(file: str) -> pd.DataFrame:
    return pd.read_csv(ROOT / "results" / file)


def table(file: str, condition: str = "", **values: object) -> pd.DataFrame:
    """Return the rows that satisfy a condition of `DataFrame.query` and have the values given."""
    rows = _read(file)
    rows = rows.query(condition) if condition else rows
    for name, value in values.items():
        rows = rows[rows[name] == value if isinstance(value, str) else np.isclose(rows[name], value, rtol=1e-5)]
    return rows


def at(file: str, condition: str = "", **values: object) -> pd.Series:
    """Return the one row that satisfies a condition and has the values given."""
    rows = table(file, condition, **values)
    assert len(rows) == 1, f"{len(rows)} rows of {file} have {values} {condition}"
    return rows.iloc[0]
