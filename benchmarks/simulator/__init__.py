"""The exact simulator's speed: against literal simulation, as sizes grow, and beside what limits it.

A replicate is one training set with its plain and one Mixup estimator, and the ECE and MCE of both. All ratios come
from one run; every call is warm and waited for, and the cases of a table are run in turn.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks.report import Section, make_folder, write
from benchmarks.simulator.against_literal import speed
from benchmarks.simulator.exact import QUICK, Exact, Sizes, T
from benchmarks.simulator.main_job import phase_diagram
from benchmarks.simulator.rates import random_numbers
from benchmarks.simulator.scaling import growth, recompilation, size, weights
from mixjax import runs
from mixjax.runs.origin import cpu_name


def run(out: Path, sizes: Sizes | None = None, *, quick: bool = False) -> str:
    """Time the simulator, write simulator.md and simulator.json, and return the page.

    Raises:
      RunError: if the folder cannot be written.
    """
    make_folder(out)
    started = time.perf_counter()
    exact = Exact(sizes or (QUICK if quick else Sizes()))
    parts = (phase_diagram, recompilation, speed, size, weights, growth, random_numbers)  # the first for its memory
    sections = []
    for part in parts:
        print(f"{time.perf_counter() - started:4.0f} s  {part.__name__}", file=sys.stderr)
        sections.append(part(exact))
    header = {
        "command": "python -m benchmarks simulator" + (" --quick" if quick else ""),
        **runs.provenance(),
        "host": cpu_name(),  # where NumPy ran, if JAX has an accelerator
        "numpy": np.__version__,
        "seconds": round(time.perf_counter() - started, 1),
        "settings": {**asdict(exact.sizes), "layout": asdict(exact.layout), "cells": exact.cells, "t": T},
    }
    return write(out, "simulator", "The simulator's speed", header, [summary(sections), *sections])


def summary(sections: Sequence[Section]) -> Section:
    """What was asked for beside what was measured."""
    ratios = {section.name: section.ratios for section in sections}
    rows = [
        ("times literal NumPy on one thread, n = p = 1000", "30,000 or more", ratios["speed"]["over_numpy"]),
        ("times literal NumPy on as many threads", "", ratios["speed"]["over_threaded_numpy"]),
        ("slowest n = p over n = p = 100", "1.2 or less", ratios["size"]["slowest_over_first"]),
        ("one more t, as a part of a replicate", "below 0.25", ratios["weights"]["one_more_t_median"]),
        ("compilations when n, p, theta, t change", "1", ratios["recompilation"]["compilations"]),
        ("phase diagram, seconds of computing", "below 10", ratios["phase_diagram"]["computing_s"]),
        ("phase diagram, peak memory in GiB", "below 1.86", ratios["phase_diagram"]["peak_gib"]),
    ]
    text = "From medians, warm; compilation apart."
    return Section(
        "summary", "Summary", text, [dict(zip(("what", "asked", "measured"), row, strict=True)) for row in rows]
    )
