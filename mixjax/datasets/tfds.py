"""Folders that tensorflow-datasets has prepared, read without TensorFlow.

    DIR/NAME/VERSION/dataset_info.json      format, splits and how many examples each file has
    DIR/NAME/VERSION/NAME-SPLIT.FORMAT-00000-of-00001, ...

FORMAT is `tfrecord`, which most users have, or `array_record`. Only the definition of an example is
used of the package itself; nothing that `features.json` names is imported.

Rows come in the order of the authors' files, as from an archive, so that results do not depend on where a data set was
read from. On disk they are sorted by the MD5 of split and number, which is undone; CIFAR's have their number in `id`.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mixjax.datasets.dataset import Dataset
from mixjax.datasets.known import KNOWN
from mixjax.datasets.packages import import_optional
from mixjax.datasets.png import decode_pngs
from mixjax.datasets.tfrecord import read_tfrecord
from mixjax.runs import RunError
from mixjax.runs.files import LIMIT, read_bytes

INFO = "dataset_info.json"
_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})")
_NAMING = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
_TEXT = 2**20  # bytes of a file that is text
_FORMATS = ("tfrecord", "array_record")
_AGAIN = "prepare the data set again"


class _Example(NamedTuple):
    image: bytes
    label: int
    number: int | None  # of its row in the authors' files, where it is stored


def find_tfds(root: Path, name: str) -> Path | None:
    """Find the folder of the newest version of a data set; None if there is none."""
    folders = list((root / name).iterdir()) if (root / name).is_dir() else []
    versions = {
        tuple(map(int, match.groups())): folder
        for folder in folders
        if (match := _VERSION.fullmatch(folder.name)) and (folder / INFO).is_file()
    }
    unfinished = sorted(f for f in folders if "incomplete" in f.name or _VERSION.fullmatch(f.name))
    if unfinished and not versions:
        raise RunError(f"{unfinished[0]} was not completely prepared; remove it and {_AGAIN}")
    return versions[max(versions)] if versions else None


def read_tfds(name: str, folder: Path) -> Dataset:
    """Read the data set of a folder DIR/NAME/VERSION."""
    known, (file_format, counts) = KNOWN[name], _info(folder / INFO)
    train, test = (
        _split(folder, f"{name}-{split}.{file_format}", counts.get(split, []), known.shape, size)
        for split, size in zip(("train", "test"), known.sizes, strict=True)
    )
    return Dataset(name, f"tensorflow-datasets {folder.name}, {file_format}", *train, *test, known.class_names)


def _split(
    folder: Path, stem: str, counts: list[int], shape: tuple[int, int, int], size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Read images and labels of the files STEM-00000-of-..., in the authors' order."""
    if sum(counts) != size:
        raise RunError(f"{folder} has {sum(counts)} examples in {stem}, and should have {size}; {_AGAIN}")
    paths = [folder / f"{stem}-{index:05d}-of-{len(counts):05d}" for index in range(len(counts))]
    parts = [_shard(path, count, shape) for path, count in zip(paths, counts, strict=True)]
    images, labels, numbers = (np.concatenate(kind) for kind in zip(*parts, strict=True))
    order = np.argsort(_numbers(folder / stem, numbers))
    return images[order], labels[order]


def _info(path: Path) -> tuple[str, dict[str, list[int]]]:
    """Return the format of the files, and how many examples each file of a split has."""
    try:
        stored = json.loads(read_bytes(path, _TEXT))
        splits = {split["name"]: [int(count) for count in split["shardLengths"]] for split in stored["splits"]}
        namings = {split.get("filepathTemplate", _NAMING) for split in stored["splits"]}
        file_format = stored.get("fileFormat", "tfrecord")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise RunError(f"{path} is damaged, or of an unknown version of tensorflow-datasets; {_AGAIN}") from None
    if file_format not in _FORMATS or namings - {_NAMING}:
        raise RunError(
            f"{path.parent} is in format {file_format!r}, files named {', '.join(map(str, namings))}; mixjax reads "
            f"{' and '.join(_FORMATS)}, named {_NAMING}; {_AGAIN}"
        )
    if any(count < 0 for counts in splits.values() for count in counts):
        raise RunError(f"{path} is damaged: a file with a negative number of examples; {_AGAIN}")
    return file_format, splits


def _shard(path: Path, count: int, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read images, labels and numbers (-1 where they are not stored) of a file."""
    records = _read_array_record(path) if ".array_record-" in path.name else read_tfrecord(path)
    if len(records) != count:
        raise RunError(f"{path} holds {len(records)} examples, and {INFO} says {count}; {_AGAIN}")
    proto = import_optional("tensorflow_datasets.proto.tf_example_generated_pb2", str(path))
    try:
        examples = [_example(proto.Example, record) for record in records]
        images = decode_pngs([example.image for example in examples], shape)
    except ValueError as error:
        raise RunError(f"{path} does not hold the images expected: {error}; {_AGAIN}") from None
    labels = np.array([example.label for example in examples], np.int32)
    numbers = np.array([-1 if example.number is None else example.number for example in examples], np.int64)
    return images, labels, numbers


def _example(proto: Any, record: bytes) -> _Example:
    """Return the image, label and number of a record."""
    try:
        features = proto.FromString(record).features.feature
    except import_optional("google.protobuf.message", "an example").DecodeError:
        raise ValueError("a record that is not an example") from None
    values = {name: feature.bytes_list.value or feature.int64_list.value for name, feature in features.items()}
    if any(len(values.get(name, ())) != 1 for name in ("image", "label")):
        raise ValueError("an example without one image and one label")
    (image,), (label,) = values["image"], values["label"]
    if not isinstance(image, bytes) or not isinstance(label, int) or not 0 <= label < 2**31:
        raise ValueError(f"an example with a label of {label!r}")
    stored = re.fullmatch(rb"[a-z]+_(\d{5})", values["id"][0]) if values.get("id") else None
    return _Example(image, label, int(stored[1]) if stored else None)


def _numbers(files: Path, stored: np.ndarray) -> np.ndarray:
    """Return the number in the authors' files of each row on disk."""
    size, split = len(stored), files.stem.rpartition("-")[2]
    if (stored < 0).all():
        digests = [hashlib.md5(f"{split}{number}".encode(), usedforsecurity=False).digest() for number in range(size)]
        return np.array(sorted(range(size), key=digests.__getitem__))
    if not np.array_equal(np.sort(stored), np.arange(size)):
        raise RunError(f"{files}: images are not numbered from 0 to {size - 1}; {_AGAIN}")
    return stored


def _read_array_record(path: Path) -> list[bytes]:
    module = import_optional("array_record.python.array_record_module", str(path))
    if not path.is_file():
        raise RunError(f"there is no file {path}; {_AGAIN}")
    if path.stat().st_size > LIMIT:
        raise RunError(f"{path} holds more than {LIMIT} bytes, the most that is read")
    try:
        reader = module.ArrayRecordReader(str(path))
        records = reader.read_all()
        reader.close()
        return records
    except (RuntimeError, IndexError) as error:
        raise RunError(f"{path} is damaged ({str(error).splitlines()[0]}); {_AGAIN}") from None
