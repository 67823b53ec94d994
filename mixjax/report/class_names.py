"""Names of classes: labels that are names, or numbers that are names, become places among the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mixjax.calibration.rows.clean import as_mask
from mixjax.runs.untrusted import printable
from mixjax.typing import ArrayLike

_LISTED = 12  # names in a message


def class_names(classes: Any) -> tuple[str, ...]:
    """Return the names of classes as text.

    Raises:
      TypeError: unless they are a sequence with an order: a set and a text have none, or letters.
      ValueError: for names that are not all different.
    """
    if isinstance(classes, str | bytes | set | frozenset) or np.ndim(named := list(classes)) != 1:
        raise TypeError("classes must be a list of names, in the order of the scores")
    names = tuple(_text(name) for name in np.asarray(named, object).tolist())
    if len(set(names)) < len(names):
        raise ValueError(f"classes must be different names, got {listed(names)}")
    return names


def places_among(names: Sequence[str], labels: Any, where: ArrayLike | None = None) -> Any:
    """Return the place of each label among the names, 0 in masked rows.

    Numbers of which none is a name are places already, and are returned as they are.

    Raises:
      ValueError: for the first other label that is none of the names, and for a mask of another shape.
    """
    given = np.asarray(labels if hasattr(labels, "__array__") else np.array(labels, object))
    mask = np.ones(given.shape, bool) if where is None else np.asarray(as_mask(where))
    if mask.shape != given.shape:
        raise ValueError(f"where must have the shape of labels, {given.shape}, got {mask.shape}")
    place = {name: k for k, name in enumerate(names)}
    texts = [_text(label) for label in given.ravel().tolist()]
    codes = np.array([place.get(text, -1) for text in texts], np.int32).reshape(given.shape)
    wrong = (codes < 0) & mask
    if not wrong.any():
        return np.where(mask, codes, 0)
    row = int(np.argmax(wrong))
    first = given.ravel().tolist()[row]
    if (wrong == mask).all() and first is not None and not isinstance(first, str | bytes):
        return labels
    found = repr(printable(texts[row], 40))
    raise ValueError(f"labels must be among {listed(names)}, got {found} in row {row}; where= leaves rows out")


def listed(names: Sequence[object]) -> str:
    """Return the first names, fit to be shown."""
    return ", ".join(printable(name, 40) for name in names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")


def _text(name: Any) -> str:
    """Return a name as text: a whole number in digits alone, also where a missing value made a float of it."""
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)
