"""Features and labels from a file, checked.

| | npz: arrays | csv and parquet: columns |
|---|---|---|
| features | `features` [N, p] | every column but the label, or those whose names begin with the name that is said |
| labels | `labels` [N] | `label` |

Labels are whole numbers, of any values. Every failure is a `RunError`: one sentence, as in `mixjax.report.reading`.
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mixjax.report.cells import Labels
from mixjax.report.checks import Check, check_missing, check_real, check_shapes, check_whole, column
from mixjax.report.class_names import listed
from mixjax.report.columns import Columns, is_table, read_columns
from mixjax.runs import RunError

Pair = tuple[int, int]
_LEAST, _MOST = 1e-100, 1e100  # total variance, whose square float64 must hold


@dataclass(frozen=True)
class FileFeatures:
    """The features of a file.

    Attributes:
      name: name of the file, without its folder.
      sha256: checksum of its content.
      x: features in float64, shape [N, p].
      labels: whole numbers, shape [N].
      dropped: number of rows left out.
    """

    name: str
    sha256: str
    x: np.ndarray
    labels: np.ndarray
    dropped: int = 0

    @property
    def classes(self) -> list[int]:
        """The labels that are there, in ascending order."""
        return np.unique(self.labels).tolist()

    def pairs(self, chosen: Pair | None) -> list[Pair]:
        """Return the chosen pair of classes, or each pair.

        Raises:
          RunError: if there are fewer than two classes, a class is not there, or it has fewer than two rows.
        """
        if len(self.classes) < 2:
            raise RunError(f"{self.name}: all labels are {self.classes[0]}; a prediction needs two classes")
        for label in chosen or ():
            if label not in self.classes:
                raise RunError(f"{self.name} has no class {label}; it has {listed(self.classes)}")
        found = [chosen] if chosen else list(itertools.combinations(self.classes, 2))
        for label in {label: None for pair in found for label in pair}:
            if (count := np.count_nonzero(self.labels == label)) < 2:
                raise RunError(f"{self.name}: class {label} has {count} row; a covariance needs at least two")
        return found

    def of_pair(self, pair: Pair) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of two classes, and their labels -1 (the first of the pair) and +1.

        Raises:
          RunError: if every feature is constant within both classes, or their variances overflow or underflow.
        """
        chosen = np.isin(self.labels, pair)
        x, y = self.x[chosen], np.where(self.labels[chosen] == pair[1], 1.0, -1.0)
        if all(np.ptp(x[y == sign], axis=0).max() == 0 for sign in (-1, 1)):
            raise RunError(f"{self.name}: every feature is constant within the classes {pair[0]} and {pair[1]}")
        with np.errstate(over="ignore", invalid="ignore"):
            total = float(sum(x[y == sign].var(axis=0).sum() for sign in (-1, 1)))
        if not _LEAST < total < _MOST:
            raise RunError(f"{self.name}: the total variance of the features is {total:.3g}; scale it to about 1")
        return x, y


def read_features(path: Path, features_name: str | None, labels_name: str | None, drop: bool) -> FileFeatures:
    """Read features and labels of an npz, csv or parquet file.

    Args:
      path: the file.
      features_name: of the array, "features" by default; of columns what their names begin with, all by default.
      labels_name: of the array or column; by default "labels" in an npz file and "label" elsewhere.
      drop: True to leave out rows with NaN or an empty cell.

    Raises:
      RunError: if something is wrong with the file, in one sentence.
    """
    labels_name = labels_name or ("label" if is_table(path) else "labels")
    shown = features_name or "features"
    if is_table(path):
        columns, x = _of_table(path, features_name or "", labels_name)
    else:
        columns = read_columns(path, lambda name: name in (shown, labels_name))
        x = column(path, columns, shown)
        check_real(path, shown, x)
    labels = column(path, columns, labels_name)
    check_shapes(path, shown, x, labels_name, labels, 1, "shape [N, p] with a column for each feature")
    check_whole(path, columns, labels_name, labels)
    missing = np.ma.getmaskarray(labels) | np.ma.getmaskarray(x).any(axis=1)
    x, labels = np.ma.getdata(x).astype(np.float64), np.ma.getdata(labels)
    missing |= np.isnan(x).any(axis=1) | np.isnan(labels)
    labels = np.where(missing, 0, labels).astype(np.int64)
    check_missing(path.name, missing, columns.row_name, drop)
    if missing.all():
        raise RunError(f"{path.name}: no rows are left after dropping those with NaN")
    Check(path, columns, missing)(shown, np.abs(x).max(axis=1), np.isfinite(x).all(axis=1), "finite")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return FileFeatures(path.name, digest, x[~missing], labels[~missing], int(missing.sum()))


def _of_table(path: Path, prefix: str, labels_name: str) -> tuple[Columns, np.ndarray]:
    columns = read_columns(path, lambda name: name == labels_name or name.startswith(prefix), Labels(labels_name))
    column(path, columns, labels_name)
    names = [name for name in columns.names if name != labels_name and name.startswith(prefix)]
    if not names:
        which = f" that begins with {prefix!r}" if prefix else f" but {labels_name!r}"
        raise RunError(f"{path} has no column{which}; give at least one column of features")
    parts = [column(path, columns, name) for name in names]
    return columns, np.ma.stack(parts, axis=1)
