"""Two classes of real features, their scale, and what a prediction needs to know of them.

The features are the pixels of the pairs of images of `image_pairs`, or those of a file: the last layer of a net, say.
They are centered between the class means and divided by one number, so that the mean eigenvalue of the covariance
within the classes is 1 and a penalty means the same on all data. They are not whitened.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mixjax.gaussian import class_moments
from mixjax.prediction.features import FileFeatures, read_features
from mixjax.runs import RunError

from .image_pairs import CONTROL, fingerprint, present, rows_of

Rows = tuple[np.ndarray, np.ndarray]


class ClassPair(NamedTuple):
    """A pair of classes of a data set, whose rows [N, p] of y = +1 and of y = -1 are read when they are needed."""

    name: str
    data: str
    rows: Callable[[], Rows]

    @property
    def file(self) -> str:
        """The name of its file."""
        return re.sub(r"\W+", "-", self.name.lower())


class Spread(NamedTuple):
    """Rows in units of their spread, [2 classes, N, p], and their moments.

    Attributes:
      eigenvalues, theta_squared: as of `mixjax.gaussian.ClassMoments`, in these units, [p].
      covariance_difference, excess_kurtosis: likewise; they have no units.
    """

    rows: np.ndarray
    eigenvalues: np.ndarray
    theta_squared: np.ndarray
    covariance_difference: float
    excess_kurtosis: np.ndarray


def image_pairs_of(data: list[str]) -> list[ClassPair]:
    """Return the pairs of images of these data sets that are on this machine; warn where to get the others.

    Raises:
      RunError: if none is.
    """
    pairs, missing = present()
    found = [ClassPair(pair.name, pair.data, partial(rows_of, pair))
             for pair in pairs if pair.data in data and pair.data != CONTROL]  # fmt: skip
    if not found:
        raise RunError("; ".join(map(str, missing)) or f"data must name digits or fashion_mnist, got {','.join(data)}")
    for error in missing:
        if error.args and any(str(error).startswith(name) for name in data):
            warnings.warn(f"{error}. The study goes on with the other data sets.", stacklevel=2)
    return found


def file_pairs_of(path: str, wanted: str) -> list[ClassPair]:
    """Return pairs of the classes of a file of features, an .npz with `features` [rows, p] and `labels` [rows] say.

    Args:
      path: of the file; csv and parquet as for `mixjax predict`.
      wanted: pairs of labels, as in "0-1,3-8"; empty for all pairs.

    Raises:
      RunError: for a file that is no such file, and for a pair that it does not have.
    """
    file = read_features(Path(path), None, None, drop=False)
    known = file.classes
    pairs: list[tuple[int, ...]] = [*combinations(known, 2)]
    if wanted:
        try:
            pairs = [tuple(map(int, part.split("-"))) for part in wanted.split(",")]
        except ValueError:
            pairs = []
    if any(len(pair) != 2 or pair[0] == pair[1] or not {*pair} <= {*known} for pair in pairs) or not pairs:
        raise RunError(f"classes must be pairs of labels of the file, as in 0-1,3-8, got {wanted!r}")
    return [ClassPair(f"{plus}, {minus}", Path(path).stem, partial(_classes, file, plus, minus))
            for plus, minus in pairs]  # fmt: skip


def fingerprint_of(data: str, path: str) -> str:
    """Return the fingerprint of the rows of a data set, or of a file of features, 16 hexadecimal digits."""
    return sha256(Path(path).read_bytes()).hexdigest()[:16] if path else fingerprint(data)


def spread_of(pair: ClassPair) -> Spread:
    """Center and scale the rows of a pair, and compute their moments: nothing else is used to predict."""
    plus, minus = pair.rows()
    labels = np.repeat(np.array([1.0, -1.0], np.float32), (len(plus), len(minus)))
    moments = class_moments(jnp.asarray(np.concatenate([plus, minus])), jnp.asarray(labels))
    eigenvalues = np.asarray(moments.eigenvalues)
    variance = eigenvalues.mean()
    return Spread(
        rows=(np.stack([plus, minus]) - np.asarray(moments.center)) / np.sqrt(variance),
        eigenvalues=eigenvalues / variance,
        theta_squared=np.asarray(moments.theta_squared) / variance,
        covariance_difference=float(moments.covariance_difference),
        excess_kurtosis=np.asarray(moments.excess_kurtosis),
    )


def _classes(file: FileFeatures, plus: int, minus: int) -> Rows:
    """Return the rows of two classes, as many of each as the smaller has."""
    found = [np.flatnonzero(file.labels == label) for label in (plus, minus)]
    most = min(map(len, found))
    first, second = (file.x[rows[:most]].astype(np.float32) for rows in found)
    return first, second
