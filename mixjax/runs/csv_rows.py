"""CSV files that need not be trusted: a damaged one is refused, with its line."""

from __future__ import annotations

import csv
import io
from collections.abc import Hashable, Sequence

from mixjax.runs.errors import RunError
from mixjax.runs.storage import Location
from mixjax.runs.untrusted import printable, read_text


def read_rows(path: Location) -> list[list[str]]:
    """Read a table: the names of its columns, all different, and rows of as many cells, all different.

    Raises:
      FileNotFoundError, OSError: as `open` does.
      RunError: for anything else, by the file and its line.
    """
    try:
        rows = list(csv.reader(io.StringIO(read_text(path)), strict=True))
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise RunError(f"{path}, line {line}: not text in UTF-8, so this is no table") from None
    except (ValueError, csv.Error) as error:
        raise RunError(f"{path} is not a table: {error}") from None
    if not rows or not rows[0]:
        raise RunError(f"{path}, line 1: no names of columns; the file is empty or cut off")
    for line, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise RunError(f"{path}, line {line}: {len(row)} cells, where the table has {len(rows[0])} columns")
    if twice := _twice(rows[0]):
        raise RunError(f"{path}, line 1: two columns are named {printable(rows[0][twice[0]])}")
    if twice := _twice([tuple(row) for row in rows]):
        raise RunError(f"{path}, line {twice[1] + 1}: the same as line {twice[0] + 1}")
    return rows


def _twice(values: Sequence[Hashable]) -> tuple[int, int] | None:
    """Return the positions of the first two equal values; None if all differ."""
    seen: dict[Hashable, int] = {}
    for position, value in enumerate(values):
        if value in seen:
            return seen[value], position
        seen[value] = position
    return None
