"""npz files: what NumPy writes is read; objects are not, and no size is believed."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mixjax.datasets import load
from mixjax.runs import RunError
from mixjax.runs import npz as _npz
from mixjax.train.running import configured, training_set

KERAS = {"train_inputs": "x_train", "train_labels": "y_train", "test_inputs": "x_test", "test_labels": "y_test"}


def header(description: str) -> bytes:
    """The magic, version 1.0, and a header that says anything."""
    text = description.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def replaced(path, member: str, content: bytes):
    """The same archive, with a member's bytes replaced."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, old in (members | {f"{member}.npy": content}).items():
            archive.writestr(name, old)
    return path


def twice(inputs: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """The same rows for training and for testing."""
    half = {"inputs": inputs, "labels": labels}
    return {f"{split}_{part}": array for split in ("train", "test") for part, array in half.items()}


@pytest.fixture
def arrays(arrays):
    """Three classes, all of them in both sets."""
    return arrays | {"train_labels": np.arange(7, dtype=np.uint8) % 3, "test_labels": np.array([2, 0, 1], np.uint8)}


@pytest.fixture
def file(tmp_path, arrays):
    np.savez(tmp_path / "mine.npz", **arrays)
    return tmp_path / "mine.npz"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("keras", [False, True], ids=["ours", "keras"])
def test_what_numpy_writes_is_read(tmp_path, arrays, save, keras):
    save(tmp_path / "a.npz", **{KERAS[part] if keras else part: array for part, array in arrays.items()})
    dataset = load(tmp_path / "a.npz")
    for part, array in arrays.items():
        np.testing.assert_array_equal(getattr(dataset, part).reshape(array.shape), array)
    assert dataset.name == "a" and dataset.source == "a.npz"
    assert dataset.num_classes == 1 + max(arrays["train_labels"].max(), arrays["test_labels"].max())


def test_names_colors_columns_and_order(tmp_path, arrays):
    """Class names, the largest pixel, three channels in Fortran's order, and labels [N, 1] of 64 bits."""
    colors = {
        part: np.asfortranarray(np.repeat(arrays[part][..., None] % 17, 3, -1)) for part in KERAS if "inputs" in part
    }
    labels = {part: (arrays[part].astype(np.int64) % 2)[:, None] for part in KERAS if "labels" in part}
    np.savez(tmp_path / "b.npz", **colors, **labels, class_names=np.array(["no", "yes"]), max_pixel=16)
    dataset = load(str(tmp_path / "b.npz"))
    assert dataset.class_names == ("no", "yes") and dataset.max_pixel == 16
    np.testing.assert_array_equal(dataset.train_inputs, colors["train_inputs"])
    np.testing.assert_array_equal(dataset.test_labels, labels["test_labels"][:, 0])


@pytest.mark.parametrize(
    ("shape", "labels"),
    [((7, 8, 8, 8), np.arange(7) % 3), ((7, 3, 8, 3), np.arange(7) % 3), ((7, 2, 2, 1), [1, 2] * 3 + [2])],
)
def test_what_only_looks_strange_is_read(tmp_path, shape, labels):
    """Eight channels of 8 x 8 images; three rows of pixels; a class without rows that has a name."""
    arrays = twice(np.zeros(shape, np.uint8), np.array(labels))
    np.savez(tmp_path / "a.npz", **arrays, class_names=np.array(["a", "b", "c"]))
    assert load(tmp_path / "a.npz").train_inputs.shape == shape


WRONG = {
    "floating pixels": ({"train_inputs": np.zeros((7, 2, 2))}, "must be uint8 of shape .*store pixels as they are"),
    "flat images": ({"train_inputs": np.zeros((7, 784), np.uint8)}, r"must be uint8 of shape .*got uint8 \(7, 784\)"),
    "negative label": ({"test_labels": np.array([0, -1, 2])}, "must be in .0, 65536., got -1 in row 1"),
    "large label": ({"test_labels": np.array([0, 1, 2**40])}, "got 1099511627776 in row 2"),
    "floating labels": ({"test_labels": np.zeros(3)}, "whole numbers of shape .N., got float64"),
    "few names": ({"class_names": np.array(["only one"])}, r"_labels must be in \[0, 0\]"),
    "names in bytes": ({"class_names": np.array([b"a", b"b"])}, "one string for each class"),
    "largest pixel 300": ({"max_pixel": 300}, "whole number from 1 to 255"),
    "pixels above the largest": ({"max_pixel": 3}, r"_inputs must be in \[0, 3\]"),
    "other sizes": ({"test_inputs": np.zeros((3, 5, 5), np.uint8)}, "in the training set and .* in the test set"),
    "channels first": (
        {part: np.zeros((size, 3, 8, 8), np.uint8) for part, size in (("train_inputs", 7), ("test_inputs", 3))},
        r"\(7, 3, 8, 8\) seem to have channels first; store np.moveaxis\(train_inputs, 1, -1\)",
    ),
    "labels from 1": (
        {"train_labels": 1 + np.arange(7) % 3, "test_labels": np.array([1, 2, 3])},
        "no training row has label 0, which is below the largest, 3; number the classes from 0",
    ),
    "a class of the test set alone": (
        {"train_labels": np.arange(7) % 3, "test_labels": np.array([0, 1, 3])},
        "no training row has label 3, which test rows have; .* or name every class in class_names",
    ),
    "no images": ({"test_inputs": np.zeros((0, 28, 28), np.uint8), "test_labels": np.zeros(0, int)}, "hold no pixels"),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_arrays_that_are_no_data_set(tmp_path, arrays, change, message):
    np.savez(tmp_path / "wrong.npz", **(arrays | change))
    with pytest.raises(RunError, match=message):
        load(tmp_path / "wrong.npz")


@pytest.mark.parametrize(
    ("pixels", "stored"),
    [
        ("bytes", np.arange(256, dtype=np.int64)),
        ("bytes", np.arange(256, dtype=np.float32)),
        ("unit", np.arange(256) / 255),
        ("unit", np.arange(256, dtype=np.float32) / 255),
        ("unit", np.linspace(0, 1, 256).astype(np.float16)),
        ("sixteen-bit", np.arange(256, dtype=np.uint16) * 257),
        ("sixteen-bit", np.minimum(np.arange(256) * 257 + 100, 65535)),
        ("stored", np.arange(256, dtype=np.uint8)),
    ],
)
def test_a_scale_that_is_named(tmp_path, pixels, stored):
    """Every byte as it would be stored in another dtype; a hundred of 65535 more is the same byte."""
    np.savez(tmp_path / "a.npz", **twice(stored.reshape(4, 8, 8), np.arange(4)))
    found = load(tmp_path / "a.npz", pixels=pixels)
    np.testing.assert_array_equal(found.train_inputs.ravel(), np.arange(256))
    np.testing.assert_array_equal(found.test_inputs, found.train_inputs)
    config = configured("width", dataset=str(tmp_path / "a.npz"), pixels=pixels)
    assert training_set(config, None).fingerprint == found.fingerprint


def test_white_of_another_size(tmp_path, arrays):
    np.savez(tmp_path / "a.npz", **(arrays | {"train_inputs": np.ones((7, 28, 28)), "max_pixel": 16}
                                    | {"test_inputs": np.full((3, 28, 28), 0.5)}))  # fmt: skip
    found = load(tmp_path / "a.npz", pixels="unit")
    assert found.max_pixel == 16 and (found.train_inputs == 16).all() and (found.test_inputs == 8).all()


@pytest.mark.parametrize(
    ("pixels", "images", "words"),
    [
        (
            "stored",
            np.zeros((7, 2, 2), np.int64),
            "got int64 .*or name their scale: pixels 'bytes' for 0 to 255, 'unit'",
        ),
        ("unit", np.full((7, 2, 2), 255.0), r"train_inputs with pixels='unit' must be in \[0, 1\], got 255$"),
        ("unit", np.full((7, 2, 2), np.nan), r"must be in \[0, 1\], got nan"),
        ("bytes", np.full((7, 2, 2), 0.5), r"must be whole numbers in \[0, 255\], got 0.5"),
        ("bytes", np.full((7, 2, 2), -1), r"must be whole numbers in \[0, 255\], got -1"),
        ("sixteen-bit", np.full((7, 2, 2), 65536), r"must be in \[0, 65535\], got 65536"),
        ("bytes", np.zeros((7, 2, 2), bool), "must be numbers, got bool"),
        ("unit", np.zeros((7, 4)), r"of shape \[N, H, W, C\]"),
    ],
)
def test_pixels_of_another_scale(tmp_path, arrays, pixels, images, words):
    np.savez(tmp_path / "a.npz", **(arrays | {"train_inputs": images}))
    with pytest.raises(RunError, match=words):
        load(tmp_path / "a.npz", pixels=pixels)


def test_scales_are_for_npz_files():
    with pytest.raises(ValueError, match=r"pixels is for \.npz files, got pixels='unit' with digits"):
        load("digits", pixels="unit")
    with pytest.raises(ValueError, match=r"pixels must be one of .*, got 'percent'"):
        load("a.npz", pixels="percent")


def test_an_array_that_is_missing(tmp_path, arrays):
    np.savez(tmp_path / "part.npz", train_inputs=arrays["train_inputs"], other=np.zeros(3))
    with pytest.raises(RunError, match=r"no array train_labels \(or y_train\); it has train_inputs$"):
        load(tmp_path / "part.npz")


class Trap:
    """Its pickle writes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_pickles_are_not_read(tmp_path, arrays):
    objects = np.empty(1, object)
    objects[0] = Trap(tmp_path / "sprung")
    np.savez(tmp_path / "trap.npz", **(arrays | {"train_labels": objects}))
    with pytest.raises(RunError, match="pickles are not read"):
        load(tmp_path / "trap.npz")
    assert not (tmp_path / "sprung").exists()
    (tmp_path / "bare.npz").write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    with pytest.raises(RunError, match="damaged, or is not an npz file"):
        load(tmp_path / "bare.npz")
    assert not (tmp_path / "sprung").exists()


HEADERS = {
    "a shape of 2^80": "{'descr': '|u1', 'fortran_order': False, 'shape': (1208925819614629174706176,), }",
    "a negative shape": "{'descr': '|u1', 'fortran_order': False, 'shape': (-2, -3), }",
    "a shape of nothing, endlessly": "{'descr': '|S0', 'fortran_order': False, 'shape': (1000000000000,), }",
    "a huge item": "{'descr': '<U500000000', 'fortran_order': False, 'shape': (1,), }",
    "code": "{'descr': __import__('os').getcwd(), 'fortran_order': False, 'shape': (1,), }",
    "no end of brackets": "[" * 5000,
}


@pytest.mark.parametrize("text", HEADERS.values(), ids=HEADERS)
def test_headers_are_not_believed(file, text):
    replaced(file, "train_inputs", header(text) + bytes(6))
    with pytest.raises(RunError) as error:
        load(file)
    assert "\n" not in str(error.value)


def test_characters_that_do_not_exist(file):
    text = "{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }"
    replaced(file, "class_names", header(text) + b"\xff" * 4)
    with pytest.raises(RunError, match="is damaged, or is not an npz file"):
        load(file)


def test_a_member_that_unpacks_to_more_than_the_limit_is_left(tmp_path, arrays, monkeypatch):
    np.savez_compressed(tmp_path / "bomb.npz", **(arrays | {"train_inputs": np.zeros((1000, 28, 28), np.uint8)}))
    monkeypatch.setattr(_npz, "_LIMIT", 100_000)
    with pytest.raises(RunError, match="more than 100000 bytes"):
        load(tmp_path / "bomb.npz")


@pytest.mark.medium
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_is_one_sentence(tmp_path, data):
    """One byte of a small file changed, or its end cut off: a data set, or one sentence; nothing else is raised."""
    small = {"train_inputs": np.ones((1, 1, 1), np.uint8), "train_labels": np.zeros(1, np.int32)}
    buffer = io.BytesIO()
    np.savez(buffer, **small, test_inputs=small["train_inputs"], test_labels=small["train_labels"])
    content = bytearray(buffer.getvalue())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged.npz"
    path.write_bytes(content[: data.draw(st.sampled_from([len(content), len(content) // 2, len(content) - 1]))])
    try:
        load(path)
    except RunError as error:
        assert "\n" not in str(error)
