"""The exact simulator's speed: against literal simulation, as sizes grow, and beside what limits it.

A replicate is one training set with its plain and one Mixup estimator, and the ECE and MCE of both. All ratios come
from one run; every call is warm and waited for, and the cases of a table are run in turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np

from benchmarks.report import Benchmark, Row, Section, asked_beside_measured
from benchmarks.simulator.against_literal import speed
from benchmarks.simulator.exact import QUICK, Exact, Sizes, T
from benchmarks.simulator.main_job import phase_diagram
from benchmarks.simulator.rates import random_numbers
from benchmarks.simulator.scaling import growth, recompilation, size, weights
from mixjax.runs import cpu_name


def measure(sizes: Sizes) -> Iterator[Section]:
    """Time the simulator."""
    exact = Exact(sizes)
    for part in (phase_diagram, recompilation, speed, size, weights, growth, random_numbers):  # the first: its memory
        yield part(exact)


def about(sizes: Sizes) -> Row:
    """Name the host, where NumPy ran if JAX has an accelerator, and the layout."""
    exact = Exact(sizes)
    settings = {**asdict(sizes), "layout": asdict(exact.layout), "cells": exact.cells, "t": T}
    return {"host": cpu_name(), "numpy": np.__version__, "settings": settings}


def summary(sections: Sequence[Section]) -> Section:
    """Set what was asked for beside what was measured."""
    ratios = {section.name: section.ratios for section in sections}
    return asked_beside_measured(
        [
            ("times literal NumPy on one thread, n = p = 1000", "30,000 or more", ratios["speed"]["over_numpy"]),
            ("times literal NumPy on as many threads", "", ratios["speed"]["over_threaded_numpy"]),
            ("slowest n = p over n = p = 100", "1.2 or less", ratios["size"]["slowest_over_first"]),
            ("one more t, as a part of a replicate", "below 0.25", ratios["weights"]["one_more_t_median"]),
            ("compilations when n, p, theta, t change", "1", ratios["recompilation"]["compilations"]),
            ("phase diagram, seconds of computing", "below 10", ratios["phase_diagram"]["computing_s"]),
            ("phase diagram, peak memory in GiB", "below 1.86", ratios["phase_diagram"]["peak_gib"]),
        ]
    )


BENCHMARK = Benchmark(
    "simulator", "The simulator's speed", full=Sizes(), quick=QUICK, measure=measure, summary=summary, about=about
)
