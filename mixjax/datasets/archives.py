"""The archives of CIFAR as its authors publish them, read in memory: nothing is unpacked to disk.

The binary version is read. A row is one label (CIFAR-100: a coarse one and a fine one) and 3072 bytes, the red, green
and blue planes. The Python version is `mixjax.datasets.cifar_pickles`.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32

from mixjax.datasets.dataset import Dataset
from mixjax.datasets.known import KNOWN
from mixjax.runs import RunError
from mixjax.runs.files import read_bytes


class Archive(NamedTuple):
    """The content of an archive.

    Attributes:
      coarse_labels: of the training and of the test images, and their names; CIFAR-10 has none.
    """

    dataset: Dataset
    coarse_labels: tuple[Int32[np.ndarray, " N"], Int32[np.ndarray, " M"]] | None
    coarse_names: tuple[str, ...]


class Layout(NamedTuple):
    """The name of an archive, and the files of its one folder."""

    archive: str
    folder: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    class_names: tuple[str, ...]  # with the names of each kind of labels; the last are the classes

    @property
    def files(self) -> tuple[str, ...]:
        """All of the files."""
        return (*self.train, *self.test, *self.class_names)


_LAYOUTS = {
    "cifar10": Layout(
        "cifar-10-binary.tar.gz",
        "cifar-10-batches-bin",
        tuple(f"data_batch_{k}.bin" for k in range(1, 6)),
        ("test_batch.bin",),
        ("batches.meta.txt",),
    ),
    "cifar100": Layout(
        "cifar-100-binary.tar.gz",
        "cifar-100-binary",
        ("train.bin",),
        ("test.bin",),
        ("coarse_label_names.txt", "fine_label_names.txt"),
    ),
}
_SIDE = 32
_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE)


def find_archive(folder: Path, name: str) -> Path | None:
    """Find the binary archive of a data set in a folder; None if there is none."""
    layout = _LAYOUTS.get(name)
    return folder / layout.archive if layout and (folder / layout.archive).is_file() else None


def archive_name(name: str) -> str | None:
    """Return the file name of a data set's archive, or None if it is not kept in one."""
    return _LAYOUTS[name].archive if name in _LAYOUTS else None


def read_archive(name: str, path: Path) -> Archive:
    """Read a binary archive, whatever its own name."""
    layout, known = _LAYOUTS[name], KNOWN[name]
    members = archive_members(path, layout.folder, layout.files)
    missing = [file for file in layout.files if file not in members]
    if missing:
        raise RunError(f"{path} has no {layout.folder}/{missing[0]}; {known.advice}")
    names = [tuple(members[file].decode(errors="replace").split()) for file in layout.class_names]
    if names[-1] != known.class_names:
        raise RunError(f"{path}: {layout.class_names[-1]} does not name the classes of {name}; {known.advice}")
    train, test = (
        np.concatenate([_rows(path, file, members[file], len(names)) for file in files])
        for files in (layout.train, layout.test)
    )
    coarse = (_labels(train, 0), _labels(test, 0)) if len(names) == 2 else None
    for labels in coarse or ():
        if labels.max() >= len(names[0]):
            raise RunError(f"{path}: coarse label {labels.max()}, where {layout.class_names[0]} names {len(names[0])}")
    fine = len(names) - 1
    train_set, test_set = ((images_of_planes(part), _labels(part, fine)) for part in (train, test))
    dataset = Dataset(name, layout.archive, *train_set, *test_set, known.class_names)
    return Archive(dataset, coarse, names[0] if coarse else ())


def archive_members(path: Path, folder: str, files: Iterable[str]) -> dict[str, bytes]:
    """Read those of some files of a folder that are in an archive; none is larger than the archive."""
    content = read_bytes(path)
    wanted = {f"{folder}/{file}": file for file in files}
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for member in archive:
                if member.type in _FILES and member.name in wanted and member.size <= len(content):
                    file = archive.extractfile(member)
                    found[wanted[member.name]] = file.read() if file else b""
    except (tarfile.TarError, ValueError, OSError, EOFError, OverflowError) as error:
        raise RunError(f"{path} is not a tar archive, or is damaged ({error}); get it again") from None
    return found


def _rows(path: Path, file: str, content: bytes, num_labels: int) -> np.ndarray:
    width = num_labels + 3 * _SIDE**2
    if not content or len(content) % width:
        raise RunError(
            f"{path}: {file} has {len(content)} bytes, which is not a multiple of the row size {width}; get it again"
        )
    return np.frombuffer(content, np.uint8).reshape(-1, width)


def _labels(rows: np.ndarray, column: int) -> Int32[np.ndarray, " N"]:
    return rows[:, column].astype(np.int32)


def images_of_planes(rows: np.ndarray) -> np.ndarray:
    """Return color planes that follow one another, at the end of each row, as [N, 32, 32, 3]."""
    planes = rows[:, -3 * _SIDE**2 :].reshape(-1, 3, _SIDE, _SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
