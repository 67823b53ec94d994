"""Names of classes: labels that are names, or numbers that are names, become places among the scores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from mixjax.calibration.rows.clean import as_mask
from mixjax.runs.untrusted import printable
from mixjax.typing import ArrayLike

_LISTED = 12  # names in a message
_TRUTH = {"true": "1", "false": "0"}
_WHOLE = re.compile(r"^([-+]?\d+)\.0+$")


def class_names(classes: Any) -> tuple[str, ...]:
    """Return the names of classes as text.

    Raises:
      TypeError: unless they are a sequence with an order: a set and a text have none, or letters.
      ValueError: for names that are not all different.
    """
    if isinstance(classes, str | bytes | set | frozenset) or np.ndim(named := _items(classes)) != 1:
        raise TypeError("classes must be a list of names, in the order of the scores")
    names = tuple(str(int(name)) if _is_whole(name) else str(name) for name in named)
    refuse_equal(names)
    return names


def refuse_equal(names: Sequence[str], called: str = "classes") -> None:
    """Raise ValueError for names of which two are the same, as 1 and 1.0 are."""
    if len(set(map(as_name, names))) < len(names):
        raise ValueError(f"{called} must be different names, got {listed(names)}")


def as_name(label: Any) -> str:
    """Return a label or a name as both are compared: 1.0 as 1, and truth values in lower case."""
    text = str(int(label)) if _is_whole(label) else str(label)
    lower = text.lower()
    return lower if lower in _TRUTH else _WHOLE.sub(r"\1", text)


def places_of(names: Sequence[str]) -> dict[str, int]:
    """Return the place of each name, by `as_name`; "true" and "1" are one name unless both are there, as 0 is false."""
    places = {as_name(name): place for place, name in enumerate(names)}
    for truth, number in _TRUTH.items():
        for name, other in ((truth, number), (number, truth)):
            if name in places:
                places.setdefault(other, places[name])
    return places


def places_among(names: Sequence[str], labels: Any, where: ArrayLike | None = None) -> Any:
    """Return the place of each label among the names, 0 in masked rows.

    Numbers of which none is a name are places already, and are returned as they are.

    Raises:
      ValueError: for the first other label that is none of the names or is missing, and for a mask of another shape.
    """
    given = np.asarray(labels if hasattr(labels, "__array__") else np.array(labels, object))
    mask = np.ones(given.shape, bool) if where is None else np.asarray(as_mask(where))
    if mask.shape != given.shape:
        raise ValueError(f"where must have the shape of labels, {given.shape}, got {mask.shape}")
    places, each = places_of(names), _items(given.ravel())
    codes = [-1 if _is_missing(label) else places.get(as_name(label), -1) for label in each]
    found = np.array(codes, np.int32).reshape(given.shape)
    wrong = (found < 0) & mask
    if not wrong.any():
        return np.where(mask, found, 0)
    row = int(np.argmax(wrong))
    if (wrong == mask).all() and each[row] is not None and not isinstance(each[row], str | bytes):
        return labels
    shown = repr(printable(str(each[row]), 40))
    raise ValueError(f"labels must be among {listed(names)}, got {shown} in row {row}; where= leaves rows out")


def _items(values: Any) -> list[Any]:
    """Return what a sequence holds; of a typed array NumPy's scalars, whose text is as short as their dtype allows."""
    return list(np.asarray(values) if hasattr(values, "__array__") else values)


def _is_whole(value: Any) -> bool:
    return isinstance(value, float | np.floating) and float(value).is_integer()


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def listed(names: Sequence[object]) -> str:
    """Return the first names, fit to be shown."""
    return ", ".join(printable(name, 40) for name in names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
