"""The limit of a logistic fit, a law at a time, beside one literal fit that it replaces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np

from benchmarks.report import Benchmark, Section
from benchmarks.timing import interleaved
from mixjax.gaussian import ScoreLaw, class_mean, limit_logistic_scores, mixup_logistic_coefficients, sample_data

ASKED = 30.0  # milliseconds on a core for a law with Mixup in float64, at most


@dataclass(frozen=True)
class Sizes:
    """The side of the map, and n = p of the literal fit."""

    side: int = 16
    repetitions: int = 5
    n: int = 400


def measure(sizes: Sizes) -> Iterator[Section]:
    """Time maps over p/n and |theta| at mu = 0.001, and a fit to all pairs at n = p."""
    maps: dict[str, Callable[[], Any]] = {
        f"limit, {name}, {np.dtype(dtype).name}": partial(_map, sizes.side, alpha, dtype)
        for name, alpha in (("plain", 0.0), ("Beta(1, 1)", 1.0))
        for dtype in (np.float64, np.float32)
    }
    fit = f"all-pairs fit, n = p = {sizes.n}, Beta(1, 1), float64"
    with jax.enable_x64(True):
        x, y = sample_data(jax.random.key(0), n=sizes.n, theta=class_mean(sizes.n, np.float64(1.0)))
        cases = maps | {fit: partial(mixup_logistic_coefficients, x, y, penalty=0.001, alpha=1.0)}
        timings = interleaved(cases, sizes.repetitions)
    rows = []
    for name, timing in timings.items():
        count = 1 if name == fit else sizes.side**2
        rows.append({"what": name, "ms": timing.median / count * 1e3, "first_s": timing.first})
    each = {str(row["what"]): float(row["ms"]) for row in rows}
    law = each["limit, Beta(1, 1), float64"]
    ratios = {"ms a law": law, "laws in the time of a fit": each[fit] / law}
    text = (
        f"A law of a {sizes.side} x {sizes.side} map over p/n from 0.05 to 8 and |theta| from 0.25 to 4, solved one "
        f"after another on one core, takes {law:.2g} ms with Mixup in float64 (asked: at most {ASKED:g} ms). One "
        f"literal fit, with the cores that XLA takes, takes the time of {each[fit] / law:.2g} laws."
    )
    yield Section("limit", "Limit and literal fit", text, rows, ratios)


def _map(side: int, alpha: float, dtype: type[np.floating]) -> ScoreLaw:
    ratio, theta = np.geomspace(0.05, 8, side, dtype=dtype), np.geomspace(0.25, 4, side, dtype=dtype)
    return limit_logistic_scores(ratio, theta[:, None], penalty=dtype(1e-3), alpha=dtype(alpha))


BENCHMARK = Benchmark("logistic", "The limit of the logistic fit", full=Sizes(), quick=Sizes(4, 2, 50), measure=measure)
