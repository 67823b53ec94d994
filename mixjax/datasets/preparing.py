"""From the files of a data set's authors to a folder that plain tensorflow-datasets reads, without TensorFlow.

The builders of tensorflow-datasets cannot read those files without TensorFlow. Here they are told what the files hold,
images as PNG files already, and do the rest: features, version, order and names of files are theirs. The format is
array_record, the one that can be read without TensorFlow.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mixjax.datasets.archives import archive_name, find_archive, read_archive
from mixjax.datasets.dataset import Dataset, MissingDataError
from mixjax.datasets.idx import FILES, find_idx, read_idx_dataset
from mixjax.datasets.known import KNOWN, checked
from mixjax.datasets.packages import import_optional
from mixjax.datasets.png import encode_png
from mixjax.datasets.tfds import read_tfds
from mixjax.runs import RunError, explained


def prepare(name: str, source: str | os.PathLike[str], *, data_dir: str | os.PathLike[str] | None = None) -> Path:
    """Write DATA_DIR/NAME/VERSION, whole or not at all: it is written, read back, compared, and then renamed.

    Args:
      name: a data set that is kept in files: mnist, fashion_mnist, kmnist, cifar10, cifar100.
      source: the archive (cifar-10-binary.tar.gz), or the folder that holds it or the four IDX files.
      data_dir: by default where tensorflow-datasets looks: TFDS_DATA_DIR, or `~/tensorflow_datasets`.

    Returns:
      The folder that was written.

    Raises:
      ValueError: for another name.
      MissingDataError: if the source is not there, or a package is not installed.
      RunError: if the source is damaged or incomplete, if the folder exists already (it is left unchanged), or if
        nothing can be written there.

    Example:
      >>> from mixjax.datasets import prepare
      >>> prepare("digits", "folder")
      Traceback (most recent call last):
      ValueError: name must be one of mnist, fashion_mnist, kmnist, cifar10, cifar100, got 'digits'
    """
    if name not in KNOWN:
        raise ValueError(f"name must be one of {', '.join(KNOWN)}, got {name!r}")
    builder = import_optional("tensorflow_datasets", f"preparing {name}").builder_cls(name)
    root = Path(data_dir or os.environ.get("TFDS_DATA_DIR") or "~/tensorflow_datasets").expanduser()
    target = root / name / str(builder.VERSION)
    if target.exists():
        raise RunError(f"{target} exists already and is left unchanged; remove it, or choose another data_dir")
    original = _read(name, Path(source))
    with explained(root, kept="nothing is kept; make room, or choose another folder"):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".tmp-", dir=root) as scratch:
            made = Path(scratch) / name / target.name
            _write(builder, original, Path(scratch))
            if read_tfds(name, made).fingerprint != original.dataset.fingerprint:
                raise RunError(
                    f"{made} reads back differently from what was written; nothing is kept; please report this"
                )
            _flush(made)
            os.rename(made, target)
    return target


class _Original(NamedTuple):
    """The rows and names to write.

    Attributes:
      columns: a value for each row, by split and feature.
      names: those of labels, by feature, where the official builder reads them from the archive.
    """

    dataset: Dataset
    columns: dict[str, dict[str, Any]]
    names: dict[str, tuple[str, ...]]


def _read(name: str, source: Path) -> _Original:
    if not source.exists():
        raise MissingDataError(f"there is nothing at {source}; {KNOWN[name].advice}")
    return _read_idx(name, source) if archive_name(name) is None else _read_archive(name, source)


def _read_idx(name: str, source: Path) -> _Original:
    files = find_idx(source if source.is_dir() else source.parent)
    if files is None:
        raise MissingDataError(f"{source} does not hold {', '.join(FILES.values())}; {KNOWN[name].advice}")
    dataset = checked(read_idx_dataset(name, files))
    return _Original(dataset, _columns(dataset), {})


def _read_archive(name: str, source: Path) -> _Original:
    path = find_archive(source, name) if source.is_dir() else source
    if path is None:
        raise MissingDataError(f"{source} does not hold {archive_name(name)}; {KNOWN[name].advice}")
    dataset, coarse_labels, coarse_names = read_archive(name, path)
    columns, names = _columns(checked(dataset)), {"label": dataset.class_names}
    for split, column in columns.items():
        column["id"] = [f"{split}_{row:05d}" for row in range(len(column["label"]))]
    if coarse_labels:
        names["coarse_label"] = coarse_names
        for column, labels in zip(columns.values(), coarse_labels, strict=True):
            column["coarse_label"] = labels
    return _Original(dataset, columns, names)


def _columns(dataset: Dataset) -> dict[str, dict[str, Any]]:
    return {
        "train": {"image": dataset.train_inputs, "label": dataset.train_labels},
        "test": {"image": dataset.test_inputs, "label": dataset.test_labels},
    }


def _write(official: Any, original: _Original, root: Path) -> None:
    """Let the official builder write the rows below a folder."""

    class Prepared(official, skip_registration=True):  # type: ignore[call-arg]
        name = official.name
        _log_download_bytes = _log_download_done = lambda self: None  # they name a folder that will have another name

        def _info(self) -> Any:
            info = super()._info()
            info.initialize_from_bucket = lambda: None  # it asks the network, and leaves a folder in the temporary one
            return info

        def _split_generators(self, dl_manager: object) -> dict[str, Iterator[tuple[int, dict[str, Any]]]]:
            del dl_manager  # nothing is downloaded
            for feature, labels in original.names.items():
                self.info.features[feature].names = labels
            return {split: _examples(columns) for split, columns in original.columns.items()}

    try:
        Prepared(data_dir=str(root), file_format="array_record").download_and_prepare()
    except RuntimeError as error:  # what array_record raises where a file cannot be written
        reason = str(error).partition(";")[0].partition("\n")[0]
        raise RunError(f"cannot write to {root.parent}: {reason}; nothing is kept; choose another folder") from None


def _examples(columns: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield keys and features; the keys are those of the official builders, and decide the order on disk."""
    for number in range(len(columns["label"])):
        example = {feature: values[number] for feature, values in columns.items()}
        yield number, example | {"image": io.BytesIO(encode_png(example["image"]))}


def _flush(folder: Path) -> None:
    """Flush the files to disk before the folder gets its name."""
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
