"""Two runs in one folder of a store: the second is refused, unless the first is dead."""

import os
import signal
import socket
import subprocess
import sys

import pytest
from fsspec.implementations.memory import MemoryFileSystem

import mixjax.runs
from mixjax.runs import RunDirectory, RunError, provenance
from mixjax.runs.lease import Lease
from mixjax.runs.storage import located
from mixjax.sims.cli import main
from mixjax.sims.engine.execution import ExecutionOptions, opened
from mixjax.sims.status import status
from tests.paths import ROOT
from tests.sims.small_run import OPTIONS, planned

ME = f"process {os.getpid()} on {socket.gethostname()}"


@pytest.fixture(autouse=True)
def _empty():
    """No store outlives a test."""
    yield
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def begun(out):
    """A folder with the manifest of a run, and nothing else."""
    opened(planned(), located(out), provenance(), ExecutionOptions()).close()
    return located(out)


@pytest.mark.medium
@pytest.mark.parametrize("command", ["run", "merge"])
def test_a_second_run_is_refused(command, monkeypatch, capsys):
    """And the status says who is at work, as far as that is known without waiting."""
    out, part = begun("memory://bucket/run"), begun("memory://bucket/part")
    arguments = {"run": ["phase_diagram", *OPTIONS], "merge": ["merge", str(part)]}[command]
    monkeypatch.setattr("mixjax.runs.directory.PERIOD", 1.0)  # a look every tenth of it
    with Lease(out, print, period=0.01):
        assert main([*arguments, "--out", str(out)]) == 2
        assert capsys.readouterr().err.splitlines() == [
            f"{out} is held by {ME}: watching for 3 s to see whether it is alive",
            f"error: another run is working in {out} ({ME}); wait for it, stop it, or choose another folder",
        ]
        assert main(["status", str(out)]) == 0
        first, *_, last = capsys.readouterr().out.splitlines()
        assert first == f"phase_diagram in {out}: unfinished"
        assert last.startswith(f"held by {ME}, which renewed its lease at 2")
        assert last.endswith(" UTC by the clock of the store; a live one does so every 10 s")
    assert status(out).state == "stopped"


HOLD = """
import sys
import mixjax.runs
mixjax.runs.directory.PERIOD = 0.02
run = mixjax.runs.RunDirectory.open(sys.argv[1], spec={"a": 1}, environment={}, layout={})
print("held", flush=True)
sys.stdin.read()
"""


def test_s3(bucket, monkeypatch):
    """As `memory://`, through s3fs, where another process holds the folder, and is killed."""
    out, said = f"s3://{bucket}/runs/held", []
    parts = {"spec": {"a": 1}, "environment": {}, "layout": {}, "warn": said.append}
    command = [sys.executable, "-c", HOLD, out]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        who = f"process {holder.pid} on {socket.gethostname()}"
        monkeypatch.setattr(mixjax.runs.directory, "PERIOD", 2.0)
        with pytest.raises(RunError, match=rf"^another run is working in {out} \({who}\)"):
            RunDirectory.open(out, **parts)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    monkeypatch.setattr(mixjax.runs.directory, "PERIOD", 0.02)
    with RunDirectory.open(out, **parts) as run:
        assert said[-1].startswith(f"{who} has not renewed its lease in 0.06 s: it counts as dead")
        run.check()
        assert [path.name for path in (located(out) / ".lock").iterdir()] == ["2"]
    assert sorted(child.name for child in located(out).iterdir()) == ["manifest.json"]
