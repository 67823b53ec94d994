"""The exact simulator against literal simulation, in one run."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.report import Section
from benchmarks.simulator.exact import Exact, T
from benchmarks.simulator.literal import NumpyReplicates, jax_replicates
from benchmarks.timing import interleaved
from mixjax.sims.engine.program import HostArrays

Cases = dict[str, tuple[int, Callable[[], Any]]]  # name -> replicates of a call, and the call

ONE_THREAD = ("literal NumPy, float32", "literal NumPy, float64")


def speed(exact: Exact) -> Section:
    """Exact against literal NumPy and literal JAX."""
    grid = exact.grid()
    chosen = np.linspace(0, exact.cells - 1, exact.sizes.literal).astype(int)  # cells of the literal replicates
    literal = _literal_cases(exact.sizes.n, grid.cells["theta_norm"][chosen], on_cpu=exact.on_cpu)
    cases: Cases = {"exact": (exact.replicates, exact.call(grid))}
    cases["exact, one unit at a time"] = exact.replicates, exact.call(grid, threads=1)
    cases |= literal
    timings = interleaved({name: call for name, (_, call) in cases.items()}, exact.sizes.repetitions)
    rows = [{"case": name, "replicates": count} | timings[name].row(count) for name, (count, _) in cases.items()]
    for row in rows:
        row |= {f"{kind}_over_exact": row[f"{kind}_ns"] / rows[0][f"{kind}_ns"] for kind in ("min", "median")}
    baseline = min((row for row in rows if row["case"] in ONE_THREAD), key=lambda row: row["median_ns"])
    moments = cases["exact"][1]()
    z = max(_largest_z(moments, chosen, np.asarray(call())) for _, call in literal.values())
    text = (
        f"n = p = {exact.sizes.n}; the cells differ in |theta|. The baseline is {baseline['case']}, the faster of the "
        f"two on one thread of the host. Largest |z| of the literal means of ECE and MCE against the exact: {z:.1f}."
    )
    threaded = [row for row in rows if "threads" in row["case"]]  # NumPy on every core that the exact has
    ratios = {
        "baseline": baseline["case"],
        "over_numpy": baseline["median_over_exact"],
        "over_threaded_numpy": (threaded or [baseline])[0]["median_over_exact"],
        "largest_z": z,
    }
    return Section("speed", "Against literal simulation", text, rows, ratios)


def _literal_cases(n: int, theta_norm: np.ndarray, *, on_cpu: bool) -> Cases:
    many, batch = (1, 4) if on_cpu else (64, 64)  # what is fastest on a CPU, and what fills an accelerator
    thetas = np.tile(theta_norm, many)
    cases: Cases = {"literal JAX": (len(thetas), jax_replicates(n, thetas, T, batch))}
    for name in ONE_THREAD:
        cases[name] = len(theta_norm), NumpyReplicates(n, theta_norm, T, name.split()[-1])
    threads = len(os.sched_getaffinity(0))
    if threads > 1:
        thetas = np.tile(theta_norm, threads)
        replicates = NumpyReplicates(n, thetas, T, "float32", threads)
        cases[f"literal NumPy, float32, {threads} threads"] = len(thetas), replicates
    return cases


def _largest_z(moments: list[HostArrays], chosen: np.ndarray, literal: np.ndarray) -> float:
    """Of the four means over literal replicates, [replicates, 4], which take the chosen cells in turn."""
    scores = []
    for column, name in enumerate(("ece", "ece_mix", "mce", "mce_mix")):
        count, mean, m2 = (
            np.concatenate([unit[f"{name}.{kind}"].ravel() for unit in moments])[chosen].astype(np.float64)
            for kind in ("count", "mean", "m2")
        )
        z = (literal[:, column].reshape(-1, len(chosen)) - mean) / np.sqrt(m2 / (count - 1))
        scores.append(abs(z.sum()) / np.sqrt(z.size))
    return float(max(scores))
