"""Small data sets and their files, written by other means than those that read them."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

IDX = {
    "train_inputs": "train-images-idx3-ubyte",
    "train_labels": "train-labels-idx1-ubyte",
    "test_inputs": "t10k-images-idx3-ubyte",
    "test_labels": "t10k-labels-idx1-ubyte",
}


@pytest.fixture
def arrays(rng) -> dict[str, np.ndarray]:
    """Seven training and three test images of 28x28 pixels."""
    return {
        "train_inputs": rng.integers(0, 256, (7, 28, 28), np.uint8),
        "train_labels": rng.integers(0, 10, 7, np.uint8),
        "test_inputs": rng.integers(0, 256, (3, 28, 28), np.uint8),
        "test_labels": rng.integers(0, 10, 3, np.uint8),
    }


def idx_bytes(array: np.ndarray) -> bytes:
    """The format's own words: two zeros, the type, the number of axes, their lengths, the values."""
    return bytes([0, 0, 8, array.ndim]) + b"".join(struct.pack(">I", n) for n in array.shape) + bytes(array.ravel())


def write_idx(folder: Path, arrays: dict[str, np.ndarray], *, zipped: bool = False) -> Path:
    """The four files of a data set."""
    folder.mkdir(parents=True)
    for part, array in arrays.items():
        content = idx_bytes(array)
        (folder / f"{IDX[part]}{'.gz' * zipped}").write_bytes(gzip.compress(content, 1) if zipped else content)
    return folder
