"""Columns of lists in parquet files: the scores of all classes of a row in one cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mixjax.runs import RunError
from mixjax.runs.untrusted import printable


def is_list_of_numbers(kind: Any) -> bool:
    """Return whether a type of Arrow is one of lists of numbers, of any or of one length."""
    from pyarrow import types

    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)))


def count_of_numbers(metadata: Any, name: str) -> int:
    """Return how many numbers the lists of a column have, by the parts of the file: as many are made."""
    parts = [metadata.row_group(part) for part in range(metadata.num_row_groups)]
    chunks = [part.column(k) for part in parts for k in range(part.num_columns)]
    return sum(chunk.num_values for chunk in chunks if chunk.path_in_schema.startswith(f"{name}."))


def of_lists(path: Path, name: str, column: Any) -> np.ndarray:
    """Return the lists of a column as rows [N, K]; a list, or a number in it, that is missing is masked.

    Raises:
      RunError: for lists of different lengths, with the first row that differs.
    """
    from pyarrow import compute

    lengths = compute.list_value_length(column).to_numpy()
    missing = column.is_null().to_numpy()
    size = int(lengths[~missing][0]) if not missing.all() else 0
    other = ~missing & (lengths != size)
    if other.any():
        row = int(np.argmax(other))
        shown = printable(name, 40)
        raise RunError(
            f"{path}: {shown} must be lists of one length, got {size} numbers and, in row {row}, {lengths[row]:g}"
        )
    numbers = [_numbers(chunk.flatten()) for chunk in column.chunks]
    rows = np.ma.masked_all((len(missing), size), numbers[0].dtype if numbers else np.float64)
    if numbers:
        rows[~missing] = np.ma.concatenate(numbers).reshape(-1, size)
    return rows


def _numbers(flat: Any) -> np.ndarray:
    missing = flat.is_null().to_numpy(zero_copy_only=False)
    return np.ma.array(flat.fill_null(0).to_numpy(zero_copy_only=False), mask=missing)
