"""Folders that tensorflow-datasets has prepared, damaged in every way: the same data, or one sentence."""

from __future__ import annotations

import json
import shutil
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mixjax.datasets import MissingDataError, load, prepare
from mixjax.datasets.png import decode_pngs, encode_png
from mixjax.runs import RunError
from tests.datasets.conftest import write_idx
from tests.datasets.tfrecords import as_tfrecord

pytest.importorskip("tensorflow_datasets", reason="tensorflow-datasets is not installed")

FORMATS = ["array_record", "tfrecord"]


@pytest.fixture(params=FORMATS)
def prepared(request, tmp_path, arrays):
    """A folder DATA/kmnist/3.0.1."""
    made = prepare("kmnist", write_idx(tmp_path / "original", arrays), data_dir=tmp_path / "data")
    return as_tfrecord(made, "kmnist", 1) if request.param == "tfrecord" else made


def reading(prepared):
    return load("kmnist", data_dir=prepared.parents[1])


def test_the_newest_version_is_read(prepared):
    for version in ("3.0.0", "2.10.0", "10.0.0.incomplete"):
        (prepared.parent / version).mkdir()
    shutil.copytree(prepared, prepared.parent / "3.0.10")
    assert reading(prepared).source.startswith("tensorflow-datasets 3.0.10, ")


def test_a_folder_that_was_not_finished(prepared):
    (prepared / "dataset_info.json").unlink()
    says = r"3\.0\.1 was not completely prepared; remove it and prepare the data set again"
    with pytest.raises(RunError, match=says):
        reading(prepared)


def test_a_preparation_that_was_interrupted(prepared):
    prepared.rename(prepared.parent / "incomplete.ABCDEF_3.0.1")
    with pytest.raises(RunError, match=r"incomplete.ABCDEF_3.0.1 was not completely prepared"):
        reading(prepared)


@pytest.mark.parametrize("prepared", ["tfrecord"], indirect=True)
def test_a_file_that_ends_early_with_a_whole_record(prepared):
    """Every checksum is right; only the count tells."""
    (path,) = prepared.glob("kmnist-train.*")
    content = path.read_bytes()
    path.write_bytes(content[: 16 + int.from_bytes(content[:8], "little")])
    with pytest.raises(RunError, match=r"holds 1 examples, and dataset_info.json says 7; prepare the data set again"):
        reading(prepared)


def lengths(*counts):
    """A change to the numbers of examples in the files of the training set."""
    return lambda info: info["splits"][0].update(shardLengths=list(counts))


INFO = {
    "no test split": (lambda info: info["splits"].pop(1), "has 0 examples in kmnist-test.*, and should have 3"),
    "fewer examples": (lengths("6"), "has 6 examples in kmnist-train.*, and should have 7; prepare the data set again"),
    "fewer than none": (lengths("8", "-1"), "a file with a negative number of examples"),
    "a file that is missing": (lengths("4", "3"), "there is no file .*00000-of-00002"),
    "another format": (lambda info: info.update(fileFormat="riegeli"), "is in format 'riegeli'.*mixjax reads"),
    "a format that is none": (lambda info: info.update(fileFormat=[]), "is damaged|is in format"),
    "another naming": (lambda info: info["splits"][0].update(filepathTemplate="../{DATASET}"), "files named .*DATASET"),
    "no splits": (lambda info: info.pop("splits"), "is damaged, or of an unknown version"),
    "a name that is none": (lambda info: info["splits"][0].update(name=[]), "is damaged, or of an unknown version"),
}


@pytest.mark.parametrize(("change", "message"), INFO.values(), ids=INFO)
def test_what_the_folder_says_of_itself(prepared, change, message):
    path = prepared / "dataset_info.json"
    info = json.loads(path.read_text())
    change(info)
    path.write_text(json.dumps(info))
    with pytest.raises(RunError, match=message) as error:
        reading(prepared)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("prepared", ["tfrecord"], indirect=True)
def test_no_json(prepared):
    for content in (b"", b"{", b"[" * 100_000, b"\xff", b"null"):
        (prepared / "dataset_info.json").write_bytes(content)
        with pytest.raises(RunError, match="is damaged, or of an unknown version of tensorflow-datasets"):
            reading(prepared)


@pytest.mark.medium
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_never_passes_as_data(prepared, data):
    """A bit changed anywhere, or an end cut off. (array_record pads its files: what lies there is not read.)"""
    (path,) = prepared.glob("kmnist-train.*")
    whole = path.read_bytes()
    used = min(len(whole), 8_000)
    place = data.draw(st.integers(0, used - 1))
    content = whole[:place]
    if data.draw(st.booleans()):
        content += bytes([whole[place] ^ 1 << data.draw(st.integers(0, 7))]) + whole[place + 1 :]
    expected = reading(prepared).fingerprint
    path.write_bytes(content)
    try:
        assert reading(prepared).fingerprint == expected
    except RunError as error:
        assert "\n" not in str(error)
    finally:
        path.write_bytes(whole)


def test_images_of_another_size_and_other_numbers(rng, tmp_path, prepared):
    """The header of an image is compared before it is unpacked, so that its size is never believed."""
    images = rng.integers(0, 256, (2, 5, 4, 3), np.uint8)
    encoded = [encode_png(image) for image in images]
    np.testing.assert_array_equal(decode_pngs(encoded, (5, 4, 3)), images)
    with pytest.raises(ValueError, match="image 0 is not a PNG file of 5x4 pixels with 1 channels"):
        decode_pngs(encoded, (5, 4, 1))
    huge = encoded[0][:16] + (2**31 - 1).to_bytes(4) * 2 + encoded[0][24:]
    with pytest.raises(ValueError, match="image 1 is not a PNG file of 5x4"):
        decode_pngs([encoded[0], huge], (5, 4, 3))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 400), value=st.integers(0, 255), cut=st.booleans())
def test_a_changed_image_is_one_or_a_value_error(place, value, cut):
    """Pillow checks what it decodes; what it raises is turned into one error."""
    encoded = bytearray(encode_png(np.arange(75, dtype=np.uint8).reshape(5, 5, 3)))
    place = min(place, len(encoded) - 1)
    encoded[place] = value
    try:
        assert decode_pngs([bytes(encoded[:place] if cut else encoded)], (5, 5, 3)).shape == (1, 5, 5, 3)
    except ValueError as error:
        assert str(error).startswith("image 0 ")


@pytest.mark.parametrize(
    ("module", "name"),
    [("PIL.Image", "pillow"), ("tensorflow_datasets.proto.tf_example_generated_pb2", "tensorflow-datasets")],
)
def test_without_the_packages(prepared, monkeypatch, module, name):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDataError, match=f"needs {name}: pip install tensorflow-datasets importlib_resources"):
        reading(prepared)
