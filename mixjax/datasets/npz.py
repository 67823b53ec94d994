"""A data set in an .npz file.

| array | also as (Keras) | |
|---|---|---|
| `train_inputs`, `test_inputs` | `x_train`, `x_test` | uint8 [N, H, W, C], or [N, H, W] for one channel |
| `train_labels`, `test_labels` | `y_train`, `y_test` | whole numbers from 0, [N] or [N, 1] |
| `class_names` | | strings, one for each class; without it the classes are 0 to the largest label |
| `max_pixel` | | what is white; 255 without it |

Arrays of Python objects are pickles and are not read. A header is believed only where it agrees with the size of its
member, and a size only where the compressed bytes could unpack to it.
"""

from __future__ import annotations

import math
import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np

from mixjax.datasets.dataset import Dataset
from mixjax.datasets.files import readable
from mixjax.runs import RunError

_KEYS = {"train_inputs": "x_train", "train_labels": "y_train", "test_inputs": "x_test", "test_labels": "y_test"}
_EXPANSION = 1032  # at most, of deflate
_MOST_CLASSES = 2**16
_LIMIT = 2**36


def read_npz(path: Path) -> Dataset:
    """The data set of a file.

    Raises:
      RunError: for a file that is missing or damaged, and for arrays that are no data set.
    """
    arrays = _arrays(path)
    missing = [f"{ours} (or {keras})" for ours, keras in _KEYS.items() if ours not in arrays]
    if missing:
        raise RunError(f"{path} has no array {missing[0]}; it has {', '.join(arrays) or 'none that is known'}")
    inputs = {part: _images(path, part, arrays[part]) for part in ("train_inputs", "test_inputs")}
    labels = {part: _labels(path, part, arrays[part]) for part in ("train_labels", "test_labels")}
    largest = max(int(part.max(initial=-1)) for part in labels.values())
    names = _class_names(path, arrays.get("class_names", np.arange(largest + 1)))
    return Dataset(path.stem, path.name, **inputs, **labels, class_names=names, max_pixel=_max_pixel(path, arrays))


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays that belong to a data set, by our names."""
    names = {name: ours for ours, keras in _KEYS.items() for name in (ours, keras)}
    names |= {name: name for name in ("class_names", "max_pixel")}
    try:
        with readable(path), zipfile.ZipFile(path) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            return {names[name]: _array(path, archive, info) for name, info in members.items() if name in names}
    except (
        *(zipfile.BadZipFile, zlib.error, tokenize.TokenError, EOFError),
        *(ValueError, TypeError, SyntaxError, RuntimeError, NotImplementedError, OverflowError),
    ):
        raise RunError(f"{path} is damaged, or is not an npz file") from None


def _array(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    if info.file_size > min(_EXPANSION * (info.compress_size + 1), _LIMIT):
        raise RunError(f"{path}: {info.filename} says that it unpacks to {info.file_size} bytes, which it cannot")
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = read_header[version](member) if version in read_header else ((), False, np.dtype(object))
        if dtype.hasobject:
            raise RunError(f"{path}: {info.filename} is not an array of numbers or strings, and pickles are not read")
        if math.prod(shape) * dtype.itemsize != info.file_size - member.tell():
            raise RunError(f"{path}: {info.filename} is damaged: it does not hold the {shape} that its header says")
    with archive.open(info) as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _images(path: Path, part: str, array: np.ndarray) -> np.ndarray:
    if array.dtype != np.uint8 or array.ndim not in (3, 4):
        raise RunError(
            f"{path}: {part} must be uint8 of shape [N, H, W, C] or [N, H, W], got {array.dtype} {array.shape}; "
            "store pixels as they are, from 0 to 255"
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


def _class_names(path: Path, names: np.ndarray) -> tuple[str, ...]:
    if names.ndim != 1 or not 0 < len(names) <= _MOST_CLASSES:
        raise RunError(f"{path}: class_names must be one string for each class, got shape {names.shape}")
    return tuple(map(str, names.tolist()))


def _max_pixel(path: Path, arrays: dict[str, np.ndarray]) -> int:
    stored = arrays.get("max_pixel", np.array(255))
    if stored.size != 1 or not np.issubdtype(stored.dtype, np.integer) or not 0 < stored.item() < 256:
        raise RunError(f"{path}: max_pixel must be a whole number from 1 to 255, got {stored!r}")
    return stored.item()
