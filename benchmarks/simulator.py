"""The exact simulator against literal simulation, how its time grows, and what limits it.

A replicate is one training set with its plain and one Mixup estimator, and the ECE and MCE of both.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import numpy as np

import sims
from benchmarks.exact import EXACT, LAWS, NOISE, Exact, T, device_sets
from benchmarks.literal import NumpyReplicates, jax_replicates, on_devices
from benchmarks.report import Section, page, write
from benchmarks.timing import count_compilations, interleaved, seconds
from mixjax import runs
from mixjax.gaussian import population_ece, sample_scores
from mixjax.random import normal
from sims import engine
from sims.engine import BLOCK, Arrays, Layout, layout_for, plan
from sims.grid import Grid
from sims.running import configured
from sims.studies import STUDIES


@dataclass(frozen=True)
class Sizes:
    """How much is timed."""

    repetitions: int = 15
    layout: Layout | None = None  # None: the engine's own
    units: int = 4  # of cells a call
    literal_n: int = 1000  # = p, against literal simulation
    literal_replicates: int = 16  # a call
    n: tuple[float, ...] = (1e2, 1e4, 1e6, 1e8)  # = p
    weights: tuple[int, ...] = (1, 2, 4, 8, 16)  # numbers of t
    growth: tuple[int, ...] = (1, 2, 4)
    normals: int = 1 << 22  # a call and device
    changes: int = 100
    preset: str = "default"


QUICK = Sizes(
    repetitions=3,
    units=1,
    literal_replicates=4,
    n=(1e2, 1e6),
    weights=(1, 4),
    growth=(1, 2),
    normals=1 << 20,
    changes=20,
    preset="quick",
)


def main(out: Path = Path("results/benchmarks/simulator"), quick: bool = False) -> None:
    """Time the simulator, print the tables, and write simulator.md and simulator.json.

    Args:
      out: folder for both files.
      quick: a reduced run of half a minute, to see that all is well; its ratios are rough.
    """
    engine.prepare_devices()
    started = time.perf_counter()
    sections, settings = measure(QUICK if quick else Sizes())
    header = {
        "command": "python -m benchmarks simulator" + (" --quick" if quick else ""),
        **runs.provenance(),
        "numpy": np.__version__,
        "host": runs._cpu_name(),  # the NumPy baseline's, where JAX has an accelerator
        "seconds": round(time.perf_counter() - started, 1),
        "settings": settings,
    }
    title = "The simulator's speed"
    write(out, "simulator", title, header, sections)
    print(page(title, header, sections))


def measure(sizes: Sizes) -> tuple[list[Section], dict[str, Any]]:
    """All tables, and the settings behind them."""
    layout = sizes.layout or layout_for(jax.local_devices()[0].platform)
    exact = Exact(layout, sizes.units)
    parts = (
        phase_diagram,
        speed,
        size,
        weights,
        growth,
        random_numbers,
        recompilation,
    )  # its peak memory needs the first
    sections = [part(exact, sizes) for part in parts]
    return [summary(sections), *sections], {**asdict(sizes), "layout": asdict(layout), "cells": exact.cells, "t": T}


def summary(sections: Sequence[Section]) -> Section:
    """What was asked for beside what was measured."""
    ratios = {section.name: section.ratios for section in sections}
    rows = [
        ("times literal NumPy at n = p = 1000", "30,000 or more", ratios["speed"]["over_numpy"]),
        ("slowest n = p over n = p = 100", "1.2 or less", ratios["size"]["slowest_over_first"]),
        ("one more t, as a part of a replicate", "below 0.25", ratios["weights"]["one_more_t"]),
        ("compilations when n, p, theta, t change", "1", ratios["recompilation"]["engine"]),
        ("phase diagram, seconds of computing", "below 10", ratios["phase_diagram"]["computing_s"]),
        ("phase diagram, peak memory in GiB", "below 1.86", ratios["phase_diagram"]["peak_gib"]),
    ]
    text = "From medians, warm; compilation apart."
    return Section(
        "summary", "Summary", text, [dict(zip(("what", "asked", "measured"), row, strict=True)) for row in rows]
    )


def phase_diagram(exact: Exact, sizes: Sizes) -> Section:
    """The main job, `python -m sims phase_diagram`."""
    config, study = configured("phase_diagram", sizes.preset), STUDIES["phase_diagram"]
    grid = study.grid(config)
    units = plan(grid, config.replicates, exact.layout)
    program = exact.program(study.experiment)

    def compute() -> list[str]:
        # The engine's own loop, but with a program that is compiled already: it would make a new one.
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(engine, "_program", lambda *_: program):
            run = runs.RunDirectory.open(folder, spec={}, environment={}, layout={})
            done = engine.compute(run, study.experiment, grid, units, study=study.name, seed=0, layout=exact.layout)
            return [unit.name for unit in done]

    timing = interleaved({"compute": compute}, max(1, sizes.repetitions // 4))["compute"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2 ** (30 if sys.platform == "darwin" else 20)
    whole = seconds(lambda: sims.run(study.name, preset=sizes.preset, layout=exact.layout).attrs)
    row = {
        "cells": grid.num_cells,
        "replicate_settings": grid.num_cells * config.replicates * len(grid.settings["t"]),
        "compile_s": timing.row(1)["compile_s"],
        "computing_min_s": timing.min,
        "computing_median_s": timing.median,
        "whole_run_s": whole,
        "peak_gib": peak,
    }
    text = (
        f"Preset {sizes.preset}, all of its values. Computing is warm and stores every unit; the whole run compiles, computes and "
        "makes the table with its limits, without figures. The peak is the process's resident memory after computing."
    )
    return Section("phase_diagram", "The phase diagram", text, [row], {"computing_s": timing.median, "peak_gib": peak})


def speed(exact: Exact, sizes: Sizes) -> Section:
    """Exact against literal NumPy and literal JAX."""
    grid = exact.grid(sizes.literal_n)
    chosen = np.linspace(0, exact.cells - 1, sizes.literal_replicates).astype(int)  # the cells of literal replicates
    cases = {
        f"exact, {name}": (exact.replicates, exact.call(exact.program(EXACT, devices), grid))
        for name, devices in device_sets().items()
    }
    literal = _literal_cases(sizes.literal_n, grid.cells["theta_norm"][chosen])
    timings = interleaved({name: call for name, (_, call) in (cases | literal).items()}, sizes.repetitions)
    rows = [
        {"case": name, "replicates": count} | timings[name].row(count) for name, (count, _) in (cases | literal).items()
    ]
    for row in rows:
        row |= {f"{kind}_over_exact": row[f"{kind}_ns"] / rows[0][f"{kind}_ns"] for kind in ("min", "median")}
    baseline = min((row for row in rows if row["case"] in ONE_THREAD), key=lambda row: row["median_ns"])
    moments = cases["exact, all devices"][1]()
    z = max(_largest_z(moments, chosen, np.asarray(call())) for _, call in literal.values())
    text = (
        f"n = p = {sizes.literal_n}, cells that differ in |theta|. The baseline is the faster of NumPy's precisions on "
        f"one thread of the host, {baseline['case']}. All agree: largest |z| of a mean ECE or MCE {z:.1f}."
    )
    ratios = {"baseline": baseline["case"], "over_numpy": baseline["median_over_exact"],
              "over_numpy_min": baseline["min_over_exact"], "largest_z": z}  # fmt: skip
    return Section("speed", "Against literal simulation", text, rows, ratios)


ONE_THREAD = ("literal NumPy, float32", "literal NumPy, float64")


def _literal_cases(n: int, theta_norm: np.ndarray) -> dict[str, tuple[int, Callable[[], Any]]]:
    """Name -> replicates of a call, and the call."""
    many, batch = (64, 64) if jax.local_devices()[0].platform != "cpu" else (1, 4)  # what fills an accelerator
    cases: dict[str, tuple[int, Callable[[], Any]]] = {}
    for name, devices in device_sets().items():
        thetas = np.tile(theta_norm, many * len(devices))
        cases[f"literal JAX, {name}"] = len(thetas), jax_replicates(n, thetas, T, devices, batch)
    for name in ONE_THREAD:
        cases[name] = len(theta_norm), NumpyReplicates(n, theta_norm, T, name.split()[-1])
    threads = len(os.sched_getaffinity(0))
    if threads > 1:
        thetas = np.tile(theta_norm, threads)
        cases[f"literal NumPy, float32, {threads} threads"] = (
            len(thetas),
            NumpyReplicates(n, thetas, T, "float32", threads),
        )
    return cases


def _largest_z(moments: list[Arrays], chosen: np.ndarray, literal: np.ndarray) -> float:
    """Of the means of ECE and MCE, plain and mixed, over literal replicates of the chosen cells in turn."""
    scores = []
    for column, name in enumerate(("ece", "ece_mix", "mce", "mce_mix")):
        count, mean, m2 = (
            np.concatenate([np.asarray(unit[f"{name}.{kind}"]).ravel() for unit in moments])[chosen].astype(np.float64)
            for kind in ("count", "mean", "m2")
        )
        z = (literal[:, column].reshape(-1, len(chosen)) - mean) / np.sqrt(m2 / (count - 1))
        scores.append(abs(z.sum()) / np.sqrt(z.size))
    return float(max(scores))


def size(exact: Exact, sizes: Sizes) -> Section:
    """Growth with n and p."""
    program = exact.program(EXACT)
    cases = {f"{n:g}": exact.call(program, exact.grid(n)) for n in sizes.n}
    timings = interleaved(cases, sizes.repetitions)
    rows = [{"n = p": name} | timing.row(exact.replicates) for name, timing in timings.items()]
    for row in rows:
        row |= {f"{kind}_over_first": row[f"{kind}_ns"] / rows[0][f"{kind}_ns"] for kind in ("min", "median")}
    ratios = {"over_first": {row["n = p"]: row["median_over_first"] for row in rows}}
    ratios["slowest_over_first"] = max(row["median_over_first"] for row in rows[1:])
    return Section("size", "Growth with n and p", "One program, all devices.", rows, ratios)


def weights(exact: Exact, sizes: Sizes) -> Section:
    """Growth with the number of Mixup weights t on the same training sets."""
    grids = {count: exact.grid(sizes.literal_n, t=np.linspace(0.45 / count, 0.45, count)) for count in sizes.weights}
    cases = {str(count): exact.call(exact.program(EXACT), grid) for count, grid in grids.items()}
    timings = interleaved(cases, sizes.repetitions)
    rows = [{"numbers of t": count} | timings[str(count)].row(exact.replicates) for count in sizes.weights]
    first, last = rows[0], rows[-1]
    more = last["numbers of t"] - first["numbers of t"]
    ratios = {
        f"one_more_t{suffix}": (last[column] / first[column] - 1) / more
        for suffix, column in (("", "median_ns"), ("_min", "min_ns"))
    }
    text = (
        f"n = p = {sizes.literal_n}, all devices; a replicate is here a training set with all of its t. One more t costs "
        f"{ratios['one_more_t']:.0%} of a replicate with one."
    )
    return Section("weights", "Growth with the number of t", text, rows, ratios)


def growth(exact: Exact, sizes: Sizes) -> Section:
    """Growth with cells and replicates."""
    program, unit = exact.program(EXACT), exact.layout.unit_cells
    shapes = [(1, 1), *((k * unit, BLOCK) for k in sizes.growth), *((unit, k * BLOCK) for k in sizes.growth[1:])]
    cases = {str(shape): exact.call(program, exact.grid(sizes.literal_n, cells=shape[0]), shape[1]) for shape in shapes}
    timings = interleaved(cases, sizes.repetitions)
    rows = [
        {"cells": cells, "replicates": count} | timings[str((cells, count))].row(cells * count)
        for cells, count in shapes
    ]
    each = [row["median_ns"] for row in rows[1:]]
    text = (
        f"n = p = {sizes.literal_n}, all devices. Work is done in whole units of {unit:,} cells and {BLOCK:,} replicates: "
        "one cell and one replicate, in the first row, take as long as a unit."
    )
    return Section(
        "growth", "Growth with cells and replicates", text, rows, {"largest_over_smallest": max(each) / min(each)}
    )


def random_numbers(exact: Exact, sizes: Sizes) -> Section:
    """The rate of normals, the limit of any simulation, beside the stages of the exact one."""
    grid, size = exact.grid(sizes.literal_n), sizes.normals
    rng, buffer = np.random.default_rng(3), np.empty(size, np.float32)
    cases: dict[str, tuple[int, Callable[[], Any]]] = {
        "normal, NumPy": (size, lambda: rng.standard_normal(dtype=np.float32, out=buffer))
    }
    for name, devices in device_sets().items():
        keys = jax.random.split(jax.random.key(3, impl="threefry2x32"), len(devices))
        for library, draw in (("jax.random", jax.random.normal), ("mixjax.random", normal)):
            drawn = on_devices(lambda keys, draw=draw: draw(keys[0], (size,), np.float32), devices)
            cases[f"normal, {library}, {name}"] = size * len(devices), partial(drawn, keys)
        stages = {"its six random numbers": NOISE, "and the laws of both scores": LAWS, "and ECE and MCE": EXACT}
        for stage, experiment in stages.items():
            call = exact.call(exact.program(experiment, devices), grid)
            cases[f"replicate: {stage}, {name}"] = exact.replicates, call
    timings = interleaved({name: call for name, (_, call) in cases.items()}, sizes.repetitions)
    rows = [{"of what": name} | timings[name].row(count) for name, (count, _) in cases.items()]
    each = {row["of what"]: row["median_ns"] for row in rows}
    whole = each["replicate: and ECE and MCE, all devices"]
    ratios = {
        "replicate_over_six_normals": whole / (6 * each["normal, mixjax.random, all devices"]),
        "random_numbers_of_replicate": each["replicate: its six random numbers, all devices"] / whole,
    }
    text = (
        f"float32, n = p = {sizes.literal_n}. Of a replicate, {ratios['random_numbers_of_replicate']:.0%} goes into random "
        f"numbers; it takes as long as {6 * ratios['replicate_over_six_normals']:.0f} normals of mixjax.random."
    )
    return Section("random_numbers", "Random numbers, the limit", text, rows, ratios)


def recompilation(exact: Exact, sizes: Sizes) -> Section:
    """Compilations while n, p, |theta| and t change."""
    rng = np.random.default_rng(4)
    program = exact.program(EXACT)
    scores = jax.jit(lambda key, **values: population_ece(sample_scores(key, **values, replicates=8)))

    def by_engine(n: np.ndarray, p: np.ndarray, theta_norm: np.ndarray, t: np.ndarray) -> Any:
        grid = Grid({"theta_norm": theta_norm}, {"n": n, "p": p, "theta_norm": theta_norm}, {"t": t})
        return exact.call(program, grid)()

    def by_library(n: np.ndarray, p: np.ndarray, theta_norm: np.ndarray, t: np.ndarray) -> Any:
        return scores(exact.root, n=n[0], p=p[0], theta_norm=theta_norm[0], t=t[0])

    rows = []
    for name, call in (("engine", by_engine), ("jit of sample_scores", by_library)):
        with count_compilations() as compiled:
            for _ in range(sizes.changes):
                n, p = np.floor(10 ** rng.uniform(0, 8, (2, exact.layout.unit_cells)))
                jax.block_until_ready(call(n, p, rng.uniform(0, 4, n.shape), rng.uniform(0, 0.5, 1)))
        rows.append({"what": name, "changes": sizes.changes, "compilations": len(compiled)})
    ratios = {row["what"]: row["compilations"] for row in rows}
    return Section("recompilation", "Changes of n, p, theta and t", "The first call included.", rows, ratios)
