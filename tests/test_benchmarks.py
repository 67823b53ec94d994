"""The benchmarks run, and say what they were run on; their timings are not looked at."""

from __future__ import annotations

import getpass
import json
import platform
from pathlib import Path

import pytest

from benchmarks import simulator
from benchmarks.__main__ import main
from benchmarks.simulator.exact import Sizes
from benchmarks.timing import Timing, interleaved
from sims.engine import Layout

TINY = Sizes(
    repetitions=2,
    layout=Layout(16, 8, 1),
    units=1,
    n=20,
    literal=8,
    other_n=(1e2, 1e6),
    weights=(1, 2),
    growth=(1, 2),
    normals=1000,
    changes=3,
    preset="quick",
)


def test_the_simulator_benchmark_writes_its_ratios_and_its_machine(tmp_path: Path) -> None:
    page = simulator.run(tmp_path, TINY)
    assert (tmp_path / "simulator.md").read_text() == page
    text = (tmp_path / "simulator.json").read_text()
    content = json.loads(text)
    assert {
        "command",
        "commit",
        "jax",
        "jaxlib",
        "numpy",
        "platform",
        "device",
        "cores",
        "memory_gib",
    } <= content.keys()
    results = content["results"]
    assert {row["what"] for row in results["summary"]["rows"]} and len(results["summary"]["rows"]) == 6
    names = ["summary", "phase_diagram", "recompilation", "speed", "size", "weights", "growth", "random_numbers"]
    assert list(results) == names
    assert {"literal NumPy, float32", "literal JAX, all devices"} <= {row["case"] for row in results["speed"]["rows"]}
    assert results["speed"]["ratios"]["largest_z"] < 5  # of at most 28 numbers, from fixed keys
    compiled = results["recompilation"]["rows"][0]["compiled"].split(", ")
    assert set(compiled) <= {"jit(compiled)", "jit(convert_element_type)"} and compiled.count("jit(compiled)") == 1
    for private in (str(tmp_path), str(Path.cwd()), platform.node(), f"/{getpass.getuser()}"):
        assert private not in text + page


def test_cases_are_timed_in_turn() -> None:
    order: list[str] = []
    timings = interleaved({name: lambda name=name: order.append(name) for name in "ab"}, 3)
    assert "".join(order) == "ab" + "ab" + "ba" + "ab"
    assert [len(timing.later) for timing in timings.values()] == [3, 3]
    assert Timing(3.0, (1.0, 2.0)).row(10) == {"min_ns": 1e8, "median_ns": 1.5e8}


def test_what_the_user_can_put_right_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["simulator", "--out", str(tmp_path / "file" / "folder")]) == 2
    assert capsys.readouterr().err == f"error: cannot write to {tmp_path}/file/folder: not a directory\n"
    with pytest.raises(SystemExit, match="2"):
        main(["nonsense"])
