"""Run folders: whole files or none, damage that is seen, and folders that are somebody else's."""

import errno
import hashlib
import json
import os
import re
import zipfile
from pathlib import Path

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


def test_every_flipped_bit_is_seen(run):
    run.write("a", ARRAYS)
    path = run.path / "shards" / "a.npz"
    content = path.read_bytes()
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        assert not run.has("a"), position
    path.write_bytes(content)
    assert run.has("a")


def test_a_shard_with_more_or_other_bytes_is_not_there(run):
    run.write("a", ARRAYS)
    run.write("b", {**ARRAYS, "mean": ARRAYS["mean"] + 1})
    a, b = (run.path / "shards" / f"{name}.npz" for name in "ab")
    whole = a.read_bytes()
    a.write_bytes(whole + b"\0")
    assert not run.has("a")
    a.write_bytes(whole[:-32] + b.read_bytes()[-32:])  # another shard's checksum
    assert not run.has("a")


def test_a_deleted_shard_is_not_there(run):
    run.write("a", ARRAYS)
    (run.path / "shards" / "a.npz").unlink()
    assert not run.has("a")


def test_numpy_reads_a_shard(run):
    """It is a plain .npz: nobody needs this code to look into one."""
    run.write("a", ARRAYS)
    with np.load(run.path / "shards" / "a.npz") as stored:
        assert sorted(stored.files) == ["count", "mean"]
        np.testing.assert_array_equal(stored["mean"], ARRAYS["mean"])


class Trap:
    """Unpickling it would raise."""

    def __reduce__(self):
        return eval, ("1/0",)


def test_a_shard_with_objects_is_never_unpickled(run):
    """Even if its checksum is right."""
    path = run.path / "shards" / "a.npz"
    np.savez(path, mean=np.array([Trap()], dtype=object), allow_pickle=True)
    assert not run.has("a")
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = bytes(32)
    body = path.read_bytes()[:-32]
    path.write_bytes(body + hashlib.sha256(body).digest())
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


def test_a_folder_is_created_with_its_parents_and_may_be_empty(tmp_path):
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "a" / "b" / "c"):
        run = RunDirectory.open(path, spec=SPEC, environment=ENVIRONMENT, layout=LAYOUT)
        assert not run.finished
        assert read_manifest(path)["spec"] == SPEC


def test_debris_of_a_killed_start_is_no_obstacle(tmp_path):
    """A kill before the manifest leaves an empty shards/ and a temporary file at most."""
    (tmp_path / "shards").mkdir()
    (tmp_path / ".tmp-x").touch()
    assert RunDirectory.open(tmp_path, spec=SPEC, environment=ENVIRONMENT, layout=LAYOUT).manifest["spec"] == SPEC


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", '{"format": 999}', '{"format": 1}', '{"format": 1, "spec": [], "environment": {}}', "\x00"],
)
def test_an_unreadable_manifest_is_refused(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(RunError, match=r"manifest\.json"):
        read_manifest(tmp_path)
    with pytest.raises(RunError, match=r"manifest\.json"):
        RunDirectory.open(tmp_path, spec=SPEC, environment=ENVIRONMENT, layout=LAYOUT)
    assert (tmp_path / "manifest.json").read_text() == content


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "the disk quota is used up"),
        (errno.EACCES, "permission denied"),
        (errno.EROFS, "read-only file system"),
    ],
)
def test_a_write_that_fails_leaves_nothing_and_says_why(run, monkeypatch, code, words, step):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(runs.os, step, refuse)
    with pytest.raises(RunError, match=words) as raised:
        run.write("a", ARRAYS)
    assert "\n" not in str(raised.value)
    assert list((run.path / "shards").iterdir()) == []


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_is_interrupted_leaves_what_was_there(tmp_path, monkeypatch, step):
    """Ctrl-C at the worst moment: the old file whole, nothing beside it."""
    write_atomically(tmp_path / "file", b"old")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(runs.os, step, interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert [child.name for child in tmp_path.iterdir()] == ["file"]


def test_where_nothing_can_be_written_is_one_sentence():
    with pytest.raises(RunError, match="cannot write to /proc/nowhere/run: no such file or directory"):
        RunDirectory.open("/proc/nowhere/run", spec=SPEC, environment=ENVIRONMENT, layout=LAYOUT)


def test_atomic_writing_replaces_the_whole_file(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, b"long content")
    write_atomically(path, b"short")
    assert path.read_bytes() == b"short"
    assert [child.name for child in tmp_path.iterdir()] == ["file"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_provenance_says_what_a_result_was_made_with():
    made = provenance()
    assert made["jax"]
    assert made["platform"] == "cpu"
    assert made["devices"] >= 1
    assert made["cores"] >= 1
    if (Path(runs.__file__).parents[1] / ".git").exists():
        assert re.fullmatch(r"[0-9a-f]{12}(-modified)?", str(made["commit"]))


def test_provenance_names_no_place_or_person():
    text = json.dumps(provenance())
    for secret in (os.path.expanduser("~"), os.uname().nodename, os.getcwd()):
        assert len(secret) < 4 or secret not in text
