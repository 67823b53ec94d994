"""Names of classes: labels that are names, or numbers that are names, become places among the scores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from mixjax.calibration.rows.clean import as_mask
from mixjax.numerics.arguments import refuse_own_mask
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
    wrong = isinstance(classes, str | bytes | set | frozenset) or not hasattr(classes, "__len__")
    if wrong or np.ndim(named := _items(classes)) != 1:
        raise TypeError("classes must be a list of names, in the order of the scores")
    names = tuple(str(int(name)) if _is_whole(name) else _text(name) for name in named)
    refuse_equal(names)
    return names


def refuse_equal(names: Sequence[str], called: str = "classes") -> None:
    """Raise ValueError for names of which two are the same, as 1 and 1.0 are."""
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(as_name(name), name)
        if other != name:
            raise ValueError(f"{called} must be different names, and {listed([other, name])} are the same")
    if len(first) < len(names):
        raise ValueError(f"{called} must be different names, got {listed(names)}")


def as_name(label: Any) -> str:
    """Return a label or a name as both are compared: 1.0 as 1, and truth values in lower case."""
    text = str(int(label)) if _is_whole(label) else _text(label)
    lower = text.lower()
    return lower if lower in _TRUTH else _WHOLE.sub(r"\1", text)


def places_of(names: Sequence[str]) -> dict[str, int]:
    """Return the place of each name, by `as_name`.

    The label true is the name 1 too, if no class is called true, and false is 0. The other way round, 1 and 0 are true
    and false if there are no other classes.
    """
    places = {as_name(name): place for place, name in enumerate(names)}
    alone = places.keys() == _TRUTH.keys()
    for truth, number in _TRUTH.items():
        if number in places:
            places.setdefault(truth, places[number])
        elif alone:
            places[number] = places[truth]
    return places


def places_among(names: Sequence[str], labels: Any, where: ArrayLike | None = None) -> Any:
    """Return the place of each label among the names, 0 in masked rows.

    Numbers of which none is a name are places already, and are returned as they are.

    Raises:
      ValueError: for the first other label that is none of the names or is missing, and for a mask of another shape.
    """
    given = label_array(labels)
    mask = np.ones(given.shape, bool) if where is None else np.asarray(as_mask(where))
    if mask.shape != given.shape:
        raise ValueError(f"where must have the shape of labels, {given.shape}, got {mask.shape}")
    found = _places(places_of(names), given)
    wrong = (found < 0) & mask
    if not wrong.any():
        return np.where(mask, found, 0)
    row = int(np.argmax(wrong))
    first = given.ravel()[row]
    if (wrong == mask).all() and first is not None and not isinstance(first, str | bytes):
        return labels
    shown = repr(printable(_text(first), 40))
    raise ValueError(f"labels must be among {listed(names)}, got {shown} in row {row}; where= leaves rows out")


def any_is_named(names: Sequence[str], labels: Any) -> bool:
    """Return whether some label is one of the names."""
    return bool((_places(places_of(names), label_array(labels)) >= 0).any())


def label_array(labels: Any) -> np.ndarray:
    """Return labels as an array, in which a list keeps its objects; TypeError for one with a mask of its own."""
    refuse_own_mask("labels", labels)
    return np.asarray(labels if hasattr(labels, "__array__") else np.array(labels, object))


def _places(places: dict[str, int], labels: np.ndarray) -> np.ndarray:
    """Return the place of each label, -1 for one that is missing or no name; each text is looked up once."""

    def place(label: Any) -> int:
        return -1 if _is_missing(label) else places.get(as_name(label), -1)

    if labels.dtype == object:
        of_text = cache(place)
        codes = [of_text(label) if isinstance(label, str) else place(label) for label in labels.ravel()]
        return np.array(codes, np.int32).reshape(labels.shape)
    different, which = np.unique(labels, return_inverse=True)
    return np.array([place(label) for label in different], np.int32)[which].reshape(labels.shape)


def _items(values: Any) -> list[Any]:
    """Return what a sequence holds; of a typed array NumPy's scalars, whose text is as short as their dtype allows."""
    return list(np.asarray(values) if hasattr(values, "__array__") else values)


def _text(label: Any) -> str:
    return label.decode(errors="replace") if isinstance(label, bytes) else str(label)


def _is_whole(value: Any) -> bool:
    return isinstance(value, float | np.floating) and float(value).is_integer()


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def listed(names: Sequence[object]) -> str:
    """Return the first names, fit to be shown."""
    return ", ".join(printable(name, 40) for name in names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
