"""Run folders: whole files or none, damage that is seen, and folders that are somebody else's."""

import errno
import json
import os

import numpy as np
import pytest

from mixjax import runs
from mixjax.runs import RunDirectory, RunError, provenance, read_manifest, write_atomically

SPEC = {"study": "s", "axis": [1.0, 2.0], "seed": 0}
ENVIRONMENT = {"jax": "1", "platform": "cpu"}
LAYOUT = {"unit_cells": 4}
ARRAYS = {"mean": np.arange(6.0).reshape(2, 3), "count": np.array([3, 4], np.int32)}


@pytest.fixture
def run(tmp_path):
    return RunDirectory.open(tmp_path / "run", spec=SPEC, environment=ENVIRONMENT, layout=LAYOUT)


def test_what_is_written_is_read(run):
    assert not run.has("a")
    run.write("a", ARRAYS)
    assert run.has("a")
    stored = run.read("a")
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(stored[name], array)
        assert stored[name].dtype == array.dtype


@pytest.mark.parametrize("cut", [0, 1, 50, -1])
def test_a_truncated_shard_is_not_there(run, cut):
    run.write("a", ARRAYS)
    path = run.path / "shards" / "a.npz"
    path.write_bytes(path.read_bytes()[:cut])
    assert not run.has("a")
    with pytest.raises(RunError, match="missing or damaged"):
        run.read("a")


def test_every_flipped_bit_of_the_data_is_seen(run, rng):
    run.write("a", ARRAYS)
    path = run.path / "shards" / "a.npz"
    content = path.read_bytes()
    for position in rng.integers(0, len(content), 200):
        damaged = bytearray(content)
        damaged[position] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        if run.has("a"):  # a bit of the archive that carries no data, such as a date
            np.testing.assert_array_equal(run.read("a")["mean"], ARRAYS["mean"])


def test_a_shard_with_objects_is_never_unpickled(run):
    np.savez(run.path / "shards" / "a.npz", mean=np.array([{"code": 1}], dtype=object), allow_pickle=True)
    assert not run.has("a")


def test_the_same_spec_resumes_and_keeps_its_layout(run):
    again = RunDirectory.open(run.path, spec=SPEC, environment=ENVIRONMENT, layout={"unit_cells": 99})
    assert again.manifest["layout"] == LAYOUT


def test_another_spec_is_refused_with_what_differs(run):
    with pytest.raises(RunError, match=r"another spec \(seed is 0 there and 1 here\)"):
        RunDirectory.open(run.path, spec={**SPEC, "seed": 1}, environment=ENVIRONMENT, layout=LAYOUT)


def test_another_environment_is_refused_until_the_run_is_finished(run):
    other = {**ENVIRONMENT, "jax": "2"}
    with pytest.raises(RunError, match='jax is "1" there and "2" here'):
        RunDirectory.open(run.path, spec=SPEC, environment=other, layout=LAYOUT)
    (run.path / "dataset.nc").touch()
    assert RunDirectory.open(run.path, spec=SPEC, environment=other, layout=LAYOUT).finished


def test_somebody_elses_folder_is_refused(tmp_path):
    (tmp_path / "photo.jpg").touch()
    with pytest.raises(RunError, match="not a run"):
        RunDirectory.open(tmp_path, spec=SPEC, environment=ENVIRONMENT, layout=LAYOUT)
    with pytest.raises(RunError, match="cannot write"):
        RunDirectory.open(tmp_path / "photo.jpg", spec=SPEC, environment=ENVIRONMENT, layout=LAYOUT)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 999}', "\x00"])
def test_an_unreadable_manifest_is_refused(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(RunError, match=r"manifest\.json"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(("code", "words"), [(errno.ENOSPC, "the disk is full"), (errno.EACCES, "permission denied")])
def test_a_write_that_fails_leaves_nothing_and_says_why(run, monkeypatch, code, words):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(runs.os, "fsync", refuse)
    with pytest.raises(RunError, match=words):
        run.write("a", ARRAYS)
    assert list((run.path / "shards").iterdir()) == []


def test_atomic_writing_replaces_the_whole_file(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, b"long content")
    write_atomically(path, b"short")
    assert path.read_bytes() == b"short"
    assert [child.name for child in tmp_path.iterdir()] == ["file"]


def test_provenance_names_no_place_or_person():
    text = json.dumps(provenance())
    for secret in (os.path.expanduser("~"), os.uname().nodename, os.getcwd()):
        assert len(secret) < 4 or secret not in text
