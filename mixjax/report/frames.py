"""What a DataFrame says of its columns and rows: names of classes, and the order of an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mixjax.report.class_names import as_name, class_names, listed, places_of


def column_names(scores: Any) -> tuple[str, ...]:
    """Return the names of the columns of a DataFrame; none for an array, or if they are the numbers from 0.

    Raises:
      ValueError: for names that are not all different.
    """
    return class_names(_columns(scores))


def in_order(scores: Any, names: Sequence[str]) -> Any:
    """Return the scores in the order of the names if these are the columns of a DataFrame.

    Arrays, and columns of which none is among the names, are in that order already.

    Raises:
      ValueError: for columns that are named after some classes only.
    """
    columns, wanted = (list(map(as_name, each)) for each in (_columns(scores), names))
    if columns == wanted or not set(columns) & set(wanted):
        return scores
    if sorted(columns) != sorted(wanted):
        raise ValueError(
            f"columns must have the names of all classes or of none, got {listed(columns)} for {listed(wanted)}"
        )
    place = places_of(columns)
    return np.asarray(scores)[:, [place[name] for name in wanted]]


def _columns(scores: Any) -> list[Any]:
    columns = list(getattr(scores, "columns", ()))
    return [] if list(map(as_name, columns)) == list(map(str, range(len(columns)))) else columns


def are_names(labels: Any) -> bool:
    """Return whether labels are text, or objects of which one is."""
    array = np.asarray(labels if hasattr(labels, "__array__") else np.array(labels, object))
    return array.dtype.kind in "US" or (array.dtype == object and any(isinstance(each, str) for each in array.ravel()))


def refuse_other_order(given: Mapping[str, Any]) -> None:
    """Raise ValueError for pandas objects with the same index in another order: rows are paired by position."""
    indexes = {name: values.index for name, values in given.items() if hasattr(getattr(values, "index", None), "isin")}
    for name, index in indexes.items():
        first, other = next(iter(indexes.items()))
        if len(index) == len(other) and not index.equals(other) and index.isin(other).all():
            raise ValueError(
                f"{first} and {name} have the same index in another order, and rows are paired by position: "
                "reindex one, or pass arrays (.to_numpy()) if the rows are right"
            )
