"""Scores of the generative model by literal simulation, beside the rate of the normals that they are drawn from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.report import Benchmark, Section
from benchmarks.timing import interleaved
from mixjax.gaussian import class_mean, sample_data, weighted_estimator
from mixjax.generative import sample_coupling, sample_leaky_relu, sample_linear, simulate_scores
from mixjax.random import normal

ASKED = 0.7  # of the raw rate


@dataclass(frozen=True)
class Sizes:
    """How much is timed: draws of z in p dimensions, and of x in d."""

    draws: int = 1 << 20
    repetitions: int = 9
    p: int = 16
    d: int = 24


def measure(sizes: Sizes) -> Iterator[Section]:
    """Time a draw of z and what is made of it: x, features, and the scores of two classifiers."""
    cases = _raw(sizes) | _simulations(sizes)
    timings = interleaved(cases, sizes.repetitions)
    rows = [{"what": name} | timings[name].row(sizes.draws) | {"first_s": timings[name].first} for name in cases]
    each = {str(row["what"]): row["median_ns"] for row in rows}
    ratios = {
        f"{family}, of {library}": each[f"{sizes.p} normals, {library}"] / each[family]
        for family in ("linear", "leaky-ReLU", "coupling")
        for library in ("jax.random", "mixjax.random")
    }
    shares = "; ".join(f"{name} {ratio:.0%}" for name, ratio in ratios.items())
    text = (
        f"A draw is z in {sizes.p} dimensions, x = g(z) in {sizes.d} (coupling: {sizes.p}), h_hat(x) by the exact "
        f"inverse, and the scores of two classifiers in bins; beside it {sizes.p} raw normals in one array. The rate "
        f"as a share of the raw one (asked: {ASKED:.0%}): {shares}."
    )
    yield Section("rates", "Draws", text, rows, ratios)


def _raw(sizes: Sizes) -> dict[str, Callable[[], Any]]:
    key, shape = jax.random.key(0, impl="threefry2x32"), (sizes.draws, sizes.p)
    return {
        f"{sizes.p} normals, {library}": partial(jax.jit(draw, static_argnums=(1, 2)), key, shape, np.float32)
        for library, draw in (("jax.random", jax.random.normal), ("mixjax.random", normal))
    }


def _simulations(sizes: Sizes) -> dict[str, Callable[[], Any]]:
    keys = jax.random.split(jax.random.key(1), 5)
    theta = class_mean(sizes.p, 1.0)
    z, y = sample_data(keys[0], n=32, theta=theta)
    classifiers = jnp.stack([weighted_estimator(z, y, t) for t in (0.0, 1 / 3)])
    families = {
        "linear": sample_linear(keys[1], p=sizes.p, d=sizes.d),
        "leaky-ReLU": sample_leaky_relu(keys[2], widths=(sizes.p, 20, sizes.d)),
        "coupling": sample_coupling(keys[3], p=sizes.p),
    }
    return {
        name: partial(simulate_scores, keys[4], g, g.inverse(), classifiers, theta, num_draws=sizes.draws)
        for name, g in families.items()
    }


BENCHMARK = Benchmark(
    "generative", "Literal simulation of the generative model", full=Sizes(), quick=Sizes(1 << 14, 2), measure=measure
)
