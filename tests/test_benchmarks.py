"""The benchmarks run, compare like with like, and say what they were run on; their timings are not looked at."""

from __future__ import annotations

import dataclasses
import getpass
import json
import platform
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import jax
import jax.numpy as jnp
import pytest

from benchmarks import calibration, distances, generative, logistic, scaling, simulator
from benchmarks.__main__ import main
from benchmarks.calibration.sizes import Sizes
from benchmarks.distances.criteria import criteria
from benchmarks.report import Benchmark, Section
from benchmarks.scaling import clusters
from benchmarks.scaling.cost import cost
from benchmarks.scaling.job import Job
from benchmarks.scaling.parallel import THREADS
from benchmarks.simulator import exact, rates
from benchmarks.timing import Timing, interleaved
from mixjax.sims.engine.program import Arrays, Experiment
from mixjax.sims.engine.units import Layout
from mixjax.sims.studies import STUDIES
from tests.paths import ROOT

TINY = exact.Sizes(
    repetitions=2,
    layout=Layout(16, 8, 1),
    units=1,
    n=20,
    literal=8,
    other_n=(1e2, 1e6),
    weights=(1, 4),  # as many as the phase diagram has, for one program
    growth=(1, 2),
    normals=1000,
    changes=3,
    preset="quick",
)


def _uniform(key: jax.Array, cells: Arrays, settings: Arrays, replicates: int) -> jax.Array:
    return jax.random.uniform(key, (len(cells["n"]), 1 + len(settings["t"]), replicates), jnp.float32)


def _parts(u: jax.Array, _: Arrays) -> Arrays:
    return {"ece": u[:, 0], "ece_mix": u[:, 1:], "mce": u[:, 0], "mce_mix": u[:, 1:]}


def results_of(benchmark: Benchmark, folder: Path, sizes: Any) -> dict[str, Any]:
    """Run a benchmark, and return the results that it writes beside its page."""
    page = benchmark.run(folder, sizes)
    assert (folder / f"{benchmark.name}.md").read_text() == page
    return dict(json.loads((folder / f"{benchmark.name}.json").read_text())["results"])


@pytest.fixture
def quick_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every experiment replaced by uniform numbers."""
    uniform = Experiment(_uniform, _parts)
    monkeypatch.setattr(exact, "EXACT", uniform)
    monkeypatch.setattr(rates, "NOISE", uniform)
    study = dataclasses.replace(STUDIES["phase_diagram"], experiment=uniform)
    monkeypatch.setitem(STUDIES, "phase_diagram", study)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_to_compile")
def test_the_files_hold_every_table_and_the_machine(tmp_path: Path) -> None:
    results = results_of(simulator.BENCHMARK, tmp_path, TINY)
    page, text = ((tmp_path / f"simulator.{ending}").read_text() for ending in ("md", "json"))
    machine = {"commit", "jax", "jaxlib", "numpy", "python", "platform", "device", "devices", "cores", "memory_gib"}
    assert {"command", "seconds", "settings", *machine} <= json.loads(text).keys()
    tables = ["phase_diagram", "recompilation", "speed", "size", "weights", "growth", "random_numbers"]
    assert list(results) == ["summary", *tables]
    assert all(results[name]["rows"] and results[name]["ratios"] for name in tables)
    assert [row["asked"] for row in results["summary"]["rows"]].count("1") == 1
    for private in (str(tmp_path), str(Path.cwd()), platform.node(), f"/{getpass.getuser()}"):
        assert private not in text + page


@pytest.mark.slow
@pytest.mark.usefixtures("quick_to_compile")
def test_the_curves_are_in_tables_and_a_figure(tmp_path: Path) -> None:
    """Without Dask, whose workers would compile the true experiment."""
    job = Job(1000, Layout(16, 8, 1))
    sizes = scaling.Sizes(TINY, job, workers=(), long_units=1, repetitions=1)
    results = results_of(scaling.BENCHMARK, tmp_path, sizes)
    assert list(results) == ["growth", "weights", "parallel", "cost"]
    fast = {(row["of"], row["number"]): row["times_as_fast_as_one"] for row in results["parallel"]["rows"]}
    assert fast[THREADS, 1] == 1
    assert "Without Dask" in results["parallel"]["text"]
    assert (tmp_path / "scaling.png").read_bytes().startswith(b"\x89PNG")


def test_what_very_many_replicates_cost() -> None:
    """At 36 ns each here, 10^12 take ten hours; the GPU as its file says, and 64 of them a 64th."""
    grown = [{"cells": 10, "replicates_of_each": k, "median_ns": ns} for k, ns in ((1, 99.0), (1000, 36.0), (10, 50.0))]
    here, gpu, pod = cost(Section("growth", "", "", grown)).rows
    assert (here["hours"], here["1e12_replicates_take"]) == (pytest.approx(10.0), "10 h")
    file = ROOT / "results" / "benchmarks" / "simulator_h200" / "simulator.json"
    (exact,) = (row for row in json.loads(file.read_text())["results"]["speed"]["rows"] if "exact" in row["case"])
    assert gpu["replicates_a_second"] == pytest.approx(1e9 / exact["median_ns"])
    assert pod["hours"] == pytest.approx(gpu["hours"] / 64)
    assert "assumed" in pod["basis"]


def test_the_overhead_is_the_time_in_which_a_worker_computes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two units of 0.45 s in a second by the clock; the transport of a result is no computing."""
    clock = iter((10.0, 11.0))
    monkeypatch.setattr(clusters, "time", SimpleNamespace(time=lambda: 5.0, perf_counter=lambda: next(clock)))
    spans = [{"action": "transfer", "start": 5.0, "stop": 5.1}, {"action": "compute", "start": 5.1, "stop": 5.55}]
    client = SimpleNamespace(get_task_stream=lambda start=None: [{"startstops": spans}] * 2)
    done: list[str] = []
    cluster = SimpleNamespace(compute=lambda work, names, *_: done.extend(names) or names)
    section = clusters.overhead(Job(1000), clusters.Local(cast(Any, cluster), client), 2)
    assert section.ratios["share"] == pytest.approx(0.1)
    assert section.rows[0]["seconds_of_a_unit"] == pytest.approx(0.45)
    assert len(done) == 3  # the first compiles


@pytest.mark.slow
def test_literal_and_exact_replicates_agree_and_the_exact_are_compiled_once() -> None:
    bench = exact.Exact(TINY)
    compiled = simulator.recompilation(bench).rows[0]["compiled"].split(", ")
    assert compiled == ["jit(program)"]
    speed = simulator.speed(bench)
    assert {"exact", "literal JAX"} <= {row["case"] for row in speed.rows}
    assert speed.ratios["largest_z"] < 5  # the largest of at most 28, from fixed keys


@pytest.mark.slow
def test_calibration_functions_are_right_beside_the_other_libraries(tmp_path: Path) -> None:
    """On few rows: every library is near the exact value, and so is the stream; what the files hold."""
    sizes = Sizes(width=(2_000,), estimators=(500,), batches=3, batch=100, repetitions=1)
    results = results_of(calibration.BENCHMARK, tmp_path, sizes)
    assert list(results) == ["summary", "equal_width", "estimators", "streaming", "calls"]
    width = {row["library"]: row["error"] for row in results["equal_width"]["rows"]}
    assert {"mixjax", "NumPy", "scikit-learn"} <= width.keys()
    assert width["mixjax"] < 1e-7
    assert max(width.values()) < 2e-3  # a row or two in other bins
    values: dict[str, dict[str, float]] = {}
    for row in results["estimators"]["rows"]:
        values.setdefault(row["estimator"], {})[row["library"]] = row["value"]
    for name in ("equal mass", "debiased", "sweep", "CORP"):
        ours, *theirs = values[name].values()
        assert theirs
        assert max(abs(ours - their) for their in theirs) < (0.02 if name == "equal mass" else 1e-5), name
    assert results["streaming"]["ratios"]["difference"] < 1e-7
    assert results["streaming"]["ratios"]["bytes"] < 4096


@pytest.mark.slow
def test_the_simulation_is_timed_beside_its_normals() -> None:
    (section,) = generative.measure(generative.Sizes(1 << 12, 1, p=4))
    names = [row["what"] for row in section.rows]
    assert names == ["4 normals, jax.random", "4 normals, mixjax.random", "linear", "leaky-ReLU", "coupling"]
    assert len(section.ratios) == 6
    assert min(section.ratios.values()) > 0


@pytest.mark.slow
def test_a_law_is_timed_beside_a_fit() -> None:
    (section,) = logistic.measure(logistic.Sizes(side=2, repetitions=1, n=8))
    times = {row["what"]: row["ms"] for row in section.rows}
    assert set(section.ratios) == {"ms a law", "laws in the time of a fit"}
    assert section.ratios["ms a law"] == times["limit, Beta(1, 1), float64"] > 0
    fit = times["all-pairs fit, n = p = 8, Beta(1, 1), float64"]
    assert section.ratios["laws in the time of a fit"] == fit / section.ratios["ms a law"]


@pytest.mark.slow
def test_distances_are_compared_after_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of them, with tiny sizes: each has its row, and a short training stays near the model."""
    names = ("sliced, a fifth along theta*", "max-sliced")
    monkeypatch.setattr(distances, "criteria", lambda: {name: criteria()[name] for name in names})
    monkeypatch.setattr(distances, "_TIMED", 2)
    sizes = distances.Sizes(("coupling",), seconds=1e-3, seeds=2, rows=1000, p=4, d=4, draws=1 << 16)
    with jax.enable_x64(False):
        rows = results_of(distances.BENCHMARK, tmp_path, sizes)["coupling"]["rows"]
    assert [row["distance"] for row in rows] == list(names)
    for row in rows:
        assert 0 < row["along_theta*"] < 1
        assert abs(row["variance"] - 1) < 0.5
        assert row["rate"] in (1e-3, 3e-3)


@pytest.mark.slow
def test_an_opponent_finds_a_larger_distance(key: jax.Array) -> None:
    """Max-sliced directions and critics, trained on samples wider than the targets, tell more than before."""
    means = jnp.asarray([[-1.0, 0, 0], [1, 0, 0]], jnp.float32)
    wide = jnp.asarray([[[1, 2, 1]]], jnp.float32)
    samples = wide * jax.random.normal(key, (2, 256, 3), jnp.float32) + means[:, None]
    for name, turns in (("max-sliced", 30), ("critic with a gradient penalty", 60)):
        criterion = criteria()[name]
        opponent = criterion.opponent(key, 3)
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            first, improve = criterion.distances(key, opponent, samples, means), jax.jit(criterion.improve)
            for turn in range(turns):
                opponent = improve(jax.random.fold_in(key, turn), opponent, samples, means)
            assert (criterion.distances(key, opponent, samples, means) > first).all(), name


def test_training_takes_the_same_steps_as_pytorch(tmp_path: Path) -> None:
    """Both bring the loss of the same data down; the files hold every table."""
    pytest.importorskip("torch", reason="PyTorch is not installed (extra bench)")
    from benchmarks import training
    from benchmarks.training.ours import Net

    tiny = training.Sizes(steps=8, repetitions=1, mlps=(Net(784, 20, 1),), resnets=(), lanes=2)
    results = results_of(training.BENCHMARK, tmp_path, tiny)
    assert list(results) == ["steps", "loss", "lanes"]
    assert {row["library"]: row["epochs"] < 200 for row in results["loss"]["rows"]} == {"mixjax": True, "torch": True}


def test_cases_are_timed_in_turn() -> None:
    order: list[str] = []
    timings = interleaved({name: lambda name=name: order.append(name) for name in "ab"}, 3)
    assert "".join(order) == "ab" + "ab" + "ba" + "ab"
    assert [len(timing.later) for timing in timings.values()] == [3, 3]
    assert Timing(3.0, (1.0, 2.0)).row(10) == {"min_ns": 1e8, "median_ns": 1.5e8}


@pytest.fixture
def instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The benchmark `generative` replaced by two numbers, in a folder of the test's own."""
    section = Section("a", "A", "Numbers.", [{"what": "x", "median_ns": 1234.5}, {"what": "y", "median_ns": 0.5}])
    sizes = generative.Sizes()
    replacement = Benchmark("generative", "Title", sizes, sizes, lambda _: [section], peers=("json", "no_such_peer"))
    monkeypatch.setattr(generative, "BENCHMARK", replacement)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_results_go_where_no_file_is_tracked(instant: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generative", "--quick"]) == 0
    page = (instant / "runs/benchmarks/generative/generative.md").read_text()
    assert capsys.readouterr().out == f"{page}\n"
    assert "* command: python -m benchmarks generative --quick\n" in page
    assert page.endswith(
        "## A\n\nNumbers.\n\n| what | median ns |\n| ---- | --------: |\n| x    |     1,234 |\n| y    |       0.5 |\n"
    )
    assert json.loads((instant / "runs/benchmarks/generative/generative.json").read_text())["settings"]["p"] == 16


def test_only_whole_measurements_are_published(
    instant: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not rough ones, and not ones that lack a peer."""
    for options, words in (["--quick"], "leave out --quick"), ([], "needs every peer, and no_such_peer cannot be"):
        assert main(["generative", "--publish", *options]) == 2
        assert words in capsys.readouterr().err
    assert not list(instant.iterdir())
    monkeypatch.setattr(generative, "BENCHMARK", dataclasses.replace(generative.BENCHMARK, peers=("json",)))
    assert main(["generative", "--publish"]) == 0
    names = [path.name for path in (instant / "results/benchmarks/generative").iterdir()]
    assert sorted(names) == ["generative.json", "generative.md"]


def test_what_the_user_can_put_right_is_one_sentence(
    instant: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (instant / "file").touch()
    assert main(["generative", "--out", "file/folder"]) == 2
    reason = "cannot write to file/folder: it is a file, or lies inside one; choose another folder"
    assert capsys.readouterr().err == f"error: {reason}\n"
    assert main(["nonsense"]) == 2
    assert capsys.readouterr().err.startswith("error: argument name: invalid choice: 'nonsense'")
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [name for name in sys.modules if name.startswith("benchmarks.training")]:
        monkeypatch.delitem(sys.modules, name)
    assert main(["training"]) == 2
    assert capsys.readouterr().err.startswith("error: the benchmark training needs torch: pip install 'mixjax[bench,")


def test_both_libraries_train_a_resnet_in_both_precisions() -> None:
    """As on a GPU, here on the CPU and with torch.compile's plainest backend."""
    pytest.importorskip("torch")
    from benchmarks.training import QUICK, accelerator_section

    with jax.enable_x64(False):
        section = accelerator_section(QUICK, "cpu")
    assert [(row["dtype"], row["batch"]) for row in section.rows] == [("float32", 8), ("bfloat16", 8)]
    assert all(row[f"{name}_images_per_s"] > 0 for row in section.rows for name in ("mixjax", "torch"))
    assert set(section.ratios) == {"float32, 8", "bfloat16, 8"}
