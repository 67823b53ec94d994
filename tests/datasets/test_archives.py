"""The archives of CIFAR: planes become images, nothing is unpacked, and damage is one sentence."""

from __future__ import annotations

import gzip
import tarfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mixjax.datasets import MissingDataError, load
from mixjax.datasets.archives import read_archive
from mixjax.datasets.known import KNOWN
from mixjax.runs import RunError
from tests.datasets.conftest import ARCHIVES, cifar_members, cifar_sets, write_cifar, write_tar


@pytest.mark.parametrize("folder", ["", "cifar{}", "cifar-{}"])
def test_what_is_stored_is_read(tmp_path, name, rows, folder):
    """Each pixel where the format says it is: plane by plane, row by row."""
    write_cifar(tmp_path / folder.format(name.removeprefix("cifar")), name, rows)
    dataset = load(name, data_dir=tmp_path)
    for split, stored in zip(("train", "test"), rows, strict=True):
        images, labels = getattr(dataset, f"{split}_inputs"), getattr(dataset, f"{split}_labels")
        assert images.shape == (len(stored), 32, 32, 3) and labels.dtype == np.int32
        for number, row, column, channel in ((0, 0, 0, 0), (1, 0, 31, 1), (2, 31, 0, 2), (2, 17, 5, 1)):
            pixel = stored.shape[1] - 3072 + channel * 1024 + row * 32 + column
            assert images[number, row, column, channel] == stored[number, pixel]
        np.testing.assert_array_equal(labels, stored[:, stored.shape[1] - 3073])
    assert dataset.class_names == KNOWN[name].class_names and len(set(dataset.class_names)) == dataset.num_classes


def test_coarse_labels(tmp_path, rng, small):
    rows = cifar_sets(rng, "cifar100")
    archive = read_archive("cifar100", write_cifar(tmp_path, "cifar100", rows))
    for labels, stored in zip(archive.coarse_labels, rows, strict=True):
        np.testing.assert_array_equal(labels, stored[:, 0])
    assert archive.coarse_names == tuple(f"group_{number}" for number in range(20))


def test_an_archive_that_is_missing_is_named(tmp_path, name):
    with pytest.raises(MissingDataError, match=f"looked for {ARCHIVES[name]}.*get {ARCHIVES[name]} from https://"):
        load(name, data_dir=tmp_path)


FOLDERS = {"cifar10": "cifar-10-batches-bin", "cifar100": "cifar-100-binary"}
LAST = {"cifar10": "test_batch.bin", "cifar100": "test.bin"}
NAMES = {"cifar10": "batches.meta.txt", "cifar100": "fine_label_names.txt"}
WRONG = {
    "a file less": (LAST, lambda content: None, "has no cifar-.*; get cifar-"),
    "a row less": (LAST, lambda content: content[: len(content) // 3 * 2], "incomplete: 2 x 32 x 32 x 3 bytes of test"),
    "a byte less": (LAST, lambda content: content[1:], "not a multiple of the row size 307"),
    "empty": (LAST, lambda content: b"", "has 0 bytes"),
    "other classes": (NAMES, lambda content: content[1:], "does not name the classes of cifar"),
}


@pytest.mark.parametrize(("files", "change", "message"), WRONG.values(), ids=WRONG)
def test_archives_of_something_else(tmp_path, name, rows, files, change, message):
    members = cifar_members(name, *rows)
    file = f"{FOLDERS[name]}/{files[name]}"
    changed = change(members.pop(file))
    write_tar(tmp_path / ARCHIVES[name], members if changed is None else members | {file: changed})
    with pytest.raises(RunError, match=message):
        load(name, data_dir=tmp_path)


def test_a_label_out_of_range(tmp_path, name, rows):
    rows[0][3, rows[0].shape[1] - 3073] = 100
    write_cifar(tmp_path, name, rows)
    with pytest.raises(RunError, match=r"train_labels must be in .*, got 100 in row 3"):
        load(name, data_dir=tmp_path)


def test_a_coarse_label_out_of_range(tmp_path, rng, small):
    rows = cifar_sets(rng, "cifar100")
    rows[1][2, 0] = 20
    write_cifar(tmp_path, "cifar100", rows)
    with pytest.raises(RunError, match=r"coarse label 20, where coarse_label_names.txt names 20"):
        load("cifar100", data_dir=tmp_path)


def test_links_and_paths_lead_nowhere(tmp_path, name, rows):
    """A link in the place of a file is no file, and files outside the folder of the archive are not looked at."""
    path = write_tar(tmp_path / ARCHIVES[name], {})
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(3 * rows[0].shape[1]))
    with tarfile.open(path, "w:gz") as archive:
        for file in (f"{FOLDERS[name]}/{LAST[name]}", "../escaped"):
            link = tarfile.TarInfo(file)
            link.type, link.linkname = tarfile.SYMTYPE, str(secret)
            archive.addfile(link)
    with pytest.raises(RunError, match=f"has no {FOLDERS[name]}/"):
        load(name, data_dir=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [ARCHIVES[name], "secret"]


def test_an_archive_that_was_not_copied_whole(tmp_path, name, rows):
    path = write_cifar(tmp_path, name, rows)
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(RunError, match="is damaged or was not copied whole; get it again"):
        load(name, data_dir=tmp_path)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 511), value=st.integers(0, 255), zipped=st.booleans())
def test_a_changed_header_is_the_same_data_or_one_sentence(tmp_path, place, value, zipped):
    """A byte of the first member's header changed, in an archive of one row a file."""
    members = cifar_members("cifar10", *(np.zeros((size, 3073), np.uint8) for size in (5, 1)))
    path = write_tar(tmp_path / "any.tar.gz", members)
    content = bytearray(gzip.decompress(path.read_bytes()))
    content[place] = value
    path.write_bytes(gzip.compress(content, 1) if zipped else bytes(content))
    try:
        dataset = read_archive("cifar10", path).dataset
    except RunError as error:
        assert "\n" not in str(error)
    else:
        assert not dataset.train_inputs.any() and len(dataset.train_labels) == 5
