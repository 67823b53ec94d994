"""Runs that stop and go on: kill, damage, other devices, and folders that are not theirs."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import sims
from mixjax.runs import RunError
from sims.engine import Layout

ROOT = Path(__file__).resolve().parents[2]
AXES = {"n": "50", "ratio": "0.2:3:9:log", "theta_norm": "0.5,2", "alpha": "1", "replicates": 1000}
SMALL = Layout(2, 8, 1)  # nine units
SCRIPT = """
import sims
from sims.engine import Layout
show = lambda done, total: print(done, flush=True)
sims.run("phase_diagram", {out!r}, layout=Layout(2, 8, 1), progress=show, **{axes!r})
"""


@pytest.fixture(scope="module")
def undisturbed():
    return sims.run("phase_diagram", layout=SMALL, **AXES)


def start(out, devices):
    flags = f"--xla_force_host_platform_device_count={devices}"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "0"}
    command = [sys.executable, "-c", SCRIPT.format(out=str(out), axes=AXES)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def assert_same_bits(one, other):
    for name in one:
        np.testing.assert_array_equal(one[name].values, other[name].values, err_msg=str(name))


def test_killed_on_one_device_and_finished_on_two_is_the_same_to_the_last_bit(tmp_path, undisturbed):
    out = tmp_path / "run"
    first = start(out, devices=1)
    for line in first.stdout:
        if int(line) >= 2:
            break
    first.send_signal(signal.SIGKILL)
    first.wait()
    first.stdout.close()
    stored = {path.name: path.read_bytes() for path in (out / "shards").glob("*.npz")}
    assert 2 <= len(stored) < 9
    with pytest.raises(RunError, match="not finished"):
        sims.load(out)
    second = start(out, devices=2)
    printed, _ = second.communicate(timeout=300)
    assert second.returncode == 0
    assert int(printed.split()[0]) == len(stored)  # nothing is computed again
    assert all((out / "shards" / name).read_bytes() == content for name, content in stored.items())
    assert_same_bits(undisturbed, sims.load(out))


@pytest.mark.parametrize("damage", ["truncated", "flipped", "deleted", "stray"])
def test_damaged_shards_are_computed_anew(tmp_path, undisturbed, damage):
    out = tmp_path / "run"
    sims.run("phase_diagram", out, layout=SMALL, **AXES)
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
    else:
        (out / "shards" / ".tmp-stray").write_bytes(b"half a shard")
    seen = []
    again = sims.run("phase_diagram", out, layout=SMALL, progress=lambda done, total: seen.append(done), **AXES)
    assert seen[0] == (9 if damage == "stray" else 8)
    assert_same_bits(undisturbed, again)


def test_a_finished_run_is_loaded_and_not_computed(tmp_path, undisturbed):
    out = tmp_path / "run"
    sims.run("phase_diagram", out, **AXES)
    seen = []
    started = time.monotonic_ns()
    again = sims.run("phase_diagram", out, progress=lambda *units: seen.append(units), **AXES)
    assert seen == []
    assert (out / "dataset.nc").stat().st_mtime_ns < time.time_ns() - (time.monotonic_ns() - started)
    assert_same_bits(undisturbed, again)
    assert [path.name for path in out.rglob("*.nc")] == ["dataset.nc"]
    assert not list(out.rglob(".tmp-*"))


def test_another_run_is_not_overwritten(tmp_path):
    out = tmp_path / "run"
    sims.run("phase_diagram", out, **{**AXES, "ratio": "1"})
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(RunError, match=r"another spec .*replicates is 1000 there and 2000 here"):
        sims.run("phase_diagram", out, **{**AXES, "ratio": "1", "replicates": 2000})
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"study": "nosuch"}, "no study 'nosuch'"),
        ({"study": "phase_diagram", "preset": "huge"}, "no preset 'huge'"),
        ({"study": "phase_diagram", "gamma": 1}, "no axis 'gamma'"),
        ({"study": "phase_diagram", "replicates": 0}, "replicates must be"),
        ({"study": "phase_diagram", "replicates": 2.5}, "replicates must be"),
        ({"study": "phase_diagram", "seed": -1}, "seed must be"),
    ],
)
def test_wrong_calls(arguments, message):
    with pytest.raises(RunError, match=message):
        sims.run(**arguments)


def test_loading_what_is_not_a_run(tmp_path):
    with pytest.raises(RunError, match="holds no run"):
        sims.load(tmp_path)
