"""Tables that somebody else made: the checksum is right, and the HDF5 or what it lacks is not."""

from __future__ import annotations

import hashlib
import json

import h5py
import numpy as np
import pytest

from mixjax import sims
from mixjax.runs import RunError
from mixjax.sims.cli import main
from tests.fuzzing import survive


def replaced(folder, change):
    """The table changed as HDF5, with a provenance that says the new checksum."""
    with h5py.File(folder / "dataset.nc", "r+") as root:
        change(root, folder)
    made = json.loads((folder / "provenance.json").read_text())
    made["dataset_sha256"] = hashlib.sha256((folder / "dataset.nc").read_bytes()).hexdigest()
    (folder / "provenance.json").write_text(json.dumps(made))


def external_storage(root, folder):
    root.create_dataset("secret", (4,), "u1", external=[(str(folder.parent / "secret"), 0, 4)])


def virtual(root, folder):
    layout = h5py.VirtualLayout((4,), "u1")
    layout[:] = h5py.VirtualSource(str(folder.parent / "secret.h5"), "x", (4,))
    root.create_virtual_dataset("secret", layout)


def same_strings(root, folder):
    """A thousand texts that are the same megabyte of the file."""
    array = root.create_dataset("same", (1000,), h5py.string_dtype())
    array[:] = ["x" * 2**20, *"y" * 999]
    root.flush()
    start, size = array.id.get_offset(), 16  # of a length and of a place in the file
    with open(folder / "dataset.nc", "r+b") as file:
        file.seek(start)
        first = file.read(size)
        file.seek(start)
        file.write(first * 1000)


def sequence_in_an_attribute(root, folder):
    values = np.empty(1, object)
    values[0] = np.zeros(3)
    root["ece"].attrs.create("secret", values, dtype=h5py.vlen_dtype("f8"))


def axes_of_many(root, folder):
    axes = root["ece"].attrs["DIMENSION_LIST"]
    del root["ece"].attrs["DIMENSION_LIST"]
    root["ece"].attrs.create("DIMENSION_LIST", np.tile(axes, 9), dtype=h5py.vlen_dtype(h5py.ref_dtype))


def no_axes(root, folder):
    for name in root:
        for attribute in list(root[name].attrs):
            del root[name].attrs[attribute]


def added(name, *shape_and_type, **options):
    """An array that no table has."""
    return lambda root, _: root.create_dataset(name, *shape_and_type, **options)


CHANGES = {
    "external link": (lambda root, _: root.update(secret=h5py.ExternalLink("../secret.h5", "/x")), "secret is a link"),
    "soft link": (lambda root, _: root.update(secret=h5py.SoftLink("/ece")), "secret is a link"),
    "external storage": (external_storage, "secret is stored in other files"),
    "virtual": (virtual, "secret is stored in other files"),
    "huge": (added("huge", (2**40,), "f8", chunks=(2**10,)), "huge is larger than the file"),
    "many strings": (added("many", (2**30,), h5py.string_dtype(), chunks=(2**10,)), "many is larger than the file"),
    "same strings": (same_strings, "same is larger than the file"),
    "large chunk": (
        added("chunk", (4,), "u1", maxshape=(None,), chunks=(2**30,), compression="gzip"),
        "chunk is larger than the file",
    ),
    "strings in an attribute": (
        lambda root, _: root["ece"].attrs.create("secret", ["a"] * 3, dtype=h5py.string_dtype()),
        "ece has secret, which no table has",
    ),
    "sequence in an attribute": (sequence_in_an_attribute, "ece has secret, which no table has"),
    "axes of many": (axes_of_many, "ece has DIMENSION_LIST, which no table has"),
    "group": (lambda root, _: root.create_group("inner"), "inner is not an array"),
    "another study": (lambda root, _: root.attrs.create("study", "nosuch"), "it belongs to no study of this release"),
    "no config": (lambda root, _: root.attrs.create("config", "[]"), "config is no object"),
    "no axes": (no_axes, "is not the table of a run"),
}


@pytest.mark.medium
@pytest.mark.parametrize(("change", "says"), CHANGES.values(), ids=CHANGES)
def test_a_table_with_a_checksum_is_not_believed(copied, change, says):
    (copied.parent / "secret").write_bytes(b"mine")
    with h5py.File(copied.parent / "secret.h5", "w") as secret:
        secret["x"] = np.frombuffer(b"mine", np.uint8)
    replaced(copied, change)

    def read(_: bytes) -> None:
        with pytest.raises(RunError, match=says):
            sims.load(copied)

    assert survive([b""], read, copied / "bad")["read"] == 1


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("command", ["figures", "verify", "publish"])
def test_a_table_without_what_is_drawn_of_it(copied, tmp_path, capsys, command):
    replaced(copied, lambda root, _: root.move("ece_difference_se", "another"))
    folders = [str(copied), *([str(tmp_path / "out")] * (command == "publish"))]
    assert main([command, *folders]) == 2
    said = capsys.readouterr().err
    lack = f"error: the table in {copied} is of another release, or was changed: No variable named 'ece_difference_se'"
    assert said.startswith(lack) and said.count("\n") == 1
