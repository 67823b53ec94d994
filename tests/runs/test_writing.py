"""Files that are whole or not there, against what a real or a patched system refuses in the middle of a write."""

import errno
import os
import resource
import shutil
import subprocess
import sys

import pytest

from mixjax.runs import RunDirectory, RunError, write_atomically, writing
from tests.paths import ROOT
from tests.runs.run_folder import ARRAYS, RUN


def test_a_limit_on_the_size_of_files_is_one_sentence(run):
    """The system's own refusal, in the middle of a write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(RunError, match="the file would be larger than allowed; finished work is kept"):
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


@pytest.mark.medium
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
    assert full.endswith("the disk is full; finished work is kept, and the same command resumes from it")
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

    monkeypatch.setattr(writing.os, step, refuse)
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

    monkeypatch.setattr(writing.os, step, interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert [child.name for child in tmp_path.iterdir()] == ["file"]


def test_where_nothing_can_be_written_is_one_sentence():
    with pytest.raises(RunError, match="cannot write to /proc/nowhere/run: no such file or directory"):
        RunDirectory.open("/proc/nowhere/run", **RUN)


def test_atomic_writing_replaces_the_whole_file(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, b"long content")
    write_atomically(path, b"short")
    assert path.read_bytes() == b"short"
    assert [child.name for child in tmp_path.iterdir()] == ["file"]
    assert path.stat().st_mode & 0o777 == 0o644
