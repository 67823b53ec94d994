"""Folders that tensorflow-datasets has prepared, read without it and without TensorFlow.

    DIR/NAME/VERSION/dataset_info.json      format, splits and how many examples each file has
    DIR/NAME/VERSION/label.labels.txt       names of the classes, where they have names
    DIR/NAME/VERSION/NAME-SPLIT.FORMAT-00000-of-00001, ...

FORMAT is `tfrecord`, which most users have, or `array_record`, for which the package of that name is needed. Rows come
in the order on disk, which tensorflow-datasets has shuffled: it is not that of the original files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mixjax.datasets.dataset import Dataset
from mixjax.datasets.example import parse_example
from mixjax.datasets.files import read_bytes
from mixjax.datasets.known import KNOWN
from mixjax.datasets.png import decode_pngs
from mixjax.datasets.tfrecord import read_tfrecord
from mixjax.runs import RunError

INFO = "dataset_info.json"
_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})")
_TEXT = 2**20  # bytes of a file that is text


def find_tfds(root: Path, name: str) -> Path | None:
    """The folder of the newest version of a data set that was prepared to its end, or None."""
    versions = [
        (tuple(map(int, match.groups())), info.parent)
        for info in (root / name).glob(f"*/{INFO}")
        if (match := _VERSION.fullmatch(info.parent.name))
    ]
    return max(versions, default=(None, None))[1]


def read_tfds(name: str, folder: Path) -> Dataset:
    """The data set of a folder DIR/NAME/VERSION.

    Raises:
      RunError: if files are missing or damaged, or hold other images than those of the data set.
    """
    known = KNOWN[name]
    file_format, splits = _info(folder / INFO)
    if file_format not in _READERS:
        raise RunError(f"{folder} is in format {file_format!r}; those that can be read are {', '.join(_READERS)}")
    arrays: list[np.ndarray] = []
    for split in ("train", "test"):
        if split not in splits:
            raise RunError(f"{folder / INFO} has no split {split!r}; prepare the whole data set")
        stem, counts = f"{name}-{split}.{file_format}", splits[split]
        paths = [folder / f"{stem}-{index:05d}-of-{len(counts):05d}" for index in range(len(counts))]
        parts = [_read_shard(path, count, file_format, known.shape) for path, count in zip(paths, counts, strict=True)]
        arrays += [np.concatenate([part[kind] for part in parts]) for kind in (0, 1)]
    names = known.class_names or _class_names(folder / "label.labels.txt", known.num_classes)
    return Dataset(name, f"tensorflow-datasets {folder.name}, {file_format}", *arrays, class_names=names)


def _info(path: Path) -> tuple[str, dict[str, list[int]]]:
    """Format of the files and, of each split, how many examples its files have."""
    try:
        stored = json.loads(read_bytes(path, _TEXT))
        splits = {split["name"]: [int(count) for count in split["shardLengths"]] for split in stored["splits"]}
        file_format = stored.get("fileFormat", "tfrecord")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise RunError(f"{path} is damaged or of an unknown version of tensorflow-datasets") from None
    if not isinstance(file_format, str) or not all(splits.values()):
        raise RunError(f"{path} names no files; prepare the data set again")
    return file_format, splits


def _read_shard(path: Path, count: int, file_format: str, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels of a file."""
    records = _READERS[file_format](path)
    if len(records) != count:
        raise RunError(f"{path} holds {len(records)} examples, and {INFO} says {count}; prepare the data set again")
    try:
        examples = [parse_example(record) for record in records]
        images = [_only(example, "image", bytes) for example in examples]
        labels = np.array([_only(example, "label", int) for example in examples], np.int64)
        return decode_pngs(images, shape), labels.astype(np.int32)
    except (ValueError, OverflowError) as error:
        raise RunError(f"{path} does not hold the images expected: {error}") from None


def _only(example: dict[str, Any], name: str, kind: type) -> Any:
    values = example.get(name, [])
    if len(values) != 1 or not isinstance(values[0], kind):
        raise ValueError(f"no example has one {name!r} of {kind.__name__}")
    return values[0]


def _class_names(path: Path, num_classes: int) -> tuple[str, ...]:
    """Names from a file with one a line; numbers if there is none."""
    if not path.is_file():
        return tuple(map(str, range(num_classes)))
    names = tuple(read_bytes(path, _TEXT).decode(errors="replace").split())
    if len(names) != num_classes:
        raise RunError(f"{path} names {len(names)} classes, not {num_classes}")
    return names


def _read_array_record(path: Path) -> list[bytes]:
    try:
        from array_record.python.array_record_module import ArrayRecordReader
    except ImportError:
        raise RunError(f"{path} needs array_record: pip install 'mixjax[datasets]'") from None
    if not path.is_file():
        raise RunError(f"there is no file {path}")
    try:
        return ArrayRecordReader(str(path)).read_all()
    except (RuntimeError, IndexError) as error:
        raise RunError(f"{path} is damaged: {str(error).splitlines()[0]}") from None


_READERS: dict[str, Callable[[Path], list[bytes]]] = {"tfrecord": read_tfrecord, "array_record": _read_array_record}
