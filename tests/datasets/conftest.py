"""Small data sets and their files, written by other means than those that read them."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest

from mixjax.datasets.known import KNOWN

IDX = {
    "train_inputs": "train-images-idx3-ubyte",
    "train_labels": "train-labels-idx1-ubyte",
    "test_inputs": "t10k-images-idx3-ubyte",
    "test_labels": "t10k-labels-idx1-ubyte",
}
ARCHIVES = {"cifar10": "cifar-10-binary.tar.gz", "cifar100": "cifar-100-binary.tar.gz"}
SIZES = (7, 3)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """No data set of this machine is found, unless a test says so."""
    for variable in ("MIXJAX_DATA", "TFDS_DATA_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("mixjax.datasets.loading._SYSTEM", (str(tmp_path / "system"),))


@pytest.fixture
def small(monkeypatch):
    """Every data set is known to have seven training and three test images, and for the rest is as it is."""
    for name, known in KNOWN.items():
        monkeypatch.setitem(KNOWN, name, known._replace(sizes=SIZES))


@pytest.fixture
def arrays(rng, small) -> dict[str, np.ndarray]:
    """Seven training and three test images of 28x28 pixels."""
    return {
        "train_inputs": rng.integers(0, 256, (7, 28, 28), np.uint8),
        "train_labels": rng.integers(0, 10, 7, np.uint8),
        "test_inputs": rng.integers(0, 256, (3, 28, 28), np.uint8),
        "test_labels": rng.integers(0, 10, 3, np.uint8),
    }


@pytest.fixture(params=ARCHIVES)
def name(request) -> str:
    """That of either CIFAR, unless a test says another."""
    return request.param


@pytest.fixture
def rows(rng, small, name) -> tuple[np.ndarray, np.ndarray]:
    """Seven training and three test rows."""
    return cifar_sets(rng, name)


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


def cifar_rows(rng, name: str, size: int) -> np.ndarray:
    """Rows of a CIFAR file as they are stored: labels, then a red, a green and a blue plane."""
    labels = [rng.integers(0, 20, size), rng.integers(0, 100, size)] if name == "cifar100" else [np.arange(size) % 10]
    return np.concatenate([np.stack(labels, 1), rng.integers(0, 256, (size, 3072))], axis=1).astype(np.uint8)


def cifar_sets(rng, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Seven training and three test rows of a CIFAR."""
    return cifar_rows(rng, name, 7), cifar_rows(rng, name, 3)


def cifar_members(name: str, train: np.ndarray, test: np.ndarray) -> dict[str, bytes]:
    """The files of an archive; CIFAR-10's training rows are in five of them."""
    if name == "cifar100":
        files = {"train.bin": bytes(train), "test.bin": bytes(test)}
        files["coarse_label_names.txt"] = "".join(f"group_{number}\n" for number in range(20)).encode()
        files["fine_label_names.txt"] = ("\n".join(KNOWN[name].class_names) + "\n").encode()
        return {f"cifar-100-binary/{file}": content for file, content in files.items()}
    batches = np.array_split(train, 5)
    files = {f"data_batch_{number}.bin": bytes(batch) for number, batch in enumerate(batches, 1)}
    files |= {"test_batch.bin": bytes(test), "batches.meta.txt": "\n".join(KNOWN[name].class_names).encode() + b"\n\n"}
    return {f"cifar-10-batches-bin/{file}": content for file, content in files.items()}


def write_tar(path: Path, members: dict[str, bytes]) -> Path:
    """A zipped archive of files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def write_cifar(folder: Path, name: str, rows: tuple[np.ndarray, np.ndarray]) -> Path:
    """The archive of training and test rows."""
    return write_tar(folder / ARCHIVES[name], cifar_members(name, *rows))
