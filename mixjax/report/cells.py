"""Cells of text as numbers: booleans, whole and floating numbers, and names of classes. An empty cell is masked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mixjax.report.class_names import as_name, places_of
from mixjax.runs import RunError
from mixjax.runs.untrusted import printable

NAMED = "; labels that are names need --classes NAME,NAME,... in the order of the scores"
MISSING = ("", "NA", "NaN", "nan", "null")
_BOOLEANS = {"true": True, "false": False}


class Labels(NamedTuple):
    """The column of labels, and the names of classes that may stand in it for the numbers from 0."""

    column: str
    classes: Sequence[str] = ()
    ignored: int | None = None  # a number that is no class


def numbered(path: Path, labels: Labels, cells: Sequence[str | None], row_name: Callable[[int], str]) -> np.ndarray:
    """Return the numbers of named classes; None is masked, and an empty cell unless a class has its name.

    Whole numbers and truth values of which none is the name of a class are places of classes already. The cell 1.0 is
    the name 1, since pandas writes so beside an empty cell.
    """
    named = places_of(labels.classes)
    names = {cell: as_name(cell) for cell in dict.fromkeys(cells) if cell is not None}
    names = {cell: name for cell, name in names.items() if cell not in MISSING or name in named}
    ignored = {} if labels.ignored is None else {str(labels.ignored): labels.ignored}
    counted = set(names.values()) - ignored.keys()
    if named.keys().isdisjoint(counted) and all(_is_place(name) for name in counted):
        named = {name: _BOOLEANS[name] if name in _BOOLEANS else int(name) for name in counted}
    numbers = named | ignored
    for row, cell in enumerate(cells):
        if cell in names and names[cell] not in numbers:
            shown = printable(labels.column, 40)
            raise RunError(f"{path}: {shown} is {cell[:40]!r} in {row_name(row)}, which is not one of --classes")
    found = [numbers[names[cell]] if cell in names else 0 for cell in cells]
    return np.ma.array(found, np.int64, mask=[cell not in names for cell in cells])


def _is_place(name: str) -> bool:
    return name in _BOOLEANS or _is_number(name, np.int64, True)


def numbers_of(path: Path, name: str, cells: list[str], lines: list[int], whole: bool) -> np.ndarray:
    """Parse cells as booleans or whole numbers if all are, otherwise as floating ones unless they must be `whole`."""
    missing = [cell in MISSING for cell in cells]
    said = {cell.lower() for cell, empty in zip(cells, missing, strict=True) if not empty}
    if said and said <= _BOOLEANS.keys():
        return np.ma.array([_BOOLEANS.get(cell.lower(), False) for cell in cells], bool, mask=missing)
    filled = ["0" if empty else cell for cell, empty in zip(cells, missing, strict=True)]
    dtypes = (np.int64,) if whole else (np.int64, np.float64)
    for dtype in dtypes:
        try:
            return np.ma.array([_number(cell, dtype, whole) for cell in filled], dtype, mask=missing)
        except (ValueError, OverflowError):
            continue
    line, cell = next(pair for pair in zip(lines, filled, strict=True) if not _is_number(pair[1], dtypes[-1], whole))
    what = f"a whole number of at most 64 bits{NAMED}" if whole else "a number"
    raise RunError(f"{path}: {printable(name, 40)} is {cell[:40]!r} in line {line}, which is not {what}")


def _number(cell: str, dtype: type, whole: bool) -> float:
    """Parse a cell, 1.0 as a whole number if it must be one; ValueError for numbers of Python alone, as 1_000 is."""
    if "_" in cell or not cell.isascii():
        raise ValueError
    if whole:
        cell = as_name(cell)
    return int(cell) if dtype is np.int64 else float(cell)


def _is_number(cell: str, dtype: type, whole: bool) -> bool:
    try:
        np.array(_number(cell, dtype, whole), dtype)
    except (ValueError, OverflowError):
        return False
    return True
