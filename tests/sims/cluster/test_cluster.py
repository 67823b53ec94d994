"""Runs on a Dask cluster: the same bits as in one process, whoever dies, and a sentence where it cannot be."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections import deque
from types import SimpleNamespace

import pytest

from mixjax import sims
from mixjax.runs import RunError
from mixjax.sims.cli import main
from mixjax.sims.cluster import cluster, tasks
from mixjax.sims.cluster.cluster import Cluster
from mixjax.sims.engine.execution import ExecutionOptions, execute
from mixjax.sims.status import status
from tests.paths import ROOT
from tests.sims.small_run import AXES, OPTIONS, SMALL, assert_same_bits, planned

KILLS = int(os.environ.get("MIXJAX_KILLS", "1"))

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def dask():
    pytest.importorskip("distributed", reason="the extra `cluster` is not installed")


@pytest.fixture(scope="module")
def local(dask):
    """Two workers of a thread each."""
    with Cluster(workers=2) as started:
        yield started


@pytest.mark.slow
def test_through_a_scheduler_the_table_is_that_of_one_process(local, tmp_path, undisturbed):
    """...and the progress bar covers the cluster; what is missing of a run is made up for."""
    address, seen = local._client.scheduler.address, []
    table = sims.run(
        "phase_diagram", tmp_path, scheduler=address, layout=SMALL, progress=lambda *units: seen.append(units), **AXES
    )
    assert seen == [(done, 9) for done in range(10)]
    assert_same_bits(undisturbed, table)
    (tmp_path / "dataset.nc").unlink()
    next((tmp_path / "shards").iterdir()).unlink()
    seen.clear()
    options = ExecutionOptions(progress=lambda *units: seen.append(units), cluster=local)
    assert execute(planned(SMALL), tmp_path, options)
    assert seen == [(8, 9), (9, 9)]
    assert_same_bits(undisturbed, sims.load(tmp_path))


@pytest.mark.slow
def test_a_worker_that_is_killed_is_made_up_for(local, tmp_path):
    """SIGKILL of one of two workers, MIXJAX_KILLS times; 60 units, and every number is there once."""
    axes, killed = {"replicates": 20_000}, []

    def kill(done, _):
        if done in (2, 12, 22, 32, 42)[:KILLS]:
            pid = next(iter(local._client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    assert execute(planned(SMALL, **axes), tmp_path, ExecutionOptions(progress=kill, cluster=local))
    assert len(set(killed)) == min(KILLS, 5)
    assert_same_bits(sims.run("phase_diagram", layout=SMALL, **{**AXES, **axes}), sims.load(tmp_path))


@pytest.mark.slow
def test_what_hangs_is_given_to_another(local, tmp_path, undisturbed, monkeypatch):
    """Workers that stop, as SIGSTOP makes them, are alive and do nothing."""
    monkeypatch.setattr(tasks, "HANGING", (1.0, 0.0))
    stopped = []

    def stop(done, _):
        if done == 2:
            stopped.append(next(iter(local._client.run(os.getpid).values())))
            os.kill(stopped[0], signal.SIGSTOP)

    try:
        assert execute(planned(SMALL), tmp_path, ExecutionOptions(progress=stop, cluster=local))
    finally:
        os.kill(stopped[0], signal.SIGCONT)
    assert_same_bits(undisturbed, sims.load(tmp_path))


@pytest.mark.slow
def test_few_tasks_are_under_way(local, monkeypatch):
    """Three a thread, and no more however many parts there are."""
    largest, submit = [0], tasks.Tasks.submit

    def counted(self, name, **where):
        submit(self, name, **where)
        largest[0] = max(largest[0], len(self.running))

    monkeypatch.setattr(tasks.Tasks, "submit", counted)
    whole, layout = planned(SMALL, replicates=20_000), dataclasses.asdict(SMALL)
    stored = {}
    names = whole.names(layout)
    assert sorted(local.compute(whole, names, layout, stored.__setitem__)) == sorted(names) == sorted(stored)
    assert largest[0] <= 3 * sum(local._client.nthreads().values()) < len(names)


@pytest.mark.slow
def test_ctrl_c_is_for_the_client_alone(dask, tmp_path):
    """A terminal sends it to workers too, which it must not end: one sentence, no traceback, nothing stays behind."""
    out, options = tmp_path / "run", ["--workers", "2", *OPTIONS, "--replicates", "2000000"]
    command = [sys.executable, "-m", "sims", "phase_diagram", "--out", str(out), *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True, **pipes) as child:
        while len(list((out / "shards").glob("*.npz"))) < 3:
            assert child.poll() is None
            time.sleep(0.05)
        os.killpg(child.pid, signal.SIGINT)
        printed, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert said.endswith("\nInterrupted. Finished work is stored; the same command resumes from it.\n")
    assert "Traceback" not in printed + said
    with pytest.raises(ProcessLookupError):
        for _ in range(100):  # the last of them may still have to be reaped by the system
            os.killpg(child.pid, 0)
            time.sleep(0.1)
    found = status(out)
    assert found.state == "stopped" and len(found.inventory.stored) >= 3 and not found.inventory.damaged


@pytest.mark.parametrize(
    ("parts", "seconds", "number"), [(600, None, 1), (600, 0.05, 20), (600, 3.0, 1), (60, 0.05, 10), (5, 1e-9, 1)]
)
def test_short_parts_are_given_out_together(parts, seconds, number):
    """For a second, as long as there are enough of them for six tasks under way; one by one before one is timed."""
    waiting = deque(map(str, range(parts)))
    assert cluster._taken(waiting, seconds, 6) == tuple(map(str, range(number)))
    assert list(waiting) == [str(part) for part in range(number, parts)]


@pytest.mark.medium
def test_what_a_worker_remarks_is_said(dask):
    """As of a tile that its memory had no room for."""
    said = []
    there = tasks.Tasks(None, planned(SMALL), {}, {}, said.append)
    future = SimpleNamespace(result=lambda timeout: tasks.Done([{"x": 1}], ["no room"], 0.5))
    assert there._fetched(("part",), future) == [{"x": 1}] and there.seconds_of_a_part == 0.5
    assert said == ["a worker: no room"]


@pytest.fixture
def elsewhere(dask, tmp_path):
    """A scheduler and a worker that are processes of their own: (address, scheduler)."""
    file = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": ROOT}
    scheduler = subprocess.Popen([*command, "--scheduler-file", str(file)], **quiet)
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--no-dashboard", "--nthreads", "1"]
    following = subprocess.Popen([*worker, "--scheduler-file", str(file)], **quiet)
    while not file.exists():
        time.sleep(0.1)
    yield json.loads(file.read_text())["address"], scheduler
    for process in (following, scheduler):
        process.kill()
        process.wait()


@pytest.mark.slow
def test_a_scheduler_that_is_gone_is_one_sentence(elsewhere, tmp_path):
    """...and what is finished is kept."""
    address, scheduler = elsewhere

    def end(done, _):
        if done == 3:
            scheduler.kill()

    with Cluster(scheduler=address) as joined:
        options = ExecutionOptions(progress=end, cluster=joined)
        with pytest.raises(
            RunError, match="the scheduler is gone; finished work is kept, and the same command resumes"
        ):
            execute(planned(SMALL, replicates=50_000), tmp_path / "run", options)
    assert 3 <= len(list((tmp_path / "run" / "shards").glob("*.npz"))) < 150


@pytest.mark.slow
def test_no_scheduler_is_one_sentence(dask, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(Cluster.__init__, "__kwdefaults__", {**Cluster.__init__.__kwdefaults__, "patience": 1.0})
    for address in ("tcp://127.0.0.1:1", "nowhere://host:1", "tcp://[::1]:1"):
        assert main(["phase_diagram", "--scheduler", address, "--out", str(tmp_path / "run")]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"error: no Dask scheduler answers at {address}")
        assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()
