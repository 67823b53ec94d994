"""From the name of a data set to its arrays.

| name | read from |
|---|---|
| `digits` | scikit-learn |
| `mnist`, `fashion_mnist`, `kmnist` | four IDX files, zipped or not |
| a path that ends in `.npz` | that file |

IDX files are looked for in `FOLDER/fashion_mnist`, `FOLDER/fashion-mnist` and `FOLDER/FashionMNIST/raw`, which is
torchvision's; likewise the others. FOLDER is `data_dir`, which may also hold the files itself; without it the folder
that the variable MIXJAX_DATA names, and then /usr/share/datasets, where Debian's packages put them. (The files of the
three have the same names: a folder that is not given by hand is believed only by its name.)
"""

from __future__ import annotations

import os
from pathlib import Path

from mixjax.datasets.dataset import Dataset, MissingDataError
from mixjax.datasets.digits import read_digits
from mixjax.datasets.idx import FILES, find_idx, read_idx_dataset
from mixjax.datasets.known import KNOWN
from mixjax.datasets.npz import read_npz
from mixjax.runs import RunError

__all__ = ["NAMES", "load"]

NAMES = ("digits", *KNOWN)
_VARIABLE = "MIXJAX_DATA"
_SYSTEM = "/usr/share/datasets"


def load(name: str | os.PathLike[str], *, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """A data set; nothing is downloaded or written.

    Args:
      name: one of `NAMES`, or the path of an .npz file (arrays: `mixjax.datasets.npz`).
      data_dir: the folder to look in, and then in no other; only for data sets that are kept in IDX files.

    Returns:
      Raw pixels and labels, rows in the order of the files.

    Raises:
      ValueError: for an unknown name, and for `data_dir` where no folder is looked in.
      MissingDataError: if the files are not there; the message says what was looked for, where, and where to get it.
      RunError: if they are damaged, or hold something else.
    """
    name = os.fspath(name)
    if name in KNOWN:
        return read_idx_dataset(name, _find(name, None if data_dir is None else Path(data_dir)))
    if name != "digits" and not name.endswith(".npz"):
        raise ValueError(f"name must be one of {', '.join(NAMES)}, or a path that ends in .npz, got {name!r}")
    if data_dir is not None:
        raise ValueError(f"{name} is not looked for in a folder, got data_dir={os.fspath(data_dir)!r}")
    return read_digits() if name == "digits" else read_npz(Path(name))


def _find(name: str, data_dir: Path | None) -> dict[str, Path]:
    """The four files of a data set."""
    if data_dir is not None and not data_dir.is_dir():
        raise RunError(f"data_dir {data_dir} is not a folder")
    roots = (
        [data_dir] if data_dir is not None else [Path(root) for root in (os.environ.get(_VARIABLE), _SYSTEM) if root]
    )
    folders = [root / folder for root in roots for folder in KNOWN[name].folders]
    folders += [] if data_dir is None else [data_dir]
    for folder in folders:
        if files := find_idx(folder):
            return files
    raise MissingDataError(
        f"{name} is not there: looked for {FILES['train_inputs']}[.gz] and its three companions in "
        f"{', '.join(map(str, folders))}; {KNOWN[name].advice}; then say where with data_dir or {_VARIABLE}"
    )
