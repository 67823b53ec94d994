"""What a DataFrame says of its columns and rows: names of classes, and the order of an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mixjax.report.class_names import as_name, class_names, places_of


def column_names(scores: Any) -> tuple[str, ...]:
    """Return the names of the columns of a DataFrame; none for an array, or if they are the numbers from 0."""
    names = class_names(list(getattr(scores, "columns", ())))
    return () if names == tuple(map(str, range(len(names)))) else names


def in_order(scores: Any, names: Sequence[str]) -> Any:
    """Return the scores in the order of the names if these are the columns of a DataFrame; otherwise as they are."""
    columns = tuple(map(as_name, column_names(scores)))
    wanted = tuple(map(as_name, names))
    if columns == wanted or set(columns) != set(wanted):
        return scores
    place = places_of(columns)
    return np.asarray(scores)[:, [place[name] for name in wanted]]


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
