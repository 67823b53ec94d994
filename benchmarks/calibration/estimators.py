"""The other estimators, each beside the best that there is elsewhere, or a plain NumPy version of its definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.calibration import peers
from benchmarks.calibration.peers import Builder, Call
from benchmarks.calibration.sizes import NUM_BINS, Rows, Sizes, rows
from benchmarks.report import Section
from benchmarks.timing import interleaved
from mixjax import brier_decomposition, debiased_ece2, ece, kde_ece, mmce, smooth_ece, sweep_ece

OURS = "mixjax"
Estimator = Callable[[jax.Array, jax.Array], jax.Array]


def _kumar(confidence: jax.Array, correct: jax.Array, binning: Any) -> jax.Array:
    return debiased_ece2(confidence, correct, num_bins=NUM_BINS, binning=binning, form="kumar")[0]


OURS_AND_PEERS: Mapping[str, tuple[Estimator, Mapping[str, Builder], int]] = {  # with the most rows that it is for
    "equal mass": (
        partial(ece, num_bins=NUM_BINS, binning="equal-mass"),
        {"NumPy": peers.numpy_mass, "scikit-learn": peers.sklearn_mass},
        10**9,
    ),
    "debiased": (partial(_kumar, binning="equal-width"), {"NumPy": peers.numpy_debiased}, 10**9),
    "debiased, equal mass": (
        partial(_kumar, binning="equal-mass"),
        {"verified_calibration": peers.verified_debiased},
        10**9,
    ),
    "sweep": (partial(sweep_ece, norm=2), {"NumPy": peers.numpy_sweep}, 10**9),
    "smooth": (smooth_ece, {"relplot": peers.relplot_smooth}, 10**9),
    "MMCE": (mmce, {"netcal": peers.netcal_mmce}, 10**9),
    "CORP": (lambda c, y: brier_decomposition(c, y)[1], {"scikit-learn": peers.sklearn_isotonic}, 10**9),
    "KDE": (kde_ece, {}, 10_000),
}


def estimators(sizes: Sizes) -> Section:
    """Time and value of each estimator at each size; ratios are the best peer's, at the largest size of both."""
    table: list[dict[str, Any]] = []
    ratios: dict[str, float] = {}
    for size in sizes.estimators:
        data = rows(size)
        for name, (estimator, others, most) in OURS_AND_PEERS.items():
            if size > most:
                continue
            found = _compared(name, data, estimator, others, max(3, sizes.repetitions_of(size) // 3))
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


def _compared(
    name: str, data: Rows, estimator: Estimator, others: Mapping[str, Builder], repetitions: int
) -> list[dict[str, Any]]:
    cases: dict[str, Call] = {OURS: partial(jax.jit(estimator), *map(jnp.asarray, data))}
    cases |= {other: call for other, build in others.items() if (call := build(data)) is not None}
    timings = interleaved(cases, repetitions)
    return [
        {
            "estimator": name,
            "rows": len(data[0]),
            "library": library,
            **timings[library].row(len(data[0])),
            "first_s": timings[library].first,
            "value": float(call()),
        }
        for library, call in cases.items()
    ]
