"""What a DataFrame says of its columns and rows: names of classes, and the order of an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mixjax.report.class_names import any_is_named, as_name, class_names, label_array, listed, places_of

_PREFIXES = ("prob_", "logit_")  # of the columns of files


def classes_of(scores: Mapping[str, Any], labels: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the classes, which the columns of DataFrames have; none if labels are places.

    Labels are names if they are text, or if one of them is the name of a column.

    Raises:
      TypeError: for labels that are text, if the scores are no DataFrames with names of their own.
      ValueError: for two models whose columns differ: their order, for places; else their names.
    """
    columns = {model: column_names(values) for model, values in scores.items()}
    first = next(iter(columns.values()))
    if any(map(are_names, labels.values())):
        if not all(columns.values()):
            raise TypeError("labels that are names need classes=, the list of all names in the order of the scores")
    elif numbers := _numbers_beside(columns):
        return numbers
    elif not (all(columns.values()) and any(any_is_named(first, values) for values in labels.values())):
        if any(other != first and sorted(other) == sorted(first) for other in columns.values()):
            raise ValueError(f"the columns of {' and '.join(columns)} are in different orders: pass classes=, the "
                             "names in the order that labels mean")  # fmt: skip
        return ()
    for model, other in columns.items():
        if sorted(map(as_name, other)) != sorted(map(as_name, first)):
            raise ValueError(f"models must have the same columns, got {listed(first)}, and {listed(other)} of {model}")
    return class_names(first)


def _numbers_beside(columns: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the numbers from 0 if one model has them as columns in some order, and another has no names; else none."""
    for names in columns.values():
        numbers = tuple(map(str, range(len(names))))
        if numbers and not all(columns.values()) and sorted(map(as_name, names)) == sorted(numbers):
            return numbers
    return ()


def column_names(scores: Any) -> tuple[str, ...]:
    """Return the names of the classes in the columns of a DataFrame, which may be prob_cat for cat.

    There are none for an array, for columns that are the numbers from 0, and for those of several levels.
    """
    columns = list(getattr(scores, "column_names", getattr(scores, "columns", ())))
    numbers = all(isinstance(name, int | np.integer) and not isinstance(name, bool) for name in columns)
    if any(isinstance(name, tuple) for name in columns) or (numbers and columns == list(range(len(columns)))):
        return ()
    names = [str(name) for name in columns]
    for prefix in _PREFIXES:
        if all(name.startswith(prefix) for name in names):
            return tuple(name.removeprefix(prefix) for name in names)
    return tuple(names)


def in_order(scores: Any, names: Sequence[str]) -> Any:
    """Return the scores in the order of the names if these are the columns of a DataFrame.

    Arrays, and columns of which none is among the names, are in that order already.

    Raises:
      ValueError: for columns that are named after some classes only.
    """
    columns, wanted = (list(map(as_name, each)) for each in (column_names(scores), names))
    if columns == wanted or not set(columns) & set(wanted):
        return scores
    if sorted(columns) != sorted(wanted):
        raise ValueError(
            f"columns must have the names of all classes or of none, got {listed(columns)} for {listed(wanted)}"
        )
    place = places_of(columns)
    return np.asarray(scores)[:, [place[name] for name in wanted]]


def are_names(labels: Any) -> bool:
    """Return whether labels are text, or objects of which one is."""
    array = label_array(labels)
    return array.dtype.kind in "US" or (array.dtype == object and any(isinstance(each, str) for each in array.ravel()))


def refuse_other_columns(name: str, scores: Any) -> None:
    """Raise ValueError for a DataFrame with a column of whole numbers beside scores, as `reset_index` leaves it."""
    dtypes = list(getattr(scores, "dtypes", ())) if hasattr(scores, "columns") else []
    kinds = [getattr(dtype, "kind", "") for dtype in dtypes]
    if "f" in kinds and (
        others := [column for column, kind in zip(scores.columns, kinds, strict=True) if kind in "iu"]
    ):
        raise ValueError(f"{name} must have columns of scores only, and {listed(others)} has whole numbers")


def refuse_other_order(given: Mapping[str, Any]) -> None:
    """Raise ValueError for pandas objects with the same index in another order: rows are paired by position."""
    indexes = {
        name: values.index for name, values in given.items() if hasattr(getattr(values, "index", None), "equals")
    }
    for name, index in indexes.items():
        first, other = next(iter(indexes.items()))
        if len(index) == len(other) and not index.equals(other) and index.isin(other).all() and other.isin(index).all():
            raise ValueError(
                f"{first} and {name} have the same index in another order, and rows are paired by position: "
                "reindex one, or pass arrays (.to_numpy()) if the rows are right"
            )
