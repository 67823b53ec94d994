"""Named columns from npz, csv and parquet files; no content can execute code.

A csv file whose header has semicolons or tabs and no comma is separated by these, and with semicolons may have decimal
commas. Cells that all are true or false, in upper or lower case, are booleans. An empty cell is masked. Error messages
name a row as the file does (the line of a csv file).
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import jax.numpy as jnp
import numpy as np

from mixjax.commands import missing_package
from mixjax.report.cells import MISSING, NAMED, Labels, numbered, numbers_of
from mixjax.report.class_names import as_name, places_of
from mixjax.report.groups import Groups, Numbering, is_text, of_array, of_cells, of_dictionary, room_of_text
from mixjax.report.lists import count_of_numbers, is_list_of_numbers, of_lists
from mixjax.report.numbers import numbered_row, row_count
from mixjax.runs import RunError
from mixjax.runs.npz import read_arrays
from mixjax.runs.untrusted import printable

_CHUNK = 400_000  # cells of a csv file to hold as text at a time, of 60 bytes each
_LONGEST = 2**24  # characters of a line of a csv file
_LIMIT = 2**32  # bytes of the columns of a parquet file, unless the file itself has more


class Columns(NamedTuple):
    """The names of all columns of a file, the arrays of the wanted ones, the file's names of rows, and their groups."""

    names: list[str]
    arrays: dict[str, np.ndarray]  # np.ma.MaskedArray where cells are missing
    row_name: Callable[[int], str]
    groups: Groups | None = None


class _Chosen(NamedTuple):
    wanted: Callable[[str], bool]
    labels: Labels | None
    listed: str | None
    groups: str | None


def read_columns(
    path: Path,
    wanted: Callable[[str], bool],
    labels: Labels | None = None,
    listed: str | None = None,
    groups: str | None = None,
) -> Columns:
    """Read the columns whose names are wanted; arrays of an npz file may have any shape.

    A parquet file may have a column `listed`, too, of lists of numbers, whose array has a row for each list.

    Labels of a csv file must be whole numbers, 1.0 among them; other files state their dtypes. The column `groups`,
    which may be a wanted one, may be text.

    Raises:
      RunError: for a file that cannot be read, is empty or of an unknown kind, and for a cell that is not a number.
    """
    readers = {".npz": _npz, ".csv": _csv, ".parquet": _parquet}
    if path.suffix.lower() not in readers:
        raise RunError(f"{path}: the name must end in {', '.join(readers)}")
    try:
        if path.stat().st_size == 0:
            raise RunError(f"{path} is empty")
        return readers[path.suffix.lower()](path, _Chosen(wanted, labels, listed, groups))
    except FileNotFoundError:
        raise RunError(f"there is no file {path}") from None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {_first_line(error.strerror or error).lower()}") from None


def is_table(path: Path) -> bool:
    """Return True for a csv or parquet file, whose columns are vectors, and False for an npz."""
    return path.suffix.lower() != ".npz"


def _first_line(message: object) -> str:
    return next(iter(str(message).splitlines()), "")


def _refuse_twice(path: Path, names: list[str]) -> None:
    if len(set(names)) < len(names):
        name = Counter(names).most_common(1)[0][0]
        raise RunError(f"{path}: two columns have the name '{printable(name, 40)}'")


def _refuse_many(path: Path, rows: int, numbers: int, columns: int) -> None:
    """Raise RunError for too many numbers, which a few bytes of parquet can stand for."""
    if 8 * numbers > max(_LIMIT, path.stat().st_size):
        raise RunError(f"{path} has {row_count(rows)} in {columns} columns, which is more than {_LIMIT} bytes")


def _npz(path: Path, chosen: _Chosen) -> Columns:
    names, arrays = read_arrays(path, lambda name: chosen.wanted(name) or name == chosen.groups)
    labels, groups = chosen.labels, None
    if chosen.groups is not None and chosen.groups in arrays:
        groups = of_array(path, chosen.groups, _native(arrays[chosen.groups]), numbered_row)
    if labels and labels.classes and labels.column in arrays and arrays[labels.column].dtype.kind == "U":
        cells = arrays[labels.column]
        arrays[labels.column] = numbered(path, labels, cells.ravel().tolist(), numbered_row).reshape(cells.shape)
    else:
        _name_numbers(path, labels, arrays)
    return Columns(names, {name: _native(array) for name, array in arrays.items()}, numbered_row, groups)


def _native(array: np.ndarray) -> np.ndarray:
    """Return the array in this machine's byte order, its floats with 64 bits at most, as in JAX.

    NumPy writes a bfloat16 as two bytes without a name, and nothing else of JAX's dtypes has two.
    """
    if array.dtype == np.dtype("V2"):
        return array.view(jnp.bfloat16).astype(np.float32)
    wide = array.dtype.kind == "f" and array.dtype.itemsize > 8
    return array.astype(np.float64 if wide else array.dtype.newbyteorder("="), copy=False)


def _csv(path: Path, chosen: _Chosen) -> Columns:
    lines: list[int] = []
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            header = next(filter(str.strip, _lines(path, file)), "")
            separator = next((mark for mark in ",;\t" if mark in header), ",")  # others only if there is no comma
            file.seek(0)
            reader = csv.reader(_lines(path, file), strict=True, delimiter=separator)
            names = [name.strip() for name in next(filter(None, reader), [])]
            index = {name: k for k, name in enumerate(names)}
            _refuse_twice(path, names)
            parts: dict[str, list[Any]] = {name: [] for name in names if chosen.wanted(name)}
            groups = Numbering(path, names[index[chosen.groups]], MISSING) if chosen.groups in index else None
            named = chosen.labels if chosen.labels and chosen.labels.classes else None
            seen: dict[str, str] = {}  # each label once, however many rows have it
            rows = _cells(path, reader, len(names), lines)
            while chunk := list(islice(rows, max(1, _CHUNK // max(1, len(names))))):
                here = lines[len(lines) - len(chunk) :]
                if groups:
                    groups.add([row[index[groups.column]].strip() for row in chunk])
                for name, part in parts.items():
                    cells = _texts(chunk, index[name], separator == ";")
                    if named and name == named.column:
                        part += [seen.setdefault(cell, cell) for cell in cells]
                    else:
                        whole = chosen.labels is not None and name == chosen.labels.column
                        part.append(numbers_of(path, name, cells, here, whole))
    except UnicodeDecodeError:
        raise RunError(f"{path} is not a csv file in UTF-8") from None
    except csv.Error as error:
        raise RunError(f"{path} is not a csv file: {error}") from None

    def row_name(row: int) -> str:
        return f"line {lines[row]}"

    arrays: dict[str, np.ndarray] = {}
    if named and named.column in parts:
        arrays[named.column] = numbered(path, named, parts.pop(named.column), row_name)
    arrays |= {name: np.ma.concatenate(part) if part else np.zeros(0) for name, part in parts.items()}
    return Columns(names, arrays, row_name, of_cells(groups, row_name, separator == ";") if groups else None)


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    """Yield the lines of a file, each of fewer than `_LONGEST` characters."""
    while line := file.readline(_LONGEST):
        if len(line) == _LONGEST:
            raise RunError(f"{path} has a line of {_LONGEST} characters or more, and is not read")
        yield line


def _cells(path: Path, reader: Any, width: int, lines: list[int]) -> Iterator[list[str]]:
    """Yield rows that are not blank, and append the line of each to `lines`."""
    for cells in reader:
        if not cells:
            continue
        if len(cells) != width:
            raise RunError(f"{path}: line {reader.line_num} has {len(cells)} cells where the header has {width}")
        lines.append(reader.line_num)
        yield cells


def _texts(rows: list[list[str]], column: int, comma: bool) -> list[str]:
    """Return the cells of a column; with `comma`, they may have decimal commas."""
    cells = [row[column].strip() for row in rows]
    return [cell.replace(",", ".") for cell in cells] if comma else cells


def _parquet(path: Path, chosen: _Chosen) -> Columns:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise missing_package("pyarrow", "parquet", f"{path}, a parquet file,") from None
    try:
        file = pyarrow.parquet.ParquetFile(path)
        names = file.schema_arrow.names
        _refuse_twice(path, names)
        kinds = {name: file.schema_arrow.field(name).type for name in names}
        grouped = chosen.groups if chosen.groups in kinds else None
        text = grouped if grouped is not None and is_text(path, grouped, kinds[grouped]) else None
        named = _named_labels(path, chosen.labels, kinds)
        lists = [name for name in names if name == chosen.listed and is_list_of_numbers(kinds[name])]
        wanted = [name for name in names if chosen.wanted(name) or (name == grouped and text is None)]
        flat = [name for name in wanted if name not in (*lists, named)]
        for name in flat:
            of_labels = chosen.labels is not None and name == chosen.labels.column
            _refuse_other_kinds(path, name, kinds[name], NAMED if of_labels else "")
        rows = _rows_of(file.metadata)
        counts = [rows] * len(flat) + [count_of_numbers(file.metadata, name) for name in lists]
        counts += [room_of_text(file.metadata, name) for name in (text, named) if name is not None]
        _refuse_many(path, rows, sum(counts), len(counts))
        table = file.read(flat + lists)
        groups = of_dictionary(path, text) if text is not None else None
        labels = of_dictionary(path, named, rows) if named is not None else None
    except (pyarrow.ArrowException, ValueError) as error:
        raise RunError(f"{path} is damaged, or is not a parquet file: {printable(_first_line(error))}") from None
    arrays = {name: _of_arrow(table.column(name)) for name in flat}
    if labels is None:
        _name_numbers(path, chosen.labels, arrays)
    elif chosen.labels is not None:
        cells = [None if code < 0 else str(labels.names[code]) for code in labels.codes]
        arrays[chosen.labels.column] = numbered(path, chosen.labels, cells, numbered_row)
    if grouped is not None and text is None:
        groups = of_array(path, grouped, arrays[grouped], numbered_row)
    return Columns(
        names, arrays | {name: of_lists(path, name, table.column(name)) for name in lists}, numbered_row, groups
    )


def _name_numbers(path: Path, labels: Labels | None, arrays: dict[str, np.ndarray]) -> None:
    """Put places for numbers and truth values that are names of classes, as `numbered` does for their text."""
    if labels is None or not labels.classes or labels.column not in arrays:
        return
    found = np.ma.getdata(arrays[labels.column])
    if found.dtype.kind not in "iufb":
        return
    empty = np.ma.getmaskarray(arrays[labels.column]) | np.isnan(found)
    values, first, places = np.unique(found[~empty], return_index=True, return_inverse=True)
    cells = [as_name(value) for value in values]
    if (values == np.floor(values)).all() or not places_of(labels.classes).keys().isdisjoint(cells):
        named = numbered(path, labels, cells, lambda k: numbered_row(int(np.flatnonzero(~empty)[first[k]])))[places]
        arrays[labels.column] = np.ma.array(np.zeros(found.shape, np.int64), mask=empty)
        arrays[labels.column][~empty] = named


def _named_labels(path: Path, labels: Labels | None, kinds: dict[str, Any]) -> str | None:
    """Return the column of labels if it is text and its classes are named."""
    if labels is None or not labels.classes or labels.column not in kinds:
        return None
    return labels.column if is_text(path, labels.column, kinds[labels.column]) else None


def _rows_of(metadata: Any) -> int:
    """Return the number of rows, which decides how much to allocate and must be that of all parts."""
    parts = [metadata.row_group(part).num_rows for part in range(metadata.num_row_groups)]
    if min(parts, default=0) < 0 or sum(parts) != metadata.num_rows:
        raise ValueError(f"{metadata.num_rows} rows in all, and {sum(parts)} in its parts")
    return int(metadata.num_rows)


def _refuse_other_kinds(path: Path, name: str, kind: Any, hint: str) -> None:
    """Raise RunError for text and lists before they are read: a few bytes can stand for very many of them."""
    from pyarrow import types

    if not any(is_kind(kind) for is_kind in (types.is_integer, types.is_floating, types.is_boolean)):
        got = f"{printable(_first_line(kind))}{hint}"
        raise RunError(f"{path}: column {printable(name, 40)} must be numbers, got {got}")


def _of_arrow(column: Any) -> np.ndarray:
    import pyarrow

    missing = column.is_null().to_numpy() if column.null_count else np.ma.nomask
    zero = pyarrow.scalar(False if pyarrow.types.is_boolean(column.type) else 0, column.type)
    return np.ma.array((column.fill_null(zero) if column.null_count else column).to_numpy(), mask=missing)
