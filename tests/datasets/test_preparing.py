"""Folders for tensorflow-datasets: what is written is what it reads and what we read; the rest is one sentence."""

from __future__ import annotations

import errno
import subprocess
import sys

import pytest

from mixjax.datasets import MissingDataError, load, prepare
from mixjax.datasets.png import encode_png
from mixjax.runs import RunError
from tests.datasets.conftest import cifar_sets, write_cifar, write_idx
from tests.datasets.tfrecords import as_tfrecord

tfds = pytest.importorskip("tensorflow_datasets", reason="tensorflow-datasets is not installed")

ALL = ["mnist", "fashion_mnist", "kmnist", "cifar10", "cifar100"]
TWO = ["kmnist", "cifar10"]


@pytest.fixture
def original(request, tmp_path, rng, arrays):
    """The name of a data set and the folder with its authors' files."""
    name = request.param
    folder = tmp_path / "original"
    if name.startswith("cifar"):
        write_cifar(folder, name, cifar_sets(rng, name))
    else:
        write_idx(folder, arrays, zipped=True)
    return name, folder


def every(names):
    return pytest.mark.parametrize("original", names, indirect=True)


@pytest.mark.medium
@pytest.mark.few(2)
@every(ALL)
def test_plain_tensorflow_datasets_reads_what_we_read(tmp_path, original):
    """Its rows, in the order in which it shuffles them, are the authors'; ours are in the authors' order."""
    name, folder = original
    made = prepare(name, folder, data_dir=tmp_path / "data")
    expected, found = load(name, data_dir=folder), load(name, data_dir=tmp_path / "data")
    assert found.source == f"tensorflow-datasets {made.name}, array_record"
    assert found.fingerprint == expected.fingerprint and found.class_names == expected.class_names
    for source in (
        lambda split: tfds.data_source(name, data_dir=tmp_path / "data", split=split, download=False),
        lambda split: tfds.builder_from_directory(made).as_data_source(split),
    ):
        for split in ("train", "test"):
            inputs, labels = getattr(expected, f"{split}_inputs"), getattr(expected, f"{split}_labels")
            rows = [(example["image"].tobytes(), example["label"]) for example in source(split)]
            assert sorted(rows) == sorted(zip(map(bytes, inputs), labels.tolist(), strict=True))
            names = source(split).dataset_info.features["label"].names
            assert tuple(names) == expected.class_names
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == [name], "nothing else is left behind"


@pytest.mark.medium
@every(["cifar100"])
def test_coarse_labels_and_numbers_are_kept(tmp_path, original, rng):
    name, folder = original
    prepare(name, folder / "cifar-100-binary.tar.gz", data_dir=tmp_path)
    rows = tfds.data_source(name, data_dir=tmp_path, split="train", download=False)
    labels = {row["id"]: (row["coarse_label"], row["label"]) for row in rows}
    fine = load(name, data_dir=folder).train_labels
    assert sorted(labels) == [f"train_{number:05d}".encode() for number in range(7)]
    assert [labels[number][1] for number in sorted(labels)] == fine.tolist()
    assert rows.dataset_info.features["coarse_label"].names[3] == "group_3"


@pytest.mark.few(3)
@every(ALL)
@pytest.mark.parametrize("shards", [1, 3])
def test_tfrecord_folders_hold_the_same(tmp_path, original, shards):
    name, folder = original
    as_tfrecord(prepare(name, folder, data_dir=tmp_path / "data"), name, shards)
    found = load(name, data_dir=tmp_path / "data")
    assert found.fingerprint == load(name, data_dir=folder).fingerprint
    assert found.source.endswith(", tfrecord")


@every(TWO)
def test_a_folder_that_exists_is_left_as_it_is(tmp_path, original):
    name, folder = original
    made = prepare(name, folder, data_dir=tmp_path)
    before = {path.name: path.read_bytes() for path in made.iterdir()}
    with pytest.raises(RunError, match="exists already and is left unchanged; remove it, or choose another data_dir"):
        prepare(name, folder, data_dir=tmp_path)
    assert {path.name: path.read_bytes() for path in made.iterdir()} == before


FAILURES = {
    "full, says Python": (OSError(errno.ENOSPC, ""), "cannot write to .*data: the disk is full; nothing is kept; make"),
    "full, says array_record": (
        RuntimeError("write() failed: No space left on device; writing /a/b"),
        "cannot write to .*data: .*No space left on device; nothing is kept; choose another folder",
    ),
}


@every(TWO)
@pytest.mark.parametrize(("failure", "message"), FAILURES.values(), ids=FAILURES)
def test_nothing_is_left_of_what_failed(tmp_path, original, monkeypatch, failure, message):
    """Half-way through the images."""
    name, folder = original
    images = []

    def encode(image):
        images.append(image)
        if len(images) == 5:
            raise failure
        return encode_png(image)

    monkeypatch.setattr("mixjax.datasets.preparing.encode_png", encode)
    with pytest.raises(RunError, match=message) as error:
        prepare(name, folder, data_dir=tmp_path / "data")
    assert "\n" not in str(error.value)
    assert [path for path in (tmp_path / "data").rglob("*") if path.is_file()] == []


PROCESS = """
import os, sys
from mixjax.datasets import known, load, prepare
name, folder, whole, part = sys.argv[1:]
known.KNOWN[name] = known.KNOWN[name]._replace(sizes=(7, 3))
prepare(name, folder, data_dir=whole)
print(load(name, data_dir=whole).fingerprint, "tensorflow" in sys.modules, flush=True)
os.rename = lambda *names: os._exit(9) if "incomplete" not in str(names[0]) else os.replace(*names)
prepare(name, folder, data_dir=part)
"""


@pytest.mark.medium
@every(["cifar10"])
def test_a_process_that_dies_leaves_no_data_set(tmp_path, original):
    """Just before the folder gets its name: no call takes it for a data set, and the next one makes it.

    Neither preparing nor loading imports TensorFlow.
    """
    name, folder = original
    command = [sys.executable, "-c", PROCESS, name, folder, tmp_path / "whole", tmp_path / "data"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 9, done.stderr
    expected = load(name, data_dir=folder).fingerprint
    assert done.stdout.split() == [expected, "False"]
    assert any(path.is_file() for path in (tmp_path / "data").rglob("*"))
    with pytest.raises(MissingDataError, match="cifar10 was not found"):
        load(name, data_dir=tmp_path / "data")
    prepare(name, folder, data_dir=tmp_path / "data")
    assert load(name, data_dir=tmp_path / "data").fingerprint == expected


@pytest.mark.medium
@every(TWO)
def test_what_does_not_read_back_is_not_kept(tmp_path, original, monkeypatch):
    name, folder = original
    monkeypatch.setattr("mixjax.datasets.preparing.encode_png", lambda image: encode_png(image ^ 1))
    with pytest.raises(RunError, match="reads back differently from what was written; nothing is kept"):
        prepare(name, folder, data_dir=tmp_path / "data")
    assert [path for path in (tmp_path / "data").rglob("*") if path.is_file()] == []


SOURCES = {
    "nothing": (lambda folder: folder / "nowhere", "there is nothing at .*get"),
    "an empty folder": (lambda folder: folder.parent, "does not hold .*get"),
}


@every(TWO)
@pytest.mark.parametrize(("source", "message"), SOURCES.values(), ids=SOURCES)
def test_sources_that_are_none(tmp_path, original, source, message):
    name, folder = original
    with pytest.raises(MissingDataError, match=message):
        prepare(name, source(folder), data_dir=tmp_path / "data")
    assert not (tmp_path / "data").exists()


@every(TWO)
def test_a_place_that_cannot_be_written(tmp_path, original):
    name, folder = original
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(RunError, match=r"cannot write to .*it is a file, or lies inside one"):
        prepare(name, folder, data_dir=tmp_path / "file")


def test_a_name_that_is_not_kept_in_files(tmp_path):
    with pytest.raises(ValueError, match=r"name must be one of mnist, .*, got 'digits'"):
        prepare("digits", tmp_path)
