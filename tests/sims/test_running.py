"""Runs that stop and go on: kill, damage, a full disk, other devices, and folders that are not theirs."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pytest

from mixjax import sims
from mixjax.runs import RunError, provenance
from mixjax.sims.engine import execution
from mixjax.sims.engine.units import Layout
from mixjax.sims.status import status
from tests.paths import ROOT
from tests.sims.small_run import AXES, OPTIONS, SMALL, assert_same_bits, planned, resumed

SCRIPT = """
from mixjax import sims
from mixjax.sims.engine.units import Layout
show = lambda done, total: print(done, flush=True)
sims.run("phase_diagram", {out!r}, layout=Layout({cells}, 8, 1), progress=show, **{axes!r})
"""
KILLS = int(os.environ.get("MIXJAX_KILLS", "3"))


@pytest.fixture
def out(small_folder, tmp_path):
    """A copy of a finished run."""
    return shutil.copytree(small_folder, tmp_path / "run")


def start(out, devices, axes=AXES, cells=2, x64="0"):
    flags = f"--xla_force_host_platform_device_count={devices}"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": x64}
    command = [sys.executable, "-c", SCRIPT.format(out=str(out), axes=axes, cells=cells)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_killed_on_one_device_and_finished_on_two_is_the_same_to_the_last_bit(tmp_path):
    """There are 120 units, so that the kill does not come too late on a busy machine."""
    out, axes = tmp_path / "run", {**AXES, "replicates": 20_000}
    first = start(out, devices=1, axes=axes, cells=1, x64="1")
    for line in first.stdout:
        if int(line) >= 2:
            break
    first.send_signal(signal.SIGKILL)
    first.wait()
    first.stdout.close()
    stored = {path.name: path.read_bytes() for path in (out / "shards").glob("*.npz")}
    assert 2 <= len(stored) < 120
    with pytest.raises(RunError, match="not finished"):
        sims.load(out)
    second = start(out, devices=2, axes=axes, cells=1, x64="1")
    printed, _ = second.communicate(timeout=300)
    assert second.returncode == 0
    assert int(printed.split()[0]) == len(stored)  # nothing is computed again
    assert all((out / "shards" / name).read_bytes() == content for name, content in stored.items())
    assert_same_bits(sims.run("phase_diagram", layout=Layout(1, 8, 1), **axes), sims.load(out))


@pytest.mark.slow
def test_killed_again_and_again_at_any_moment(tmp_path, rng):
    """SIGKILL while it starts or works, MIXJAX_KILLS times: what is stored stays as it is, only the rest is computed.

    There are 120 units a kill, and at most 90 of them are waited for, so that no kill comes too late.
    """
    out, kept, axes = tmp_path / "run", {}, {**AXES, "replicates": 20_000 * KILLS}
    for _ in range(KILLS):
        child = start(out, devices=int(rng.integers(1, 3)), axes=axes, cells=1, x64="1")
        units = int(rng.integers(-30, 90))
        for _ in range(units):
            child.stdout.readline()
        time.sleep(rng.uniform(0, 0.01 if units > 0 else 2))
        child.kill()
        child.stdout.close()
        assert child.wait() == -signal.SIGKILL
        now = {path.name: path.stat().st_mtime_ns for path in (out / "shards").glob("*.npz")}
        assert {name: now.get(name) for name in kept} == kept
        kept = now
    layout, seen, said = Layout(1, 8, 1), [], []
    report = {"progress": lambda *units: seen.append(units), "warn": said.append}
    table = sims.run("phase_diagram", out, layout=layout, **report, **axes)
    assert seen[0] == (len(kept), 120 * KILLS)
    assert len(kept) < 120 * KILLS
    assert {name: (out / "shards" / name).stat().st_mtime_ns for name in kept} == kept
    assert all("missing before the last" in line for line in said)
    assert not list(out.rglob(".tmp-*"))
    assert_same_bits(sims.run("phase_diagram", layout=layout, **axes), table)


@pytest.mark.slow
@pytest.mark.parametrize("request_to_end", [signal.SIGINT, signal.SIGTERM])
def test_a_run_at_work_is_not_disturbed_and_ends_on_request(request_to_end, tmp_path):
    """Another start is refused, the status can be read, and a signal leaves a run that can be resumed."""
    out = tmp_path / "run"
    command = [sys.executable, "-m", "sims", "phase_diagram", "--out", str(out), *OPTIONS, "--replicates", "2000000"]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as child:
        while len(list((out / "shards").glob("*.npz"))) < 3:
            assert child.poll() is None
            time.sleep(0.05)
        with pytest.raises(RunError, match=rf"another run is working in .*process {child.pid}\)"):
            sims.run("phase_diagram", out, **{**AXES, "replicates": 2_000_000})
        assert status(out).state == "running"
        child.send_signal(request_to_end)
        said = child.stderr.read()
        assert child.wait() == 128 + request_to_end
    assert said.endswith("\nInterrupted. Finished work is stored; the same command resumes from it.\n")
    assert "Traceback" not in said
    found = status(out)
    assert (found.state, found.number) == ("stopped", 2000)
    assert len(found.inventory.stored) >= 3
    assert not found.inventory.damaged
    assert not list(out.rglob(".tmp-*"))


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("damage", ["truncated", "flipped", "deleted", "stray", "another"])
def test_damaged_shards_are_computed_anew(out, undisturbed, damage):
    (out / "dataset.nc").unlink()
    shard = sorted((out / "shards").glob("*.npz"))[3]
    content = bytearray(shard.read_bytes())
    if damage == "truncated":
        shard.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        content[len(content) // 2] ^= 1
        shard.write_bytes(content)
    elif damage == "deleted":
        shard.unlink()
    elif damage == "another":
        shard.write_bytes((shard.parent / min(os.listdir(shard.parent))).read_bytes())
    else:
        (out / "shards" / "stray").write_bytes(b"half a shard")
    said = []
    again, kept = resumed(out, said.append)
    assert kept == (9 if damage == "stray" else 8)
    words = {"stray": "1 file (stray) in shards/ not of this run: left alone"}
    words["deleted"] = f"1 shard ({shard.stem}) missing before the last stored one: to be computed"
    altered = f"1 shard ({shard.stem}) truncated, altered or misplaced: to be recomputed"
    assert said == [f"{out}: {words.get(damage, altered)}"]
    assert_same_bits(undisturbed, again)


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("full_at", [5, 9], ids=["in mid-run", "at the end"])
def test_a_full_disk_keeps_what_is_finished(tmp_path, undisturbed, monkeypatch, full_at):
    """Five (or all nine) shards fit, then nothing."""
    out, replace, one_at_a_time = tmp_path / "run", os.replace, threading.Lock()

    def replace_while_there_is_room(source, target):
        with one_at_a_time:
            if len(list((out / "shards").glob("*.npz"))) >= full_at:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace_while_there_is_room)
        with pytest.raises(RunError, match="the disk is full; finished work is kept, and the same command resumes"):
            resumed(out)
    assert len(list((out / "shards").iterdir())) == full_at
    assert not (out / "dataset.nc").exists()
    assert not list(out.rglob(".tmp-*"))
    again, kept = resumed(out)
    assert kept == full_at
    assert_same_bits(undisturbed, again)


@pytest.mark.slow
def test_without_a_folder_nothing_is_kept(tmp_path, undisturbed, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert_same_bits(undisturbed, sims.run("phase_diagram", layout=SMALL, **AXES))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.medium
def test_numbers_sequences_and_arrays_are_as_good_as_text(undisturbed):
    axes = {"n": 50, "ratio": [0.2, 1, 3], "theta_norm": np.array([0.5, 2]), "alpha": (0, 1), "beta": "same"}
    assert planned(**axes).spec == planned().spec
    assert undisturbed.attrs["study"] == "phase_diagram"
    assert undisturbed.attrs["replicates"] == 2500
    assert "ratio" in undisturbed.attrs["config"]


@pytest.mark.medium
def test_a_finished_run_is_loaded_and_not_computed(out, undisturbed, monkeypatch):
    seen, made = [], (out / "dataset.nc").stat().st_mtime_ns
    again = sims.run("phase_diagram", out, progress=lambda *units: seen.append(units), **AXES)
    assert seen == []
    assert (out / "dataset.nc").stat().st_mtime_ns == made
    assert_same_bits(undisturbed, again)
    assert [path.name for path in out.rglob("*.nc")] == ["dataset.nc"]
    assert not list(out.rglob(".tmp-*"))
    lines = []
    sims.run("phase_diagram", out, warn=lines.append, **AXES)
    assert not lines
    monkeypatch.setattr(execution, "provenance", lambda: {**provenance(), "commit": "edited"})
    sims.run("phase_diagram", out, warn=lines.append, **AXES)
    assert "was finished earlier, by commit" in lines[0] and "nothing was computed" in lines[0]


@pytest.mark.medium
def test_another_run_is_not_overwritten(out):
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(RunError, match=r"another spec .*replicates is 2500 there and 2000 here"):
        sims.run("phase_diagram", out, **{**AXES, "replicates": 2000})
    with pytest.raises(RunError, match=r"another spec .*theta_norm is"):
        sims.run("phase_diagram", out, **{**AXES, "theta_norm": "0.5,2.5"})
    with pytest.raises(RunError, match=r"another spec .*study is"):
        sims.run("high_dimension", out, **AXES)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"study": "nosuch"}, "no study 'nosuch'"),
        ({"study": "phase_diagram", "gamma": 1}, "no axis 'gamma'"),
        ({"study": "phase_diagram", "replicates": True}, "replicates must be"),
        ({"study": "phase_diagram", "seed": -1}, "seed must be"),
        ({"study": "phase_diagram", "seed": 2**31}, "seed must be"),
        ({"study": "high_dimension", "p": 5}, "no axis 'p'"),
        ({"study": "capacity", "alpha": 1}, "no axis 'alpha'"),
        ({"study": "capacity", "beta": "same"}, "beta must be numbers"),
    ],
)
def test_wrong_calls(arguments, message, tmp_path):
    with pytest.raises(RunError, match=message):
        sims.run(**arguments, out=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("part", ["commit", "device", "jax"])
def test_a_run_is_not_resumed_by_something_else(out, part):
    """Other code, another device or version may round differently."""
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["environment"][part] == str(provenance()[part])
    manifest["environment"][part] = "another"
    (out / "manifest.json").write_text(json.dumps(manifest))
    (out / "dataset.nc").unlink()
    with pytest.raises(RunError, match=f'another environment .*{part} is "another" there .*--allow-mixed'):
        resumed(out)
