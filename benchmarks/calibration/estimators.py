"""The other estimators, each beside the best that there is elsewhere, or a plain NumPy version of its definition."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax

from benchmarks.calibration import peers
from benchmarks.calibration.peers import OURS, Builder, Estimator, beside_peers
from benchmarks.calibration.sizes import NUM_BINS, Sizes, rows
from benchmarks.report import Section
from mixjax import brier_decomposition, debiased_ece2, ece, kde_ece, mmce, smooth_ece, sweep_ece


def _kumar(confidence: jax.Array, correct: jax.Array, binning: Any) -> jax.Array:
    return debiased_ece2(confidence, correct, num_bins=NUM_BINS, binning=binning, form="kumar")[0]


OURS_AND_PEERS: Mapping[str, tuple[Estimator, Mapping[str, Builder]]] = {
    "equal mass": (
        partial(ece, num_bins=NUM_BINS, binning="equal-mass"),
        {"NumPy": peers.numpy_mass, "scikit-learn": peers.sklearn_mass},
    ),
    "debiased": (partial(_kumar, binning="equal-width"), {"NumPy": peers.numpy_debiased}),
    "debiased, equal mass": (partial(_kumar, binning="equal-mass"), {"verified_calibration": peers.verified_debiased}),
    "sweep": (partial(sweep_ece, norm=2), {"NumPy": peers.numpy_sweep}),
    "smooth": (smooth_ece, {"relplot": peers.relplot_smooth}),
    "MMCE": (mmce, {"netcal": peers.netcal_mmce}),
    "CORP": (lambda c, y: brier_decomposition(c, y)[1], {"scikit-learn": peers.sklearn_isotonic}),
    "KDE": (kde_ece, {}),
}
MOST_ROWS = {"KDE": 10_000}


def estimators(sizes: Sizes) -> Section:
    """Time and value of each estimator at each size; ratios are the best peer's, at the largest size of both."""
    table: list[dict[str, Any]] = []
    ratios: dict[str, float] = {}
    for size in sizes.estimators:
        data = rows(size)
        for name, (estimator, others) in OURS_AND_PEERS.items():
            if size > MOST_ROWS.get(name, size):
                continue
            timed = beside_peers(data, estimator, others, max(3, sizes.repetitions_of(size) // 3))
            found = [{"estimator": name, **row, "value": value} for row, value in timed]
            table += found
            times = {row["library"]: row["median_ns"] for row in found}
            if len(times) > 1:
                ratios[name] = min(time for other, time in times.items() if other != OURS) / times[OURS]
    text = (
        "float32; nanoseconds a row. Values differ where definitions do: scikit-learn's equal-mass bins have edges at "
        "interpolated quantiles, NumPy's split ties, relplot adds 1e-4 to a density and steps through a grid. "
        "The time of KDE grows with the square of the rows."
    )
    return Section("estimators", "Other estimators", text, table, ratios)
