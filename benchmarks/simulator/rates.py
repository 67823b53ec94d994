"""What limits the exact simulator: the rate of random numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

from benchmarks.report import Section
from benchmarks.simulator.exact import NOISE, Exact
from benchmarks.timing import interleaved
from mixjax.random import normal

REPLICATE, NUMBERS = "replicate", "the six random numbers of a replicate"


def random_numbers(exact: Exact) -> Section:
    """The rate of normals, the limit of any simulation, beside the stages of the exact one."""
    grid, size = exact.grid(), exact.sizes.normals * (1 if exact.on_cpu else 16)
    rng, buffer = np.random.default_rng(3), np.empty(size, np.float32)
    cases: dict[str, tuple[int, Callable[[], Any]]] = {
        "normal, NumPy": (size, lambda: rng.standard_normal(dtype=np.float32, out=buffer))
    }
    key = jax.random.key(3, impl="threefry2x32")
    for library, draw in (("jax.random", jax.random.normal), ("mixjax.random", normal)):
        cases[f"normal, {library}"] = size, partial(jax.jit(draw, static_argnums=(1, 2)), key, (size,), np.float32)
    cases[REPLICATE] = exact.replicates, exact.call(grid)
    cases[NUMBERS] = exact.replicates, exact.call(grid, experiment=NOISE)
    timings = interleaved({name: call for name, (_, call) in cases.items()}, exact.sizes.repetitions)
    rows = [{"what": name} | timings[name].row(count) for name, (count, _) in cases.items()]
    each = {row["what"]: row["median_ns"] for row in rows}
    normals = each[REPLICATE] / each["normal, mixjax.random"]
    share = each[NUMBERS] / each[REPLICATE]
    ratios = {"random_numbers_of_replicate": share, "normals_for_replicate": normals}
    text = (
        f"float32, n = p = {exact.sizes.n}; normals in one array. A replicate takes as long as "
        f"{normals:.0f} normals of mixjax.random; {share:.0%} of it goes into its six random numbers."
    )
    return Section("random_numbers", "Random numbers, the limit", text, rows, ratios)
