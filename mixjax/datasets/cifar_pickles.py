"""CIFAR's Python version: its archive, or the folder that it unpacks to, as torchvision leaves it.

Its files are pickles, and are read by `mixjax.datasets.pickles`, which executes nothing. The rows are those of the
binary version, in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mixjax.datasets.archives import Layout, archive_members, images_of_planes
from mixjax.datasets.dataset import Dataset
from mixjax.datasets.known import KNOWN
from mixjax.datasets.pickles import read_pickle
from mixjax.runs import RunError
from mixjax.runs.files import read_bytes

__all__ = ["find_pickles", "read_pickles"]


_LAYOUTS = {
    "cifar10": Layout(
        "cifar-10-python.tar.gz",
        "cifar-10-batches-py",
        tuple(f"data_batch_{k}" for k in range(1, 6)),
        ("test_batch",),
        ("batches.meta",),
    ),
    "cifar100": Layout("cifar-100-python.tar.gz", "cifar-100-python", ("train",), ("test",), ("meta",)),
}
_LABELS = {"cifar10": "label", "cifar100": "fine_label"}  # in the names of entries
_BYTES = 3 * 32**2


def find_pickles(folder: Path, name: str) -> Path | None:
    """Find the folder or the archive of CIFAR's Python version in a folder, which may be itself that folder."""
    layout = _LAYOUTS[name]
    for place in (folder / layout.folder, folder):
        if (place / layout.class_names[0]).is_file() and (place / layout.test[0]).is_file():
            return place
    return folder / layout.archive if (folder / layout.archive).is_file() else None


def read_pickles(name: str, path: Path) -> Dataset:
    """Read the data set of a folder or an archive."""
    layout, known = _LAYOUTS[name], KNOWN[name]
    if path.is_dir():
        missing = [file for file in layout.files if not (path / file).is_file()]
        files = {} if missing else {file: bytes(read_bytes(path / file)) for file in layout.files}
    else:
        files = archive_members(path, layout.folder, layout.files)
        missing = [file for file in layout.files if file not in files]
    if missing:
        raise RunError(f"{path} has no {missing[0]}; {known.advice}")
    stored = {file: _read(path / file, content) for file, content in files.items()}
    (names,), label = layout.class_names, _LABELS[name]
    if tuple(stored[names].get(f"{label}_names", ())) != known.class_names:
        raise RunError(f"{path / names} does not name the classes of {name}; {known.advice}")
    train, test = ([_rows(path / file, stored[file], label) for file in part] for part in (layout.train, layout.test))
    images, labels = zip(*(map(np.concatenate, zip(*part, strict=True)) for part in (train, test)), strict=True)
    source = layout.folder if path.is_dir() else layout.archive
    return Dataset(name, source, images[0], labels[0], images[1], labels[1], known.class_names)


def _read(path: Path, content: bytes) -> Mapping[str, Any]:
    try:
        return read_pickle(content)
    except ValueError as error:
        raise RunError(f"{path} is not a file of CIFAR: {error}; get it again") from None


def _rows(path: Path, stored: Mapping[str, Any], label: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the images and the labels of a file."""
    pixels, labels = stored.get("data"), stored.get(f"{label}s")
    if not isinstance(pixels, np.ndarray) or pixels.ndim != 2 or pixels.shape[1] != _BYTES:
        raise RunError(f"{path} has no images, `data` of shape (N, {_BYTES}); get it again")
    if not isinstance(labels, list) or not all(type(label) is int and 0 <= label < 2**31 for label in labels):
        raise RunError(f"{path} has no labels, `{label}s`; get it again")
    return images_of_planes(pixels), np.array(labels, np.int32)
