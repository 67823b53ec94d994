"""Two processes of `jax.distributed` beside one process: the same records.

Each has two devices. The two nets cannot be spread over all four, so that each batch is, and gradients are summed.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mixjax.runs import RunDirectory
from mixjax.train.running import load_records, run
from tests.paths import ROOT

pytestmark = pytest.mark.slow

OPTIONS = {"width": (6,), "depth": (1,), "epochs": 2, "seeds": 1, "train_rows": 128, "batch_size": 32}
SCRIPT = """
import sys
from mixjax.commands import exit_status
from train.loop.placement import join
from train.running import run
join("127.0.0.1:{port}", 2, {process})
sys.exit(exit_status(lambda: run("width", {out!r}, **{options!r}) and 0))
"""


def start(process: int, port: int, out: Path) -> subprocess.Popen[str]:
    text = SCRIPT.format(process=process, port=port, out=str(out), options=OPTIONS)
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": "0",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2 --xla_backend_optimization_level=0",  # compiles sooner
        "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo",
    }
    return subprocess.Popen([sys.executable, "-c", text], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)


def run_by_two(out: Path) -> list[tuple[int, str]]:
    """Status and errors of both processes."""
    try:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
    except OSError:
        pytest.skip("this system has no 127.0.0.1")
    both = [start(process, port, out) for process in (0, 1)]
    try:
        printed = [process.communicate(timeout=200)[1] for process in both]
    finally:
        for process in both:
            process.kill()
    if any("gloo" in text and "not" in text and "compiled" in text for text in printed):
        pytest.skip("this JAX has no collectives between processes on a CPU")
    return [(process.returncode, text) for process, text in zip(both, printed, strict=True)]


@pytest.fixture(scope="module")
def by_two(tmp_path_factory):
    out = tmp_path_factory.mktemp("two") / "run"
    ended = run_by_two(out)
    assert [status for status, _ in ended] == [0, 0], "\n".join(text for _, text in ended)
    return out


def test_what_the_first_process_is_refused_all_are(tmp_path):
    """The folder holds another run: neither waits for the other, and both end with the same sentence."""
    with RunDirectory.open(tmp_path / "run", spec={}, environment={}, layout={}) as other:
        other.write("job", {"logits": np.zeros(1)})
    ended = run_by_two(tmp_path / "run")
    printed = [[line for line in text.splitlines() if line.startswith("error: ")] for _, text in ended]
    assert [status for status, _ in ended] == [2, 2], printed
    assert printed[0] == printed[1] and len(printed[0]) == 1 and "holds a run of another spec" in printed[0][0]


def test_the_records_are_those_of_one_process(by_two, tmp_path):
    """Sums over a batch have another order: 1e-5 of what is of order 1, after 8 steps; counts are equal."""
    expected, found = run("width", tmp_path / "one", **OPTIONS), load_records(by_two)
    assert len(found) == len(expected) == 6  # of two nets: two epochs, and a reliability table
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.keys() == theirs.keys()
        for part in ours:
            if isinstance(ours[part], str) or part in ("seed", "epoch", "width", "depth", "count", "accuracy"):
                assert ours[part] == theirs[part], part
            else:
                np.testing.assert_allclose(ours[part], theirs[part], rtol=0, atol=1e-5, err_msg=part)


def test_the_first_process_alone_writes(by_two):
    """One line for each record, and no debris."""
    files = {"manifest.json", "shards", "predictions", "provenance.json", "records.jsonl", "summary.csv", ".lock"}
    assert {path.name for path in by_two.iterdir()} == files | {"sittings.json"}
    lines = (by_two / "records.jsonl").read_text().splitlines()
    assert len(lines) == len(set(lines)) == 6
    assert not list(by_two.rglob(".tmp-*"))
