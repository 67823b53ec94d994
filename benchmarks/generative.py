"""Scores of the generative model by literal simulation, beside the rate of the normals that they are drawn from."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.report import Section, make_folder, write
from benchmarks.timing import interleaved
from mixjax import runs
from mixjax.gaussian import class_mean, sample_data, weighted_estimator
from mixjax.generative import sample_coupling, sample_leaky_relu, sample_linear, simulate_scores
from mixjax.random import normal

P, D = 16, 24
ASKED = 0.7  # of the raw rate


def run(out: Path, *, quick: bool = False) -> str:
    """Time the simulation of two classifiers on features of each family, and return the page.

    Raises:
      RunError: if the folder cannot be written.
    """
    make_folder(out)
    started = time.perf_counter()
    draws, repetitions = (1 << 14, 2) if quick else (1 << 20, 9)
    section = rates(draws, repetitions)
    header = {
        "command": "python -m benchmarks generative" + (" --quick" if quick else ""),
        **runs.provenance(),
        "seconds": round(time.perf_counter() - started, 1),
        "settings": {"p": P, "d": D, "draws": draws, "repetitions": repetitions},
    }
    return write(out, "generative", "Literal simulation of the generative model", header, [section])


def rates(draws: int, repetitions: int) -> Section:
    """Nanoseconds a draw of z, in 16 dimensions, and what is made of it."""
    cases = _raw(draws) | _simulations(draws)
    timings = interleaved(cases, repetitions)
    rows = [{"what": name} | timings[name].row(draws) | {"first_s": timings[name].first} for name in cases]
    each = {str(row["what"]): row["median_ns"] for row in rows}
    ratios = {
        f"{family}, of {library}": each[f"{P} normals, {library}"] / each[family]
        for family in ("linear", "leaky-ReLU", "coupling")
        for library in ("jax.random", "mixjax.random")
    }
    shares = "; ".join(f"{name} {ratio:.0%}" for name, ratio in ratios.items())
    text = (
        f"A draw is z in {P} dimensions, x = g(z) in {D} (coupling: {P}), h_hat(x) by the exact inverse, and the "
        f"scores of two classifiers in bins; beside it {P} raw normals in one array. The rate as a share of the raw "
        f"one (asked: {ASKED:.0%}): {shares}."
    )
    return Section("rates", "Draws", text, rows, ratios)


def _raw(draws: int) -> dict[str, Callable[[], Any]]:
    key = jax.random.key(0, impl="threefry2x32")
    return {
        f"{P} normals, {library}": partial(jax.jit(draw, static_argnums=(1, 2)), key, (draws, P), np.float32)
        for library, draw in (("jax.random", jax.random.normal), ("mixjax.random", normal))
    }


def _simulations(draws: int) -> dict[str, Callable[[], Any]]:
    keys = jax.random.split(jax.random.key(1), 5)
    theta = class_mean(P, 1.0)
    z, y = sample_data(keys[0], n=32, theta=theta)
    classifiers = jnp.stack([weighted_estimator(z, y, t) for t in (0.0, 1 / 3)])
    families = {
        "linear": sample_linear(keys[1], p=P, d=D),
        "leaky-ReLU": sample_leaky_relu(keys[2], widths=(P, 20, D)),
        "coupling": sample_coupling(keys[3], p=P),
    }
    return {
        name: partial(simulate_scores, keys[4], g, g.inverse(), classifiers, theta, num_draws=draws)
        for name, g in families.items()
    }
