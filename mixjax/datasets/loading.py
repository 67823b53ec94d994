"""From the name of a data set to its arrays.

| name | read from, the first that is there |
|---|---|
| `digits` | scikit-learn |
| `mnist`, `fashion_mnist`, `kmnist` | four IDX files, zipped or not; a folder that tensorflow-datasets has prepared |
| `cifar10`, `cifar100` | the binary archive of its authors; their Python version; what tensorflow-datasets prepared |
| a path that ends in `.npz` | that file |

IDX files are looked for in `FOLDER/fashion_mnist`, `FOLDER/fashion-mnist` and `FOLDER/FashionMNIST/raw`, which is
torchvision's; archives, and torchvision's `cifar-10-batches-py`, in `FOLDER/cifar10` and `FOLDER/cifar-10`; prepared
folders are `FOLDER/NAME/VERSION`; likewise the others. FOLDER is `data_dir`, which may also hold the files itself;
without it the folders that the variables MIXJAX_DATA and TFDS_DATA_DIR name, `~/tensorflow_datasets`, and
/usr/share/datasets, where Debian's packages put them.
(The files of the three MNISTs have the same names: a folder that is not given by hand is believed only by its name.)
"""

from __future__ import annotations

import os
from pathlib import Path

from mixjax.datasets.archives import archive_name, find_archive, read_archive
from mixjax.datasets.cifar_pickles import find_pickles, read_pickles
from mixjax.datasets.dataset import Dataset, MissingDataError
from mixjax.datasets.digits import read_digits
from mixjax.datasets.idx import FILES, find_idx, read_idx_dataset
from mixjax.datasets.known import KNOWN, checked
from mixjax.datasets.npz import read_npz
from mixjax.datasets.pixels import Pixels
from mixjax.datasets.tfds import find_tfds, read_tfds
from mixjax.numerics.options import check_option
from mixjax.runs import RunError

NAMES = ("digits", *KNOWN)
_VARIABLES = ("MIXJAX_DATA", "TFDS_DATA_DIR")
_SYSTEM = ("~/tensorflow_datasets", "/usr/share/datasets")


def load(
    name: str | os.PathLike[str], *, data_dir: str | os.PathLike[str] | None = None, pixels: Pixels = "stored"
) -> Dataset:
    """Read a data set; nothing is downloaded or written.

    Args:
      name: one of `NAMES`, or the path of an .npz file (arrays: `mixjax.datasets.npz`).
      data_dir: the only folder to look in; for data sets that are kept in files.
      pixels: the scale of the images of an .npz file: "stored" for uint8; of other dtypes "bytes", "unit" or
        "sixteen-bit" (`mixjax.datasets.pixels.as_bytes`).

    Returns:
      Raw pixels and labels. Rows are in the order of the authors' files, whatever kind of file they are read from.

    Raises:
      ValueError: for an unknown name or scale, for `data_dir` with a data set that needs no folder, and for `pixels`
        with one that is no .npz file.
      MissingDataError: if the files are not there (the message says what was looked for, where, and where to get it),
        or a package that reads them is missing.
      RunError: if they are damaged, incomplete, or hold something else.

    Example:
      >>> from mixjax.datasets import load
      >>> digits = load("digits")
      >>> digits.train_inputs.shape, digits.num_classes
      ((1442, 8, 8, 1), 10)
    """
    name = os.fspath(name)
    check_option("pixels", pixels, Pixels)
    if pixels != "stored" and not name.endswith(".npz"):
        raise ValueError(f"pixels is for .npz files, got pixels={pixels!r} with {name}, whose scale is known")
    if name in KNOWN:
        return _from_files(name, None if data_dir is None else Path(data_dir))
    if name != "digits" and not name.endswith(".npz"):
        raise ValueError(f"name must be one of {', '.join(NAMES)}, or a path that ends in .npz, got {name!r}")
    if data_dir is not None:
        raise ValueError(f"{name} takes no data_dir, got data_dir={os.fspath(data_dir)!r}")
    return read_digits() if name == "digits" else read_npz(Path(name), pixels)


def _read_folder(name: str, folder: Path) -> Dataset | None:
    """Read the authors' files in a folder; None if it holds none of them.

    Raises:
      RunError: if they are damaged, incomplete, or hold something else.
    """
    if archive_name(name) is None:
        files = find_idx(folder)
        return checked(read_idx_dataset(name, files)) if files else None
    if archive := find_archive(folder, name):
        return checked(read_archive(name, archive).dataset)
    pickles = find_pickles(folder, name)
    return checked(read_pickles(name, pickles)) if pickles else None


def _from_files(name: str, data_dir: Path | None) -> Dataset:
    if data_dir is not None and not data_dir.is_dir():
        raise RunError(f"data_dir {data_dir} is not a folder")
    roots = _usual_roots() if data_dir is None else [data_dir]
    by_hand = [] if data_dir is None else [data_dir]
    folders = [root / folder for root in roots for folder in KNOWN[name].folders] + by_hand
    for folder in folders:
        if dataset := _read_folder(name, folder):
            return dataset
    for root in roots:
        if version := find_tfds(root, name):
            return checked(read_tfds(name, version))
    raise MissingDataError(_not_found(name, folders, roots))


def _usual_roots() -> list[Path]:
    named = [os.environ[variable] for variable in _VARIABLES if os.environ.get(variable)]
    return [Path(root).expanduser() for root in (*named, *_SYSTEM)]


def _not_found(name: str, folders: list[Path], roots: list[Path]) -> str:
    files = archive_name(name) or f"{FILES['train_inputs']}[.gz] and its three companions"
    prepared = ", ".join(str(root / name / "VERSION") for root in roots)
    return (
        f"{name} was not found: looked for {files} in {', '.join(map(str, folders))}, and for what tensorflow-datasets "
        f"prepares in {prepared}; {KNOWN[name].advice}; then give its folder as data_dir or {_VARIABLES[0]}"
    )
