"""Names of classes in arrays: labels that are names become their places among the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mixjax.calibration.rows.clean import as_mask
from mixjax.runs.untrusted import printable
from mixjax.typing import ArrayLike


def places_among(classes: Sequence[Any], labels: Any, where: ArrayLike | None) -> Any:
    """Return the place of each label among the classes, 0 in masked rows; numbers are places if the classes are text.

    Raises:
      ValueError: for classes that are not all different, and for the first label that is none of them.
    """
    if len(set(classes)) < len(classes):
        raise ValueError(f"classes must be different names, got {', '.join(map(str, classes))}")
    given = np.asarray(labels)
    named = any(isinstance(label, str) for label in given.ravel().tolist())
    if not named and all(isinstance(name, str) for name in classes):
        return labels
    place = {name: k for k, name in enumerate(classes)}
    codes = np.array([place.get(label, -1) for label in given.ravel().tolist()], np.int32).reshape(given.shape)
    kept = np.ones(given.shape, bool) if where is None else np.asarray(as_mask(where)).reshape(given.shape)
    wrong = (codes < 0) & kept
    if wrong.any():
        row = int(np.argmax(wrong))
        found, names = printable(str(given.flat[row]), 40), ", ".join(printable(str(name), 40) for name in classes[:10])
        more = ", ..." if len(classes) > 10 else ""
        raise ValueError(f"labels must be among the classes {names}{more}, got {found} in row {row}")
    return np.where(kept, codes, 0)
