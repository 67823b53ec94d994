"""What one small call costs, as a training loop makes it: 256 rows, where the work is nothing beside the call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.calibration.peers import WIDTH
from benchmarks.calibration.sizes import NUM_BINS, Sizes, rows
from benchmarks.report import Section
from benchmarks.timing import interleaved
from mixjax import ece
from mixjax.calibration import CalibrationState

ROWS, CALLS = 256, 100
FLOOR = "a sum, jitted"


def small_calls(sizes: Sizes) -> Section:
    """Time a call of each kind; the floor is a compiled sum of the same arrays."""
    data = rows(ROWS)
    arrays = tuple(map(jnp.asarray, data))
    ours = partial(ece, num_bins=NUM_BINS)
    empty = CalibrationState.empty(NUM_BINS)
    cases: dict[str, Callable[[], Any]] = {
        FLOOR: partial(jax.jit(lambda confidence, correct: jnp.sum(confidence - correct)), *arrays),
        "ece, jitted": partial(jax.jit(ours), *arrays),
        "ece": partial(ours, *arrays),
        "ece of NumPy arrays": partial(ours, *data),
        "CalibrationState.update, jitted": partial(jax.jit(CalibrationState.update), empty, *arrays),
        **{name: call for name, build in WIDTH.items() if (call := build(data)) is not None},
    }
    timings = interleaved({name: partial(_many, call) for name, call in cases.items()}, sizes.repetitions)
    table = [
        {"call": name, "min_us": timing.min / CALLS * 1e6, "median_us": timing.median / CALLS * 1e6}
        for name, timing in timings.items()
    ]
    times = {row["call"]: row["median_us"] for row in table}
    text = f"{ROWS} rows, {NUM_BINS} bins, float32; microseconds a call, each waited for, of {CALLS} in a row."
    return Section("calls", "One small call", text, table, {"eager": times["ece"], "jitted": times["ece, jitted"]})


def _many(call: Callable[[], Any]) -> None:
    for _ in range(CALLS):
        jax.block_until_ready(call())
