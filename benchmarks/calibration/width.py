"""Equal-width ECE beside every library that has it, from 1e4 rows to 1e8."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from benchmarks.calibration.peers import OURS, WIDTH, beside_peers
from benchmarks.calibration.sizes import NUM_BINS, Rows, Sizes, rows
from benchmarks.report import Section
from mixjax import ece


def equal_width(sizes: Sizes) -> Section:
    """Time and error of each library at each size; ratios are at the largest size that a library was timed at."""
    table: list[dict[str, Any]] = []
    ratios: dict[str, float] = {}
    for size in sizes.width:
        data = rows(size)
        timed = beside_peers(data, partial(ece, num_bins=NUM_BINS), WIDTH, sizes.repetitions_of(size))
        truth = reference(data)
        found = [{**row, "error": abs(value - truth)} for row, value in timed]
        table += found
        times = {row["library"]: row["median_ns"] for row in found}
        ratios |= {name: times[name] / times[OURS] for name in times if name != OURS}
    large = [row["error"] for row in table if row["library"] == OURS and row["rows"] >= min(1e7, sizes.width[-1])]
    large.append(_error_of_equal_rows(min(10_000_000, sizes.width[-1])))
    text = (
        f"{NUM_BINS} bins, float32; nanoseconds a row. The error is against NumPy's in double precision with the same "
        "edges. scikit-learn's bins are closed on the right, and TFP makes the confidences anew from logits: a few "
        "rows near edges are in other bins. The largest error of the summary is also over 1e7 rows (if there are as "
        "many) of one confidence, 0.65, whose sums all round alike."
    )
    return Section("equal_width", "Equal-width ECE", text, table, {**ratios, "largest_error": max(large)})


def _error_of_equal_rows(size: int) -> float:
    data = np.full(size, 0.65, np.float32), (np.arange(size) % 2).astype(np.float32)
    return abs(float(ece(*map(jnp.asarray, data), num_bins=NUM_BINS)) - reference(data))


def reference(data: Rows) -> float:
    """The ECE in double precision, with edges k / M in the dtype of the confidences."""
    edges = (np.arange(1, NUM_BINS) / NUM_BINS).astype(np.float32)
    residual = np.zeros(NUM_BINS)
    block = 1 << 22
    for start in range(0, len(data[0]), block):
        confidence, correct = (part[start : start + block] for part in data)
        index = np.searchsorted(edges, confidence, side="right")
        residual += np.bincount(index, correct.astype(float) - confidence.astype(float), NUM_BINS)
    return float(np.abs(residual).sum() / len(data[0]))
