"""The pairs of classes of the study of real images, easy and hard ones, and controls drawn from Definition 3.1."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mixjax.datasets import Dataset, MissingDataError, load
from mixjax.datasets.known import KNOWN

CONTROL = "control"
DIMENSIONS = {"digits": 8, "fashion_mnist": 50, CONTROL: 50}  # p, of which the rows of a fit must be many times as many
_CONTROL_ROWS = 7000  # a class, as Fashion-MNIST has
_CONTROL_SEED = 31


@dataclass(frozen=True)
class Pair:
    """Two classes, or groups of classes, of a data set; of a control, the length of theta.

    Attributes:
      plus, minus: labels of the rows with y = +1 and y = -1.
    """

    name: str
    data: str
    plus: tuple[int, ...] = ()
    minus: tuple[int, ...] = ()
    theta_norm: float = 0.0

    @property
    def p(self) -> int:
        return DIMENSIONS[self.data]

    @property
    def file(self) -> str:
        """The name of its file."""
        return re.sub(r"\W+", "-", self.name.lower())


PAIRS = (
    Pair("control 1", CONTROL, theta_norm=1.0),
    Pair("control 2", CONTROL, theta_norm=2.0),
    Pair("digits: 3, 8", "digits", (3,), (8,)),
    Pair("digits: 1, 8", "digits", (1,), (8,)),
    Pair("digits: 4, 9", "digits", (4,), (9,)),
    Pair("digits: even, odd", "digits", (0, 2, 4, 6, 8), (1, 3, 5, 7, 9)),
    Pair("T-shirt, shirt", "fashion_mnist", (0,), (6,)),
    Pair("pullover, coat", "fashion_mnist", (2,), (4,)),
    Pair("sandal, sneaker", "fashion_mnist", (5,), (7,)),
    Pair("sneaker, boot", "fashion_mnist", (7,), (9,)),
    Pair("trouser, dress", "fashion_mnist", (1,), (3,)),
    Pair("T-shirt, trouser", "fashion_mnist", (0,), (1,)),
)


def rows_of(pair: Pair, row_set: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of the two classes, float32 [N, d] each: as many of every class as the smallest of the data set has.

    Pixels are from 0 to 1, training and test images together. A control has as many independent row sets as wanted;
    of images there is one.

    Raises:
      MissingDataError: if the data set is not on this machine.
    """
    if pair.data == CONTROL:
        noise = np.random.default_rng([_CONTROL_SEED, row_set]).standard_normal((2, _CONTROL_ROWS, pair.p), np.float32)
        shift = np.float32(pair.theta_norm / np.sqrt(pair.p))
        return noise[0] + shift, noise[1] - shift
    images, labels = _pixels(pair.data)
    most = np.bincount(labels).min()
    plus, minus = (
        np.concatenate([images[np.flatnonzero(labels == label)[:most]] for label in group])
        for group in (pair.plus, pair.minus)
    )
    return plus, minus


def fingerprint(data: str) -> str:
    """Return the fingerprint of the rows of a data set, 16 hexadecimal digits; empty for a control."""
    return "" if data == CONTROL else _dataset(data).fingerprint[:16]


def where_to_get(data: str) -> str:
    """Return a sentence on where to get a data set; it names no folder."""
    if data in KNOWN:
        return f"{data} is left out: {KNOWN[data].advice}, name it in MIXJAX_DATA, and run again in a new folder."
    return f"{data} is left out: pip install scikit-learn, and run again in a new folder."


def present() -> tuple[list[Pair], list[MissingDataError]]:
    """Return the pairs whose data are on this machine, and an error for each missing data set."""
    missing: dict[str, MissingDataError] = {}
    for data in sorted({*DIMENSIONS} - {CONTROL}):
        try:
            _dataset(data)
        except MissingDataError as error:
            missing[data] = error
    return [pair for pair in PAIRS if pair.data not in missing], list(missing.values())


@lru_cache(maxsize=4)
def _dataset(data: str) -> Dataset:
    return load(data)


def _pixels(data: str) -> tuple[np.ndarray, np.ndarray]:
    """Return all images as rows, and their labels."""
    dataset = _dataset(data)
    images = np.concatenate([dataset.train_inputs, dataset.test_inputs])
    pixels = images.reshape(len(images), -1).astype(np.float32) / np.float32(dataset.max_pixel)
    return pixels, np.concatenate([dataset.train_labels, dataset.test_labels])
