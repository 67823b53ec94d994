"""How the exact simulator's time grows, and with what it does not."""

from __future__ import annotations

import numpy as np

from benchmarks.report import Section
from benchmarks.simulator.exact import Exact
from benchmarks.timing import interleaved, record_compilations, seconds
from mixjax.sims.engine import program
from mixjax.sims.engine.program import BLOCK
from mixjax.sims.grid import Grid


def size(exact: Exact) -> Section:
    """Growth with n and p."""
    timings = interleaved({f"{n:g}": exact.call(exact.grid(n)) for n in exact.sizes.other_n}, exact.sizes.repetitions)
    rows = [{"n_and_p": name} | timing.row(exact.replicates) for name, timing in timings.items()]
    for row in rows:
        row |= {f"{kind}_over_first": row[f"{kind}_ns"] / rows[0][f"{kind}_ns"] for kind in ("min", "median")}
    ratios = {"over_first": {row["n_and_p"]: row["median_over_first"] for row in rows}}
    ratios["slowest_over_first"] = max(row["median_over_first"] for row in rows[1:])
    return Section("size", "Growth with n and p", "One program.", rows, ratios)


def weights(exact: Exact) -> Section:
    """Growth with the number of Mixup weights t on the same training sets."""
    grids = {count: exact.grid(t=np.linspace(0.45 / count, 0.45, count)) for count in exact.sizes.weights}
    cases = {count: exact.call(grid) for count, grid in grids.items()}
    timings = interleaved(cases, exact.sizes.repetitions)
    rows = [{"number_of_t": count} | timing.row(exact.replicates) for count, timing in timings.items()]
    first, last = rows[0], rows[-1]
    more = last["number_of_t"] - first["number_of_t"]
    ratios = {f"one_more_t_{kind}": (last[f"{kind}_ns"] / first[f"{kind}_ns"] - 1) / more for kind in ("median", "min")}
    text = (
        f"n = p = {exact.sizes.n}, a replicate is a training set with all of its t. One more t costs "
        f"{ratios['one_more_t_median']:.0%} of a replicate with one."
    )
    return Section("weights", "Growth with the number of t", text, rows, ratios)


def growth(exact: Exact) -> Section:
    """Growth with cells and replicates."""
    unit = exact.layout.unit_cells
    more = exact.sizes.growth
    shapes = [(1, 1), *((k * unit, BLOCK) for k in more), *((unit, k * BLOCK) for k in more[1:])]
    cases = {shape: exact.call(exact.grid(cells=shape[0]), shape[1]) for shape in shapes}
    timings = interleaved(cases, exact.sizes.repetitions)
    rows = [
        {"cells": cells, "replicates_of_each": replicates, "ms": timing.median * 1e3} | timing.row(cells * replicates)
        for (cells, replicates), timing in timings.items()
    ]
    each = [row["median_ns"] for row in rows[1:]]
    text = (
        f"n = p = {exact.sizes.n}, work is done in units of {unit:,} cells and {BLOCK:,} replicates: "
        "one replicate of one cell, in the first row, takes as long as a unit."
    )
    ratios = {"largest_over_smallest": max(each) / min(each)}
    return Section("growth", "Growth with cells and replicates", text, rows, ratios)


def recompilation(exact: Exact) -> Section:
    """Programs that are compiled while n, p, |theta| and t change."""
    program.compiled.cache_clear()
    rng = np.random.default_rng(4)
    seconds_of: list[float] = []
    with record_compilations() as compiled:
        for _ in range(exact.sizes.changes):
            n, p = np.floor(10 ** rng.uniform(0, 8, (2, exact.layout.unit_cells)))
            theta_norm, t = rng.uniform(0, 4, n.shape), rng.uniform(0, 0.5, 1).astype(np.float32)
            grid = Grid({"theta_norm": theta_norm}, {"n": n, "p": p, "theta_norm": theta_norm}, {"t": t})
            seconds_of.append(seconds(exact.call(grid)))
    first, later = seconds_of[0], float(np.median(seconds_of[1:]))
    row = {"changes": len(seconds_of), "compiled": ", ".join(compiled), "first_s": first, "later_median_s": later}
    text = "One unit of cells, all of whose n, p and |theta| change with each call, and t too; the first call compiles."
    return Section("recompilation", "Changes of n, p, theta and t", text, [row], {"compilations": len(compiled)})
