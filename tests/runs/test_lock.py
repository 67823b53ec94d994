"""One writer a run folder: against a second run here, a process that is killed, and a file system without locks."""

import errno
import os
import subprocess
import sys

import pytest

from mixjax.runs import RunDirectory, RunError
from mixjax.runs import lock as _lock
from mixjax.runs.lock import in_use
from tests.paths import ROOT
from tests.runs.run_folder import ARRAYS, RUN


def test_two_runs_do_not_share_a_folder(run):
    says = rf"another run is working in .* \(process {os.getpid()}\); wait for it, stop it"
    with pytest.raises(RunError, match=says):
        RunDirectory.open(run.path, **RUN)
    assert in_use(run.path)
    RunDirectory.open(run.path, **RUN, lock=False)  # one of several
    run.close()
    assert not in_use(run.path)
    with RunDirectory.open(run.path, **RUN):
        assert in_use(run.path)


def test_a_finished_run_is_not_locked(run):
    (run.path / "dataset.nc").touch()
    assert RunDirectory.open(run.path, **RUN).finished


HOLD = """
import sys
from mixjax.runs import RunDirectory
run = RunDirectory.open(sys.argv[1], spec={"a": 1}, environment={}, layout={})
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.medium
def test_a_lock_ends_with_its_process(tmp_path):
    """SIGKILL; what the process was writing is cleared away by the next."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "run")]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RunError, match=rf"another run is working in .*process {holder.pid}\)"):
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
    with RunDirectory.open(tmp_path, **RUN, warn=said.append) as run:
        run.write("a", ARRAYS)
    assert said == [f"{tmp_path} is on a file system without locks: start no second run in it"]
