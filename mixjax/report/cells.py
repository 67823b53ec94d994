"""Cells of text as numbers: booleans, whole and floating numbers, and names of classes. An empty cell is masked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

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


def numbered(path: Path, labels: Labels, cells: Sequence[str | None], row_names: list[str]) -> np.ndarray:
    """Return the numbers of named classes; None is masked, and an empty cell unless a class has its name.

    Whole numbers are kept as they are if no cell is the name of a class: they are the places of classes already.
    """
    numbers = {name: number for number, name in enumerate(labels.classes)}
    if labels.ignored is not None:
        numbers[str(labels.ignored)] = labels.ignored
    missing = [cell is None or (cell not in numbers and cell in MISSING) for cell in cells]
    if _are_places(labels.classes, cells, missing):
        filled = ["0" if empty else str(cell) for cell, empty in zip(cells, missing, strict=True)]
        return np.ma.array([_number(cell, np.int64, True) for cell in filled], np.int64, mask=missing)
    for row, cell, empty in zip(row_names, cells, missing, strict=True):
        if cell is not None and cell not in numbers and not empty:
            name = printable(labels.column, 40)
            raise RunError(f"{path}: {name} is {cell[:40]!r} in {row}, which is not one of --classes")
    return np.ma.array([0 if cell is None else numbers.get(cell, 0) for cell in cells], np.int64, mask=missing)


def _are_places(classes: Sequence[str], cells: Sequence[str | None], missing: Sequence[bool]) -> bool:
    """Return whether the cells are whole numbers, of which none is the name of a class."""
    found = {str(cell) for cell, empty in zip(cells, missing, strict=True) if not empty}
    return found.isdisjoint(classes) and all(_is_number(cell, np.int64, True) for cell in found)


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
    if whole and cell.endswith(".0"):
        cell = cell.removesuffix(".0")
    return int(cell) if dtype is np.int64 else float(cell)


def _is_number(cell: str, dtype: type, whole: bool) -> bool:
    try:
        np.array(_number(cell, dtype, whole), dtype)
    except (ValueError, OverflowError):
        return False
    return True
