"""A data set in memory: images as they are stored, labels, and where they come from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int32, UInt8

from mixjax.runs import RunError


class MissingDataError(RunError):
    """Report that a data set is not on this machine; the message says where to get it.

    Example:
      >>> from mixjax.datasets import MissingDataError
      >>> from mixjax.runs import RunError
      >>> issubclass(MissingDataError, RunError)  # which commands report as one sentence
      True
    """


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images and labels of a training and a test set, checked when it is made.

    Attributes:
      name: that `load` was given.
      source: what it was read from, without a path.
      train_inputs, test_inputs: raw pixels in [0, max_pixel], not scaled; rows, height, width, channels.
      train_labels, test_labels: in [0, num_classes).
      class_names: one for each class.
      max_pixel: 255 of images; 16 of the digits.

    Raises:
      RunError: for other dtypes and shapes, labels or pixels out of range, and sets without rows.

    Example:
      >>> import numpy as np
      >>> from mixjax.datasets import Dataset
      >>> split = np.zeros((2, 8, 8, 1), np.uint8), np.array([0, 1], np.int32)
      >>> Dataset("mine", "arrays", *split, *split, class_names=("a", "b")).num_classes
      2
    """

    name: str
    source: str
    train_inputs: UInt8[np.ndarray, "N H W C"]
    train_labels: Int32[np.ndarray, " N"]
    test_inputs: UInt8[np.ndarray, "M H W C"]
    test_labels: Int32[np.ndarray, " M"]
    class_names: tuple[str, ...]
    max_pixel: int = 255

    def __post_init__(self) -> None:
        for split, inputs, labels in self._splits():
            where = f"{self.name} from {self.source}: {split}"
            _check_types(where, inputs, labels)
            _check_range(f"{where}_labels", labels, self.num_classes - 1)
            _check_range(f"{where}_inputs", inputs, self.max_pixel)
        train, test = self.train_inputs.shape[1:], self.test_inputs.shape[1:]
        if train != test:
            shapes = f"{train} in the training set and {test} in the test set"
            raise RunError(f"{self.name} from {self.source}: images are {shapes}")

    @property
    def num_classes(self) -> int:
        """The number of classes, K, whether or not each occurs."""
        return len(self.class_names)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of shapes and content in the order of the rows, whatever file they come from."""
        digest = hashlib.sha256()
        for _, *arrays in self._splits():
            for array in arrays:
                digest.update(repr(array.shape).encode())
                digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
        return digest.hexdigest()

    def _splits(self) -> tuple[tuple[str, np.ndarray, np.ndarray], ...]:
        return (("train", self.train_inputs, self.train_labels), ("test", self.test_inputs, self.test_labels))


def _check_types(where: str, inputs: np.ndarray, labels: np.ndarray) -> None:
    if inputs.dtype != np.uint8 or inputs.ndim != 4:
        raise RunError(f"{where}_inputs must be uint8 of shape [N, H, W, C], got {inputs.dtype} {inputs.shape}")
    if labels.dtype != np.int32 or labels.ndim != 1:
        raise RunError(f"{where}_labels must be int32 of shape [N], got {labels.dtype} {labels.shape}")
    if len(inputs) != len(labels):
        raise RunError(f"{where} has {len(inputs)} images and {len(labels)} labels")
    if inputs.size == 0:
        raise RunError(f"{where}_inputs hold no pixels: shape {inputs.shape}")


def _check_range(what: str, values: np.ndarray, largest: int) -> None:
    wrong = (values < 0) | (values > largest)
    if wrong.any():
        row = int(np.argmax(wrong.reshape(len(values), -1).any(axis=1)))
        raise RunError(f"{what} must be in [0, {largest}], got {values[wrong][0]} in row {row}")
