"""Named columns from npz, csv and parquet files; nothing that is read can execute code.

A cell that is empty is masked. How the file itself would call a row (the line of a csv file) comes along, for whoever
has to complain about it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mixjax.datasets.npz import read_arrays
from mixjax.runs import RunError

_CHUNK = 20_000  # rows of a csv file that are text at a time
_MISSING = ("", "NA", "NaN", "nan", "null")


class Columns(NamedTuple):
    """Of a file: the names of all columns, the arrays of those that were wanted, and what it calls its rows."""

    names: list[str]
    arrays: dict[str, np.ndarray]  # np.ma.MaskedArray where cells are missing
    row_name: Callable[[int], str]


def read_columns(path: Path, wanted: Callable[[str], bool]) -> Columns:
    """The columns whose names are wanted; arrays of an npz file may have any shape.

    Raises:
      RunError: for a file that cannot be read, is empty or of an unknown kind, and for a cell that is not a number.
    """
    readers = {".npz": _npz, ".csv": _csv, ".parquet": _parquet}
    if path.suffix.lower() not in readers:
        raise RunError(f"{path}: the name must end in {', '.join(readers)}, which say how to read it")
    try:
        if path.stat().st_size == 0:
            raise RunError(f"{path} is empty")
        return readers[path.suffix.lower()](path, wanted)
    except FileNotFoundError:
        raise RunError(f"there is no file {path}") from None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None


def is_table(path: Path) -> bool:
    """Whether a column is a vector: in a csv or parquet file, but not in an npz."""
    return path.suffix.lower() != ".npz"


def _row(row: int) -> str:
    return f"row {row}"


def _npz(path: Path, wanted: Callable[[str], bool]) -> Columns:
    names, arrays = read_arrays(path, wanted)
    native = {name: array.astype(array.dtype.newbyteorder("="), copy=False) for name, array in arrays.items()}
    return Columns(names, native, _row)


def _csv(path: Path, wanted: Callable[[str], bool]) -> Columns:
    lines: list[int] = []
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            names = [name.strip() for name in next(reader, [])]
            place = {name: k for k, name in enumerate(names)}
            if len(place) < len(names):
                twice = next(name for k, name in enumerate(names) if place[name] != k)
                raise RunError(f"{path}: two columns have the name {twice!r}")
            parts: dict[str, list[Any]] = {name: [] for name in names if wanted(name)}
            rows = _cells(path, reader, len(names), lines)
            while chunk := list(islice(rows, _CHUNK)):
                start = len(lines) - len(chunk)
                for name, part in parts.items():
                    cells = np.char.strip(np.array([row[place[name]] for row in chunk]))
                    part.append(_numbers(path, name, cells, lines[start:]))
    except UnicodeDecodeError:
        raise RunError(f"{path} is not a csv file in UTF-8") from None
    except csv.Error as error:
        raise RunError(f"{path} is not a csv file: {error}") from None
    arrays = {name: np.ma.concatenate(part) if part else np.zeros(0) for name, part in parts.items()}
    return Columns(names, arrays, lambda row: f"line {lines[row]}")


def _cells(path: Path, reader: Any, width: int, lines: list[int]) -> Iterator[list[str]]:
    """Rows that are not blank; the line of each is appended to `lines`."""
    for cells in reader:
        if not cells:
            continue
        if len(cells) != width:
            raise RunError(f"{path}: line {reader.line_num} has {len(cells)} cells where the header has {width}")
        lines.append(reader.line_num)
        yield cells


def _numbers(path: Path, name: str, cells: np.ndarray, lines: list[int]) -> np.ndarray:
    """Whole numbers if all are written so, floating ones otherwise."""
    missing = np.isin(cells, _MISSING)
    filled = np.where(missing, "0", cells)
    for dtype in (np.int64, np.float64):
        try:
            return np.ma.array(filled.astype(dtype), mask=missing)
        except (ValueError, OverflowError):
            continue
    for line, cell in zip(lines, filled.tolist(), strict=True):
        try:
            float(cell)
        except ValueError:
            raise RunError(f"{path}: {name} is {cell[:40]!r} in line {line}, which is not a number") from None
    raise RunError(f"{path}: {name} holds what is not a number")


def _parquet(path: Path, wanted: Callable[[str], bool]) -> Columns:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise RunError("parquet files need pyarrow: pip install 'mixjax[report]'") from None
    try:
        file = pyarrow.parquet.ParquetFile(path)
        names = file.schema_arrow.names
        table = file.read([name for name in names if wanted(name)])
    except pyarrow.ArrowException as error:
        raise RunError(f"{path} is damaged, or is not a parquet file: {str(error).splitlines()[0]}") from None
    return Columns(names, {name: _of_arrow(path, name, table.column(name)) for name in table.column_names}, _row)


def _of_arrow(path: Path, name: str, column: Any) -> np.ndarray:
    import pyarrow

    kind = column.type
    numeric = (pyarrow.types.is_integer, pyarrow.types.is_floating, pyarrow.types.is_boolean)
    if not any(is_kind(kind) for is_kind in numeric):
        raise RunError(f"{path}: column {name} must be numbers, got {kind}")
    missing = column.is_null().to_numpy() if column.null_count else np.ma.nomask
    zero = pyarrow.scalar(False if pyarrow.types.is_boolean(kind) else 0, kind)
    return np.ma.array((column.fill_null(zero) if column.null_count else column).to_numpy(), mask=missing)
