"""IDX files, the format of MNIST and its successors.

    00 00, type (08: bytes), number of axes d; then d lengths, 32 bits each, big-endian; then the values

A set is four files, zipped or not.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np

from mixjax.datasets.dataset import Dataset
from mixjax.datasets.known import KNOWN
from mixjax.runs import RunError
from mixjax.runs.files import read_bytes

FILES = {
    "train_inputs": "train-images-idx3-ubyte",
    "train_labels": "train-labels-idx1-ubyte",
    "test_inputs": "t10k-images-idx3-ubyte",
    "test_labels": "t10k-labels-idx1-ubyte",
}
_BYTES = 8  # the only type that these sets use


def find_idx(folder: Path) -> dict[str, Path] | None:
    """Find the four files of a folder; None if it holds none of them."""
    found = {part: path for part, name in FILES.items() if (path := _either(folder, name))}
    missing = [f"{FILES[part]}[.gz]" for part in FILES if part not in found]
    if found and missing:
        raise RunError(f"{folder} lacks {', '.join(missing)}, but holds the others of the four files")
    return found or None


def read_idx_dataset(name: str, files: dict[str, Path]) -> Dataset:
    """Read the data set of four files."""
    arrays = {part: read_idx(path, axes=3 if part.endswith("inputs") else 1) for part, path in files.items()}
    for part in ("train_inputs", "test_inputs"):
        if arrays[part].shape[1:] != (28, 28):
            size = "x".join(map(str, arrays[part].shape[1:]))
            raise RunError(f"{files[part]} holds images of {size} pixels, and those of {name} have 28x28")
    return Dataset(
        name,
        "IDX files",
        arrays["train_inputs"][..., None],
        arrays["train_labels"].astype(np.int32),
        arrays["test_inputs"][..., None],
        arrays["test_labels"].astype(np.int32),
        KNOWN[name].class_names,
    )


def read_idx(path: Path, *, axes: int) -> np.ndarray:
    """Read an IDX file of bytes with a number of axes."""
    content = read_bytes(path)
    start = 4 + 4 * axes
    if len(content) < start or content[:4] != bytes((0, 0, _BYTES, axes)):
        raise RunError(f"{path} is not an IDX file of bytes with {axes} axes: it begins with {content[:4].hex(' ')}")
    shape = struct.unpack(f">{axes}I", content[4:start])
    if 0 in shape or math.prod(shape) != len(content) - start:
        stated = " x ".join(map(str, shape))
        raise RunError(f"{path} is empty or damaged: its header says {stated} bytes, it holds {len(content) - start}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _either(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)
