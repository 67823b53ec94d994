"""From the name of a data set to its arrays.

| name | read from, the first that is there |
|---|---|
| `digits` | scikit-learn |
| `mnist`, `fashion_mnist`, `kmnist` | four IDX files; a folder that tensorflow-datasets has prepared |
| `cifar10`, `cifar100` | the binary archive of its authors; a folder that tensorflow-datasets has prepared |
| a path that ends in `.npz` | that file |

Where they are looked for, besides the folder itself that is given: `FOLDER/fashion_mnist`, `FOLDER/fashion-mnist` and
`FOLDER/FashionMNIST/raw` (torchvision's), likewise the others; and `FOLDER/NAME/VERSION` of tensorflow-datasets. FOLDER
is `data_dir`; without it MIXJAX_DATA, TFDS_DATA_DIR, `~/tensorflow_datasets` and the places of system packages. (The
files of the three MNISTs have the same names: a folder that is not given by hand is therefore believed only by its
name.)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from mixjax.datasets.archives import find_archive, read_archive
from mixjax.datasets.dataset import Dataset
from mixjax.datasets.digits import read_digits
from mixjax.datasets.idx import FILES, find_idx, read_idx_dataset
from mixjax.datasets.known import KNOWN, NAMES, Known
from mixjax.datasets.npz import read_npz
from mixjax.datasets.tfds import find_tfds, read_tfds
from mixjax.runs import RunError

__all__ = ["NAMES", "load"]


def load(name: str | os.PathLike[str], *, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """A data set; nothing is downloaded or written.

    Args:
      name: one of `NAMES`, or the path of an .npz file (arrays: `mixjax.datasets.npz`).
      data_dir: the folder to look in, and then in no other; only for data sets that are kept in files.

    Returns:
      Raw pixels and labels. Rows have the order of the files: see `mixjax.datasets.tfds`.

    Raises:
      ValueError: for an unknown name, and for `data_dir` where no folder is looked in.
      RunError: if the files are not there (the message says what was looked for, where, and where to get it) or are
        damaged.
    """
    name = os.fspath(name)
    in_files = name in KNOWN
    if data_dir is not None and not in_files and (name in NAMES or name.endswith(".npz")):
        raise ValueError(f"{name} is not looked for in a folder, got data_dir={os.fspath(data_dir)!r}")
    if name.endswith(".npz"):
        return read_npz(Path(name))
    if name == "digits":
        return read_digits()
    if not in_files:
        raise ValueError(f"name must be one of {', '.join(NAMES)}, or a path that ends in .npz, got {name!r}")
    return _from_files(name, KNOWN[name], None if data_dir is None else Path(data_dir))


def _from_files(name: str, known: Known, data_dir: Path | None) -> Dataset:
    if data_dir is not None and not data_dir.is_dir():
        raise RunError(f"data_dir {data_dir} is not a folder")
    roots = [data_dir] if data_dir is not None else list(_usual_roots())
    by_hand = [data_dir] if data_dir is not None else []
    system = [] if data_dir is not None else [Path(folder) for folder in known.system]
    folders = [*(root / folder for root in roots for folder in known.folders), *by_hand, *system]
    for folder in folders:
        if known.shape[2] == 1 and (files := find_idx(folder)):
            return read_idx_dataset(name, files)
        if archive := find_archive(folder, name):
            return read_archive(name, archive)
    for root in roots:
        if version := find_tfds(root, name):
            return read_tfds(name, version)
    raise RunError(_not_found(name, known, folders, roots))


def _usual_roots() -> Iterator[Path]:
    for variable in ("MIXJAX_DATA", "TFDS_DATA_DIR"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    yield Path("~/tensorflow_datasets").expanduser()


def _not_found(name: str, known: Known, folders: list[Path], roots: list[Path]) -> str:
    wanted = f"{FILES['train_inputs']}[.gz] and its three companions" if known.shape[2] == 1 else "the binary archive"
    prepared = ", ".join(str(root / name / "VERSION") for root in roots)
    return (
        f"{name} is not there: looked for {wanted} in {', '.join(map(str, folders))}, and for a folder prepared by "
        f"tensorflow-datasets in {prepared}; {known.advice}; then say where with data_dir or MIXJAX_DATA"
    )
