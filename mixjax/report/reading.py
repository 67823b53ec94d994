"""Predictions from a file, checked: the caller states their kind, which is never guessed from their values.

| kind | npz: arrays | csv and parquet: columns |
|---|---|---|
| logits | `logits` [N, K], `labels` [N] | `logit_0` to `logit_{K-1}`, `label` |
| probs | `probs` [N, K], `labels` [N] | `prob_0` to `prob_{K-1}`, `label` |
| binary | `confidence` [N], `correct` [N] | `confidence`, `correct` |

The logits or probabilities of a parquet file may also be lists, in one column `logits` or `probs`. Any array or column
may name the groups of rows.

Every failure is a `RunError`: one sentence with the row (counted from 0; the line of a csv file) and the column.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from mixjax.calibration.rows.clean import is_share
from mixjax.report.cells import Labels
from mixjax.report.checks import (
    Check,
    absent,
    check_lengths,
    check_logits,
    check_missing,
    check_probs,
    check_real,
    check_shapes,
    check_whole,
    column,
    groups_of,
    normalized,
)
from mixjax.report.columns import Columns, is_table, read_columns
from mixjax.report.groups import Groups
from mixjax.runs import RunError
from mixjax.runs.untrusted import printable

Kind = Literal["logits", "probs", "binary"]


@dataclass(frozen=True)
class Names:
    """The names of arrays or columns; `scores` of a table is the prefix of the class number."""

    scores: str | None = None
    labels: str | None = None
    confidence: str = "confidence"
    correct: str = "correct"
    classes: tuple[str, ...] = ()  # in the order of the scores; labels may be these, and columns have them for numbers
    groups: str | None = None


@dataclass(frozen=True)
class Rules:
    """What to do with rows of classes: divide probabilities by their sum, and leave out those of an ignored label."""

    normalize: bool = False
    ignored_label: int | None = None


@dataclass(frozen=True)
class FilePredictions:
    """The predictions of a file, checked but for missing rows; or of arrays, which have names alone.

    Attributes:
      name: name of the file, without its folder.
      sha256: checksum of its content; empty for arrays.
      kind: kind of the scores.
      scores: logits or probabilities [N, K]; confidences [N] for kind "binary".
      labels: whole numbers in [0, K), shape [N]; for kind "binary" 1 if the row came true, else 0.
      missing: True for a row with a NaN or an empty cell, shape [N].
      row_name: the file's name of a row.
      dropped: number of rows left out.
      ignored: places of the rows with the ignored label, which are left out before anything is counted.
      groups: the group of each row, or None.
      class_names: names of the classes, in the order of the scores, if they have any.
    """

    name: str
    sha256: str
    kind: Kind
    scores: np.ndarray
    labels: np.ndarray
    missing: np.ndarray
    row_name: Callable[[int], str]
    dropped: int = 0
    ignored: np.ndarray | tuple[()] = ()
    groups: Groups | None = None
    class_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def num_classes(self) -> int:
        """The number of classes K; 2 for kind "binary"."""
        return 2 if self.kind == "binary" else self.scores.shape[1]

    def class_name(self, k: int, longest: int) -> str:
        """Return the name of class k, fit to be shown and at most so long, or its number."""
        return printable(self.class_names[k], longest) if self.class_names else str(k)


def read_predictions(path: Path, kind: Kind, names: Names | None = None, rules: Rules | None = None) -> FilePredictions:
    """Read predictions of an npz, csv or parquet file; rows that hold NaN are marked as missing and not checked.

    Raises:
      RunError: if something is wrong with the file, in one sentence.
    """
    names, rules = names or Names(), rules or Rules()
    read = _binary if kind == "binary" else _classes
    scores, labels, missing, row_name, groups, ignored = read(path, kind, names, rules)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    about = {"ignored": ignored, "groups": groups, "class_names": names.classes}
    return FilePredictions(path.name, digest, kind, scores, labels, missing, row_name, **about)


def without_missing(files: Sequence[FilePredictions], drop: bool) -> list[FilePredictions]:
    """Return the rows that no file misses; rows of several files are paired.

    Raises:
      RunError: if rows are missing and are not to be dropped, or if none is left.
    """
    for file in files:
        check_missing(file.name, file.missing, file.row_name, drop, file.groups)
    missing = np.any([file.missing for file in files], axis=0)
    if missing.all():
        raise RunError(f"{files[0].name}: no rows are left after dropping those with NaN")
    return [
        dataclasses.replace(
            file,
            scores=file.scores[~missing],
            labels=file.labels[~missing],
            missing=file.missing[~missing],
            dropped=int(missing.sum()),
            groups=file.groups and file.groups.of_rows(~missing),
        )
        for file in files
    ]


def _read_classes(
    path: Path, kind: Kind, names: Names, rules: Rules
) -> tuple[Columns, str, np.ndarray, str, np.ndarray]:
    table = is_table(path)
    usual = {"logits": "logit_", "probs": "prob_"}[kind] if table else kind
    scores_name = usual if names.scores is None else names.scores
    labels_name = names.labels or ("label" if table else "labels")
    of_labels = Labels(labels_name, names.classes, rules.ignored_label)
    named = [f"{scores_name}{name}" for name in names.classes] if table else [scores_name]
    listed = names.scores or kind

    def wanted(name: str) -> bool:
        return name == labels_name or name in named or (table and _is_of_class(name, scores_name))

    columns = read_columns(path, wanted, of_labels, listed, names.groups)
    if not table:
        scores = column(path, columns, scores_name)
    elif names.scores is None and _have_bare_names(columns, names.classes, scores_name, listed):
        columns = read_columns(path, {labels_name, *names.classes}.__contains__, of_labels, listed, names.groups)
        scores_name, scores = kind, _stacked(path, columns, "", names.classes, listed)
    else:
        scores = _stacked(path, columns, scores_name, named, listed)
    return columns, scores_name, scores, labels_name, column(path, columns, labels_name)


def _classes(path: Path, kind: Kind, names: Names, rules: Rules) -> tuple:
    columns, scores_name, scores, labels_name, labels = _read_classes(path, kind, names, rules)
    shape = "a column for each of 2 or more classes (for confidences and whether each was right, use --binary)"
    check_shapes(path, scores_name, scores, labels_name, labels, 2, shape)
    if names.classes and len(names.classes) != scores.shape[1]:
        raise RunError(f"{path}: {scores_name} has {scores.shape[1]} classes, and --classes names {len(names.classes)}")
    check_real(path, scores_name, scores)
    check_whole(path, columns, labels_name, labels)
    missing = np.ma.getmaskarray(labels) | np.ma.getmaskarray(scores).any(axis=1)
    scores, labels = np.ma.getdata(scores), np.ma.getdata(labels)
    missing |= np.isnan(scores).any(axis=1) | np.isnan(labels)
    groups = groups_of(path, columns, names.groups, len(labels))
    missing |= False if groups is None else groups.missing
    counted = np.isnan(labels) | (labels != rules.ignored_label)
    check = Check(path, columns, missing | ~counted)
    num_classes = scores.shape[1]
    check(labels_name, labels, (labels >= 0) & (labels < num_classes), f"in [0, {num_classes})")
    if kind == "logits":
        check_logits(check, scores_name, scores)
    elif rules.normalize:
        scores = normalized(check, scores_name, scores)
    else:
        check_probs(check, scores_name, scores)
    if not counted.any():
        raise RunError(f"{path}: no rows are left without label {rules.ignored_label}")
    kept, ignored = np.flatnonzero(counted), np.flatnonzero(~counted)
    labels = np.where(missing, 0, labels).astype(np.int64)
    groups = groups and groups.of_rows(kept)
    return scores[kept], labels[kept], missing[kept], lambda row: columns.row_name(int(kept[row])), groups, ignored


def _binary(path: Path, _: Kind, names: Names, __: Rules) -> tuple:
    columns = read_columns(path, {names.confidence, names.correct}.__contains__, groups=names.groups)
    confidence, correct = (column(path, columns, name) for name in (names.confidence, names.correct))
    for name, values in ((names.confidence, confidence), (names.correct, correct)):
        if values.ndim != 1:
            raise RunError(f"{path}: {name} must have shape [N], got {values.shape}; classes need --probs or --logits")
    check_lengths(path, names.confidence, confidence, names.correct, correct)
    missing = np.ma.getmaskarray(confidence) | np.ma.getmaskarray(correct)
    confidence, correct = np.ma.getdata(confidence), np.ma.getdata(correct)
    missing |= np.isnan(confidence) | np.isnan(correct)
    groups = groups_of(path, columns, names.groups, len(correct))
    missing |= False if groups is None else groups.missing
    check = Check(path, columns, missing)
    are_shares = ((correct >= 0) & (correct <= 1) & np.isin(confidence, (0, 1)))[~missing].all()
    swapped = f" (is it swapped with {names.confidence}?)" if are_shares else ""
    check(names.confidence, confidence, is_share(confidence), "in [0, 1]")
    check(names.correct, correct, (correct == 0) | (correct == 1), f"0 or 1{swapped}")
    check_real(path, names.confidence, confidence)
    return confidence, np.where(missing, 0, correct).astype(np.int64), missing, columns.row_name, groups, ()


def _is_of_class(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and re.fullmatch("0|[1-9][0-9]*", name.removeprefix(prefix)) is not None


def _have_bare_names(columns: Columns, classes: Sequence[str], prefix: str, listed: str) -> bool:
    """Return whether some columns are named after classes, and no others hold scores."""
    others = listed in columns.names or any(name.startswith(prefix) for name in columns.names)
    return not others and not set(classes).isdisjoint(columns.names)


def _stacked(path: Path, columns: Columns, prefix: str, named: Sequence[str], listed: str) -> np.ndarray:
    """Stack the columns of the named classes, if there is one, or those of classes 0 to K - 1, or return the lists."""
    if set(named) & set(columns.names):
        others = [name for name in columns.names if prefix and name.startswith(prefix) and name not in named]
        if others:
            raise RunError(f"{path}: column {printable(others[0], 40)} is of none of --classes; name all, or remove it")
    else:
        count = sum(_is_of_class(name, prefix) for name in columns.names)
        if count == 0 and listed in columns.arrays:
            return column(path, columns, listed)
        if count == 0:
            hint = "--scores-name says how columns begin, and --classes that they have names of classes"
            raise RunError(f"{absent(path, columns, f'{prefix}0')} ({hint})")
        named = [f"{prefix}{k}" for k in range(count)]
    return np.ma.stack([column(path, columns, name) for name in named], axis=1)
