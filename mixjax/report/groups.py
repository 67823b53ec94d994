"""Groups of rows, from one column of a file: names, whole numbers or truth values.

Rows are numbered as they are read, so that memory is that of the names and not of every row's copy: a file of a few
bytes can repeat a long name very often.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from mixjax.numerics.arguments import shown
from mixjax.report.cells import MISSING
from mixjax.runs import RunError
from mixjax.runs.untrusted import printable

MOST = 1000  # groups of a file: each has a row of a table, and a bootstrap of its own
_PART = 1 << 16  # rows to name at a time
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.0+)?")


class Groups(NamedTuple):
    """The group of each row.

    Attributes:
      column: the name of the column.
      names: of the groups, in ascending order.
      codes: of each row the place of its group in `names`, -1 for a row without a group, shape [N].
    """

    column: str
    names: list[Any]
    codes: np.ndarray

    @classmethod
    def of(cls, column: str, names: Sequence[Any], codes: np.ndarray) -> Groups:
        """Sort names, of which several may be the same, and their codes."""
        ascending = sorted(set(names))
        place = {name: number for number, name in enumerate(ascending)}
        return cls(column, ascending, np.array([*(place[name] for name in names), -1], np.int32)[codes])

    @property
    def missing(self) -> np.ndarray:
        """True for rows without a group."""
        return self.codes < 0

    def of_rows(self, rows: np.ndarray) -> Groups:
        """Return the groups of some rows."""
        return self._replace(codes=self.codes[rows])

    def name_of(self, row: int) -> Any:
        """Return the name of the group of a row that has one."""
        return self.names[self.codes[row]]

    def differ(self, other: Groups) -> np.ndarray:
        """Return where both have a group, and not the same; the number 1 and the text 1 are the same."""
        place = {str(name): number for number, name in enumerate(self.names)}
        theirs = np.array([*(place.get(str(name), -1) for name in other.names), -1])[other.codes]
        return (self.codes != theirs) & ~self.missing & ~other.missing


class Numbering:
    """Numbers of names, in the order in which they come; those of `missing` are -1."""

    def __init__(self, path: Path, column: str, missing: Sequence[Any], most: int = MOST):
        self.path, self.column, self.most = path, column, most
        self._numbers: dict[Any, int] = dict.fromkeys(missing, -1)
        self._first = len(missing)
        self._parts = [np.zeros(0, np.int32)]

    def add(self, names: Sequence[Any], places: np.ndarray | None = None) -> None:
        """Number the next rows, by their names or by the places of these, -1 for none.

        Raises:
          RunError: for more than `most` different names.
        """
        numbers, first = self._numbers, self._first
        codes = np.array([numbers.setdefault(name, len(numbers) - first) for name in names], np.int32)
        _refuse_many(self.path, self.column, len(numbers) - first, self.most)
        self._parts.append(codes if places is None else np.append(codes, np.int32(-1))[places])

    @property
    def names(self) -> list[Any]:
        """The names by their number."""
        return list(self._numbers)[self._first :]

    @property
    def codes(self) -> np.ndarray:
        """The number of each row."""
        return np.concatenate(self._parts)

    def groups(self) -> Groups:
        """Return the groups that these names are."""
        return Groups.of(self.column, self.names, self.codes)


def of_cells(numbering: Numbering, row_name: Callable[[int], str], comma: bool = False) -> Groups:
    """Return groups of numbered cells of text: whole numbers if all names are such, so that 2 comes before 10.

    With `comma`, numbers may have decimal commas.

    Raises:
      RunError: if all names are numbers, and not all are whole.
    """
    names, codes = numbering.names, numbering.codes
    texts = [name.replace(",", ".") for name in names] if comma else names
    if all(map(_WHOLE.fullmatch, texts)):
        return Groups.of(numbering.column, [int(text.partition(".")[0]) for text in texts], codes)
    fractions = [_is_fraction(text) for text in texts]
    if None not in fractions and True in fractions:
        number = fractions.index(True)
        row = int(np.argmax(codes == number))
        _refuse_other(numbering.path, numbering.column, f"{printable(names[number], 40)} in {row_name(row)}")
    return numbering.groups()


def of_array(path: Path, column: str, array: np.ndarray, row_name: Callable[[int], str]) -> Groups:
    """Return groups of an array of text, of truth values, or of numbers that are whole; some may be masked or NaN.

    Raises:
      RunError: for any other array.
    """
    if array.ndim != 1:
        raise RunError(f"{path}: {printable(column, 40)} must have shape [N], got {array.shape}")
    if array.dtype.kind == "U":
        numbering = Numbering(path, column, MISSING)
        for start in range(0, len(array), _PART):
            numbering.add(array[start : start + _PART].tolist())
        return numbering.groups()
    if array.dtype.kind not in "biuf":
        _refuse_other(path, column, str(array.dtype))
    values = np.ma.getdata(array)
    missing = np.ma.getmaskarray(array) | np.isnan(values)
    if array.dtype.kind == "f":
        broken = ~missing & ((values != np.floor(values)) | (np.abs(values) >= 2.0**53))
        if broken.any():
            row = int(np.argmax(broken))
            _refuse_other(path, column, f"{shown(values[row])} in {row_name(row)}")
        values = np.where(missing, 0, values).astype(np.int64)
    names, found = np.unique(values[~missing], return_inverse=True)
    _refuse_many(path, column, len(names), MOST)
    codes = np.full(len(values), -1, np.int32)
    codes[~missing] = found
    return Groups(column, names.tolist(), codes)


def room_of_text(metadata: Any, column: str) -> int:
    """Return the number of rows, and of 8 bytes of text that parquet has for them, by the parts of the file."""
    parts = [metadata.row_group(part) for part in range(metadata.num_row_groups)]
    chunks = [part.column(k) for part in parts for k in range(part.num_columns)]
    text = [max(0, chunk.total_uncompressed_size) for chunk in chunks if chunk.path_in_schema == column]
    return int(metadata.num_rows + sum(text) // 8)


def of_dictionary(path: Path, column: str, most: int = MOST) -> Groups:
    """Return groups of a column of text of a parquet file, which is read as a dictionary of its texts."""
    from pyarrow import compute, parquet

    numbering = Numbering(path, column, [None], most)
    with parquet.ParquetFile(path, read_dictionary=[column]) as file:
        for batch in file.iter_batches(_PART, columns=[column]):
            part = batch.column(column)
            used = compute.drop_null(compute.unique(part.indices))
            _refuse_many(path, column, len(used), most)
            places = compute.index_in(part.indices, used).fill_null(-1)
            numbering.add(part.dictionary.take(used).to_pylist(), places.to_numpy(zero_copy_only=False))
    return numbering.groups()


def is_text(path: Path, column: str, kind: Any) -> bool:
    """Return whether a type of Arrow is text, which `of_dictionary` reads, or numbers, which `of_array` reads.

    Raises:
      RunError: for a type that is neither.
    """
    from pyarrow import types

    value = kind.value_type if types.is_dictionary(kind) else kind
    text = str(value) in ("string", "large_string", "string_view")
    if not (text or types.is_integer(kind) or types.is_boolean(kind) or types.is_floating(kind)):
        _refuse_other(path, column, printable(kind))
    return text


def _is_fraction(text: str) -> bool | None:
    """Return whether a number is not whole; None for text that is no number."""
    try:
        return None if "_" in text or not text.isascii() else not float(text).is_integer()
    except ValueError:
        return None


def _refuse_other(path: Path, column: str, got: str) -> NoReturn:
    raise RunError(f"{path}: {printable(column, 40)} must be names or whole numbers, got {got}")


def _refuse_many(path: Path, column: str, count: int, most: int) -> None:
    if count > most:
        raise RunError(
            f"{path}: {printable(column, 40)} has more than {most} different values; --groups takes at most so many"
        )
