"""A data set in an .npz file.

| array | also as (Keras) | |
|---|---|---|
| `train_inputs`, `test_inputs` | `x_train`, `x_test` | uint8 [N, H, W, C], or [N, H, W]; others by a named scale |
| `train_labels`, `test_labels` | `y_train`, `y_test` | whole numbers from 0, [N] or [N, 1] |
| `class_names` | | strings, one for each class; without it 0 to the largest label, each with a training row |
| `max_pixel` | | what is white; 255 without it |

Damaged files, and headers that promise more than there is, are refused: see `mixjax.runs.npz`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mixjax.datasets.dataset import Dataset
from mixjax.datasets.pixels import Pixels, as_bytes
from mixjax.runs import RunError
from mixjax.runs.npz import read_arrays

_KEYS = {"train_inputs": "x_train", "train_labels": "y_train", "test_inputs": "x_test", "test_labels": "y_test"}
_NAMES = (
    {ours: ours for ours in (*_KEYS, "class_names", "max_pixel")} | {keras: ours for ours, keras in _KEYS.items()}
)  # fmt: skip
_ADVICE = ", or name their scale: pixels 'bytes' for 0 to 255, 'unit' for 0 to 1, 'sixteen-bit' for 0 to 65535"
_MOST_CLASSES = 2**16
_MOST_CHANNELS = 4  # of an array that can be taken for one with channels first


def read_npz(path: Path, pixels: Pixels = "stored") -> Dataset:
    """Read the data set of a file, whose images are uint8 or have the scale that is named."""
    arrays = {_NAMES[name]: array for name, array in read_arrays(path, _NAMES.__contains__)[1].items()}
    missing = [f"{ours} (or {keras})" for ours, keras in _KEYS.items() if ours not in arrays]
    if missing:
        raise RunError(f"{path} has no array {missing[0]}; it has {', '.join(arrays) or 'none that is known'}")
    white = _max_pixel(path, arrays)
    inputs = {part: _images(path, part, arrays[part], pixels, white) for part in ("train_inputs", "test_inputs")}
    labels = {part: _labels(path, part, arrays[part]) for part in ("train_labels", "test_labels")}
    names = _class_names(path, arrays["class_names"]) if "class_names" in arrays else _numbers(path, **labels)
    return Dataset(path.stem, path.name, **inputs, **labels, class_names=names, max_pixel=white)


def _images(path: Path, part: str, array: np.ndarray, pixels: Pixels, white: int) -> np.ndarray:
    if (array.dtype != np.uint8 and pixels == "stored") or array.ndim not in (3, 4):
        raise RunError(
            f"{path}: {part} must be uint8 of shape [N, H, W, C] or [N, H, W], got {array.dtype} {array.shape}; "
            f"store pixels as they are, from 0 to 255{_ADVICE if array.dtype != np.uint8 else ''}"
        )
    try:
        array = as_bytes(array, pixels, white)
    except (TypeError, ValueError) as error:
        raise RunError(f"{path}: {part} with pixels={pixels!r} must be {error}") from None
    if array.ndim == 4 and array.shape[1] <= _MOST_CHANNELS < array.shape[3]:
        raise RunError(
            f"{path}: {part} of shape {array.shape} seem to have channels first; "
            f"store np.moveaxis({part}, 1, -1), of shape [N, H, W, C]"
        )
    return array[..., None] if array.ndim == 3 else array


def _labels(path: Path, part: str, array: np.ndarray) -> np.ndarray:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise RunError(f"{path}: {part} must be whole numbers of shape [N], got {array.dtype} {array.shape}")
    wrong = (array < 0) | (array >= _MOST_CLASSES)
    if wrong.any():
        raise RunError(f"{path}: {part} must be in [0, {_MOST_CLASSES}), got {array[wrong][0]} in row {wrong.argmax()}")
    return array.astype(np.int32)


def _numbers(path: Path, train_labels: np.ndarray, test_labels: np.ndarray) -> tuple[str, ...]:
    """Return 0 to the largest label as names; refuse labels from 1, with gaps, and those of test rows alone."""
    classes = 1 + max(int(part.max(initial=-1)) for part in (train_labels, test_labels))
    absent = np.setdiff1d(np.arange(classes), train_labels)
    if absent.size:
        elsewhere = "test rows have" if (test_labels == absent[0]).any() else f"is below the largest, {classes - 1}"
        raise RunError(
            f"{path}: no training row has label {absent[0]}, which {elsewhere}; "
            "number the classes from 0 without gaps, or name every class in class_names"
        )
    return tuple(map(str, range(classes)))


def _class_names(path: Path, names: np.ndarray) -> tuple[str, ...]:
    if names.ndim != 1 or names.dtype.kind != "U" or not 0 < len(names) <= _MOST_CLASSES:
        raise RunError(f"{path}: class_names must be one string for each class, got {names.dtype} {names.shape}")
    try:
        names.tobytes().decode("utf-32-be" if names.dtype.str[0] == ">" else "utf-32-le")
    except ValueError:  # NumPy would make strings of them that nothing can print
        raise RunError(f"{path}: class_names contain invalid characters") from None
    return tuple(names.tolist())


def _max_pixel(path: Path, arrays: dict[str, np.ndarray]) -> int:
    stored = arrays.get("max_pixel", np.array(255))
    if stored.size != 1 or not np.issubdtype(stored.dtype, np.integer) or not 0 < stored.item() < 256:
        raise RunError(f"{path}: max_pixel must be a whole number from 1 to 255, got {stored.dtype} {stored.shape}")
    return stored.item()
