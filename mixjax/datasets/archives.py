"""The archives of CIFAR as its authors publish them, read in memory: nothing is unpacked to disk.

Read is the binary version: a row is one label (CIFAR-100: a coarse one and a fine one) and 3072 bytes, the red, green
and blue planes. The Python version holds pickles, which can execute code when they are read, and is refused.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mixjax.datasets.dataset import Dataset
from mixjax.datasets.files import read_bytes
from mixjax.datasets.known import KNOWN
from mixjax.runs import RunError


class _Layout(NamedTuple):
    """Where things are in an archive."""

    archive: str
    pickles: str
    folder: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    class_names: str
    labels: int  # bytes before the pixels; the last is the label


_LAYOUTS = {
    "cifar10": _Layout(
        "cifar-10-binary.tar.gz",
        "cifar-10-python.tar.gz",
        "cifar-10-batches-bin",
        tuple(f"data_batch_{k}.bin" for k in range(1, 6)),
        ("test_batch.bin",),
        "batches.meta.txt",
        1,
    ),
    "cifar100": _Layout(
        "cifar-100-binary.tar.gz",
        "cifar-100-python.tar.gz",
        "cifar-100-binary",
        ("train.bin",),
        ("test.bin",),
        "fine_label_names.txt",
        2,
    ),
}


def find_archive(folder: Path, name: str) -> Path | None:
    """The binary archive of a data set in a folder, or None.

    Raises:
      RunError: if only the Python version is there.
    """
    layout = _LAYOUTS.get(name)
    if layout is None or (folder / layout.archive).is_file():
        return layout and folder / layout.archive
    if (folder / layout.pickles).is_file():
        raise RunError(
            f"{folder / layout.pickles} holds pickles, which can execute code and are not read; {KNOWN[name].advice}"
        )
    return None


def read_archive(name: str, path: Path) -> Dataset:
    """The data set of a binary archive, whatever the archive's own name.

    Raises:
      RunError: if it is damaged, or not the archive of this data set.
    """
    layout, known = _LAYOUTS[name], KNOWN[name]
    members = _members(path, layout)
    missing = [f for f in (*layout.train, *layout.test, layout.class_names) if f not in members]
    if missing:
        raise RunError(f"{path} has no {layout.folder}/{missing[0]}; {known.advice}")
    train, test = ([_rows(path, layout, f, members[f]) for f in files] for files in (layout.train, layout.test))
    arrays = [np.concatenate([part[kind] for part in split]) for split in (train, test) for kind in (0, 1)]
    names = tuple(members[layout.class_names].decode(errors="replace").split())
    if len(names) != known.num_classes:
        raise RunError(f"{path}: {layout.class_names} names {len(names)} classes, not {known.num_classes}")
    return Dataset(name, layout.archive, *arrays, class_names=names)


def _members(path: Path, layout: _Layout) -> dict[str, bytes]:
    """Contents of the files that belong to the data set."""
    content = read_bytes(path)
    wanted = {f"{layout.folder}/{file}": file for file in (*layout.train, *layout.test, layout.class_names)}
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for member in archive:
                if member.isreg() and member.name in wanted and member.size <= len(content):
                    file = archive.extractfile(member)
                    found[wanted[member.name]] = file.read() if file else b""
    except (tarfile.TarError, ValueError, OSError, EOFError, OverflowError) as error:
        raise RunError(f"{path} is not a tar archive, or is damaged: {error}") from None
    return found


def _rows(path: Path, layout: _Layout, file: str, content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Images [N, 32, 32, 3] and labels of one file of an archive."""
    width = layout.labels + 3 * 32 * 32
    if not content or len(content) % width:
        raise RunError(f"{path}: {file} has {len(content)} bytes, which are not rows of {width}")
    rows = np.frombuffer(content, np.uint8).reshape(-1, width)
    planes = rows[:, layout.labels :].reshape(-1, 3, 32, 32)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), rows[:, layout.labels - 1].astype(np.int32)
