"""Which distance h_hat is best learned by: Assumption 3.1 after equal times of training, by distance.

Paper: Section 3.3 has a Wasserstein distance in its criterion, and leaves open how it is to be computed. Each distance
is given the same seconds, rows and starts, and the better of two learning rates.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.distances.criteria import Criterion, criteria
from benchmarks.distances.training import Problem, problem, quality, train
from benchmarks.report import Benchmark, Section
from benchmarks.timing import interleaved


@dataclass(frozen=True)
class Sizes:
    """What each training is given."""

    families: tuple[str, ...] = ("leaky-ReLU", "coupling")
    seconds: float = 1.5
    seeds: int = 3
    rows: int = 16_000
    p: int = 16
    d: int = 24
    draws: int = 1 << 18


QUICK = Sizes(families=("leaky-ReLU",), seconds=0.1, seeds=2, rows=2000, draws=1 << 16)
_TIMED = 20  # steps


def measure(sizes: Sizes) -> Iterator[Section]:
    """Compare the distances, for generators of each family."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # for Optax and OTT
        for family in sizes.families:
            yield compare(family, sizes)


def compare(family: str, sizes: Sizes) -> Section:
    """E|delta_u| of each distance, for generators of one family."""
    keys = [jax.random.fold_in(jax.random.key(seed), sizes.families.index(family)) for seed in range(sizes.seeds)]
    problems = [problem(key, family, rows=sizes.rows, p=sizes.p, d=sizes.d) for key in keys]
    found = criteria()
    timed = interleaved({name: partial(_train, keys[0], problems[0], 1e-3, _TIMED, c) for name, c in found.items()}, 3)
    rows = []
    for name, criterion in found.items():
        steps = max(_TIMED, int(sizes.seconds / timed[name].median * _TIMED))
        tried = {rate: _qualities(keys, problems, criterion, rate, steps, sizes.draws) for rate in criterion.rates}
        rate = min(tried, key=lambda r: tried[r][:, :2].mean())
        rows.append({"distance": name, **_summary(tried[rate]), "rate": rate, "steps": steps})
        print(f"{family}, {name}: {steps} steps", file=sys.stderr)
    first = rows[0]
    ratios = {str(row["distance"]): row["along_theta*"] / first["along_theta*"] for row in rows[1:]}
    text = (
        f"E|delta_u| of Assumption 3.1, mean and standard error over {sizes.seeds} seeds, after {sizes.seconds:g} s of "
        f"training on {sizes.rows:,} rows of {family} g; `variance` is that of a class along theta*, 1 if h_hat is "
        "right. `rate`: the better of two learning rates tried."
    )
    return Section(family, f"{family} g", text, rows, ratios)


def _train(key: jax.Array, given: Problem, rate: float, steps: int, criterion: Criterion) -> Any:
    return train(key, given, jnp.float32(rate), jnp.int32(steps), criterion=criterion)


def _qualities(
    keys: list[jax.Array], problems: list[Problem], criterion: Criterion, rate: float, steps: int, draws: int
) -> np.ndarray:
    """A row for each seed."""
    rows = []
    for key, given in zip(keys, problems, strict=True):
        learned = _train(jax.random.fold_in(key, 1), given, rate, steps, criterion)
        rows.append(quality(jax.random.fold_in(key, 2), given, learned, draws))
    return np.array(rows)


def _summary(values: np.ndarray) -> dict[str, float]:
    mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
    names = ("along_theta*", "random", "variance")
    return {
        key: float(number)
        for name, m, e in zip(names, mean, error, strict=True)
        for key, number in ((name, m), (f"{name}_se", e))
    }


BENCHMARK = Benchmark(
    "distances", "The distance that h_hat is learned by", full=Sizes(), quick=QUICK, measure=measure, peers=("ott",)
)
