"""Run folders: whole files or none, damage that is seen, and folders that are somebody else's."""

import errno
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from mixjax import _lock, runs
from mixjax._lock import in_use
from mixjax.runs import RunDirectory, RunError, provenance, read_manifest, write_atomically

ROOT = Path(__file__).resolve().parents[1]
SPEC = {"study": "s", "axis": [1.0, 2.0], "seed": 0}
ENVIRONMENT = {"jax": "1", "platform": "cpu"}
LAYOUT = {"unit_cells": 4}
ARRAYS = {"mean": np.arange(6.0).reshape(2, 3), "count": np.array([3, 4], np.int32)}


@pytest.fixture
def run(tmp_path):
    with RunDirectory.open(tmp_path / "run", spec=SPEC, environment=ENVIRONMENT, layout=LAYOUT) as run:
        yield run


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


def test_a_shard_is_of_its_unit_and_its_run(run, tmp_path):
    """Under another name, or among those of another spec, it is damage, whole as it is."""
    run.write("a", ARRAYS)
    content = (run.path / "shards" / "a.npz").read_bytes()
    (run.path / "shards" / "b.npz").write_bytes(content)
    assert run.inventory(["a", "b"]).damaged == ("b",)
    for seed, held in ((0, True), (1, False)):
        parts = {"environment": ENVIRONMENT, "layout": LAYOUT}
        with RunDirectory.open(tmp_path / str(seed), spec={**SPEC, "seed": seed}, **parts) as other:
            (other.path / "shards" / "a.npz").write_bytes(content)
            assert other.has("a") == held


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
    unit = hashlib.sha256(json.dumps(SPEC, sort_keys=True).encode()).digest() + b"a"
    path.write_bytes(body + hashlib.sha256(unit + body).digest())
    assert not run.has("a")


def test_the_same_spec_resumes_and_keeps_its_layout(run):
    run.close()
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


def test_two_runs_do_not_share_a_folder(run):
    with pytest.raises(
        RunError, match=rf"another run is at work in .* \(process {os.getpid()}\); wait for it, stop it"
    ):
        RunDirectory.open(run.path, spec=SPEC, environment=ENVIRONMENT, layout=LAYOUT)
    assert in_use(run.path)
    RunDirectory.open(run.path, spec=SPEC, environment=ENVIRONMENT, layout=LAYOUT, lock=False)  # one of several
    run.close()
    assert not in_use(run.path)
    with RunDirectory.open(run.path, spec=SPEC, environment=ENVIRONMENT, layout=LAYOUT):
        assert in_use(run.path)


def test_a_finished_run_is_not_locked(run):
    (run.path / "dataset.nc").touch()
    assert RunDirectory.open(run.path, spec=SPEC, environment=ENVIRONMENT, layout=LAYOUT).finished


HOLD = """
import sys
from mixjax.runs import RunDirectory
run = RunDirectory.open(sys.argv[1], spec={"a": 1}, environment={}, layout={})
print("held", flush=True)
sys.stdin.read()
"""


def test_a_lock_ends_with_its_process(tmp_path):
    """SIGKILL; what the process was writing is cleared away by the next."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "run")]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RunError, match=rf"another run is at work in .*process {holder.pid}\)"):
            RunDirectory.open(tmp_path / "run", spec={"a": 1}, environment={}, layout={})
        (tmp_path / "run" / "shards" / ".tmp-half").touch()
        (tmp_path / "run" / ".tmp-scratch").mkdir()
        holder.kill()
        holder.wait()
    with RunDirectory.open(tmp_path / "run", spec={"a": 1}, environment={}, layout={}) as run:
        assert not list(run.path.rglob(".tmp-*"))


def test_where_there_are_no_locks_is_said(tmp_path, monkeypatch):
    """As on some network file systems; the run goes on."""

    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(_lock.fcntl, "flock", refuse)
    said = []
    with RunDirectory.open(tmp_path, spec=SPEC, environment=ENVIRONMENT, layout=LAYOUT, warn=said.append) as run:
        run.write("a", ARRAYS)
    assert said == [f"{tmp_path} is on a file system without locks: let no second run work in it"]


def test_an_inventory_tells_whole_from_damaged_and_strange(run):
    for name in "abc":
        run.write(name, ARRAYS)
    (run.path / "shards" / "b.npz").write_bytes(b"")
    (run.path / "shards" / "notes.txt").touch()
    (run.path / "shards" / ".tmp-x").touch()
    found = run.inventory(["a", "b", "c", "d"])
    assert (found.stored, found.damaged, found.strays) == ({"a", "c"}, ("b",), ("notes.txt",))
    assert found.remarks() == [
        "1 shard (b) truncated, altered or misplaced: not counted as computed",
        "1 file (notes.txt) in shards/ not of this run: left alone",
    ]
    assert run.inventory(["d"]).remarks() == ["4 files (a.npz, ...) in shards/ not of this run: left alone"]
    shutil.rmtree(run.path / "shards")
    assert not run.inventory(["a"]).stored


def test_an_environment_that_is_allowed_is_listed(run):
    """...and may go on with the run afterwards without being allowed again."""
    run.close()
    other = {**ENVIRONMENT, "jax": "2"}
    for allowed in (True, False):
        options = {"spec": SPEC, "environment": other, "layout": LAYOUT, "allow_mixed": allowed}
        with RunDirectory.open(run.path, **options) as mixed:
            assert mixed.environments == [ENVIRONMENT, other]
    assert read_manifest(run.path)["mixed"] == [other]


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


def test_a_manifest_of_a_newer_release_is_refused(run):
    run.close()
    manifest = json.loads((run.path / "manifest.json").read_text())
    (run.path / "manifest.json").write_text(json.dumps(manifest | {"format": 2}))
    with pytest.raises(
        RunError, match=r"written by a newer release \(format 2, and this one reads 1\); upgrade mixjax"
    ):
        RunDirectory.open(run.path, spec=SPEC, environment=ENVIRONMENT, layout=LAYOUT)


def test_a_limit_on_the_size_of_files_is_one_sentence(run):
    """The system's own refusal, in the middle of a write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(RunError, match="no file as large is allowed; finished work is kept"):
            run.write("a", ARRAYS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list((run.path / "shards").iterdir()) == []
    run.write("a", ARRAYS)
    assert run.has("a")


FILL = """
import subprocess, sys
import numpy as np
from mixjax.runs import RunDirectory, RunError
folder = sys.argv[1]
run = RunDirectory.open(folder + "/run", spec={}, environment={}, layout={})
ballast = open(folder + "/ballast", "wb")
ballast.write(bytes(200_000))
ballast.flush()
number = 0
try:
    while number < 100:
        run.write(str(number), {"a": np.arange(4000.0)})
        number += 1
except RunError as error:
    print(error)
whole = all(run.has(str(index)) for index in range(number))
left = [path.name for path in (run.path / "shards").iterdir() if path.name.startswith(".tmp-")]
ballast.truncate(0)
ballast.close()
for index in range(number, number + 3):
    run.write(str(index), {"a": np.arange(4000.0)})
print(0 < number < 20, whole, left, run.has(str(number + 2)))
run.close()
subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
try:
    RunDirectory.open(folder + "/run", spec={}, environment={}, layout={})
except RunError as error:
    print(error)
"""


def test_a_file_system_that_is_full_or_read_only(tmp_path):
    """A real one, of 600 KB: finished work is kept, and goes on when there is room."""
    mount = f'mount -t tmpfs -o size=600k none {tmp_path} && exec "$0" "$@"'
    apart = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if (
        not shutil.which("unshare")
        or subprocess.run([*apart, mount, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("this system lets nobody mount a file system of one's own")
    command = [*apart, mount, sys.executable, "-c", FILL, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    full, went_on, read_only = done.stdout.splitlines()
    assert full.endswith("the disk is full; finished work is kept, and the same command goes on from it")
    assert went_on == "True True [] True"
    assert read_only.endswith("read-only file system; choose another folder")


def test_a_folder_that_is_gone_is_one_sentence(run):
    shutil.rmtree(run.path)
    with pytest.raises(RunError, match="no such file or directory"):
        run.write("a", ARRAYS)


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
