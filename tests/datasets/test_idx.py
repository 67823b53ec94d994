"""IDX files: what is written is read, wherever it may lie; anything else is one sentence."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mixjax.datasets import MissingDataError, load
from mixjax.datasets.idx import read_idx
from mixjax.runs import RunError
from mixjax.runs.files import read_bytes
from tests.datasets.conftest import IDX, idx_bytes, write_idx

DEBIAN = Path("/usr/share/datasets/fashion-mnist")


def equal(dataset, arrays):
    for part, array in arrays.items():
        found = getattr(dataset, part)
        assert found.dtype == (np.int32 if part.endswith("labels") else np.uint8)
        np.testing.assert_array_equal(found.reshape(array.shape), array)


@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("folder", ["", "fashion_mnist", "fashion-mnist", "FashionMNIST/raw"])
def test_what_is_written_is_read(tmp_path, arrays, folder, zipped):
    write_idx(tmp_path / "data" / folder, arrays, zipped=zipped)
    dataset = load("fashion_mnist", data_dir=tmp_path / "data")
    equal(dataset, arrays)
    assert dataset.train_inputs.shape == (7, 28, 28, 1)
    assert dataset.num_classes == 10 and dataset.class_names[9] == "Ankle boot" and dataset.max_pixel == 255


@pytest.mark.parametrize("name", ["mnist", "kmnist"])
def test_the_variable_names_a_folder_and_the_data_set_one_in_it(tmp_path, arrays, name, monkeypatch):
    write_idx(tmp_path / name, arrays)
    monkeypatch.setenv("MIXJAX_DATA", str(tmp_path))
    equal(load(name), arrays)


def test_a_folder_that_is_not_given_by_hand_is_believed_only_by_its_name(tmp_path, arrays, monkeypatch):
    """The files of MNIST and of its successors have the same names."""
    monkeypatch.setenv("MIXJAX_DATA", str(write_idx(tmp_path / "any", arrays)))
    with pytest.raises(MissingDataError, match="mnist was not found"):
        load("mnist")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("fashion_mnist", "install the Debian package dataset-fashion-mnist, or get"),
        ("mnist", "get the four files from https://"),
        ("kmnist", "get the four files from https://"),
    ],
)
def test_missing_files_are_named_with_where_to_get_them(tmp_path, name, advice, monkeypatch):
    monkeypatch.setenv("MIXJAX_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match=advice) as error:
        load(name, data_dir=tmp_path)
    for part in ("train-images-idx3-ubyte[.gz]", str(tmp_path / name), "MIXJAX_DATA"):
        assert part in str(error.value)


def test_half_a_data_set_is_not_one(tmp_path, arrays):
    folder = write_idx(tmp_path / "half", arrays)
    (folder / IDX["test_labels"]).unlink()
    with pytest.raises(RunError, match=r"lacks t10k-labels-idx1-ubyte\[\.gz\]"):
        load("mnist", data_dir=folder)


WRONG = {
    "labels of 11 classes": ("train_labels", lambda array: np.full_like(array, 10), "must be in .0, 9., got 10 in row"),
    "other pixels": ("test_inputs", lambda array: array[:, :27], "27x28 pixels, and those of mnist have 28x28"),
    "fewer labels": ("train_labels", lambda array: array[1:], "7 images and 6 labels"),
    "no rows": ("test_inputs", lambda array: array[:0], "is empty or damaged"),
    "labels as images": ("train_inputs", lambda array: array[:, 0, 0], "not an IDX file of bytes with 3 axes"),
}


@pytest.mark.parametrize(("part", "change", "message"), WRONG.values(), ids=WRONG)
def test_files_of_something_else(tmp_path, arrays, part, change, message):
    folder = write_idx(tmp_path / "wrong", arrays | {part: change(arrays[part])})
    with pytest.raises(RunError, match=message):
        load("mnist", data_dir=folder)


def test_a_part_of_a_data_set_is_not_taken_for_it(tmp_path, arrays):
    """Files that are in order, with six of the seven training images."""
    folder = write_idx(tmp_path / "part", arrays | {part: arrays[part][:6] for part in IDX if "train" in part})
    with pytest.raises(RunError, match="mnist from IDX files is incomplete: 6 x 28 x 28 x 1 bytes of training images"):
        load("mnist", data_dir=folder)


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(RunError, match="is not a folder"):
        load("mnist", data_dir=tmp_path / "nowhere")


SETTINGS = settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])


@SETTINGS
@given(content=st.binary(max_size=64), axes=st.sampled_from([1, 3]))
@example(content=bytes([0, 0, 8, 3]) + b"\xff" * 12, axes=3)
@example(content=bytes([0, 0, 8, 3]) + bytes(4) + b"\xff" * 8, axes=3)
@example(content=b"\x1f\x8b\x08", axes=1)
def test_any_bytes_are_an_array_or_one_sentence(tmp_path, content, axes):
    path = tmp_path / "any"
    path.write_bytes(content)
    try:
        array = read_idx(path, axes=axes)
    except RunError as error:
        assert "\n" not in str(error)
    else:
        assert idx_bytes(array) == content


@SETTINGS
@given(place=st.integers(0, 5), value=st.integers(0, 255), zipped=st.booleans(), cut=st.integers(0, 30))
def test_damage_never_passes_as_data(tmp_path, place, value, zipped, cut):
    """A byte of the header changed, or the end cut off: the same array, or one sentence."""
    array = np.arange(20, dtype=np.uint8)
    whole = bytearray(idx_bytes(array))
    whole[place] = value
    content = gzip.compress(whole, 1) if zipped else bytes(whole)
    path = tmp_path / "damaged"
    path.write_bytes(content[: len(content) - cut])
    try:
        np.testing.assert_array_equal(read_idx(path, axes=1), array)
    except RunError as error:
        assert "\n" not in str(error)
    else:
        assert cut == 0 or zipped


def test_a_header_that_promises_much_costs_what_is_there(tmp_path):
    """2^96 bytes are announced, and 16 read."""
    path = tmp_path / "promise"
    path.write_bytes(bytes([0, 0, 8, 3]) + struct.pack(">3I", *[2**32 - 1] * 3))
    with pytest.raises(RunError, match="4294967295 x 4294967295 x 4294967295 bytes, it holds 0"):
        read_idx(path, axes=3)


def test_a_file_that_unzips_to_more_than_the_limit_is_left(tmp_path):
    """Ten megabytes of zeros zip to ten kilobytes; reading stops within a chunk of the limit."""
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(10_000_000), 1))
    with pytest.raises(RunError, match="more than 100000 bytes"):
        read_bytes(path, limit=100_000)
    assert len(read_bytes(path)) == 10_000_000


@pytest.mark.medium
@pytest.mark.skipif(not DEBIAN.is_dir(), reason="the Debian package dataset-fashion-mnist is not installed")
def test_the_files_of_the_debian_package():
    """The sizes that the data set's authors state."""
    dataset = load("fashion_mnist", data_dir=DEBIAN)
    assert dataset.train_inputs.shape == (60_000, 28, 28, 1) and dataset.test_inputs.shape == (10_000, 28, 28, 1)
    np.testing.assert_array_equal(np.bincount(dataset.train_labels), np.full(10, 6000))
    np.testing.assert_array_equal(np.bincount(dataset.test_labels), np.full(10, 1000))
