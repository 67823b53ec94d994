"""Calibration functions beside those of other libraries: values against an exact one, and times, in one run.

Every library gets the same rows in the arrays of its own kind, before the clock starts; every call is warm and waited
for, and the cases of a table are run in turn. Libraries that are not installed have no rows: `pip install -e .[bench]`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks.calibration.estimators import estimators
from benchmarks.calibration.peers import versions
from benchmarks.calibration.sizes import QUICK, Sizes
from benchmarks.calibration.streaming import streaming
from benchmarks.calibration.width import equal_width
from benchmarks.report import Section, make_folder, write
from mixjax import runs
from mixjax.runs.origin import cpu_name


def run(out: Path, sizes: Sizes | None = None, *, quick: bool = False) -> str:
    """Time the calibration functions, write calibration.md and calibration.json, and return the page.

    Raises:
      RunError: if the folder cannot be written.
    """
    make_folder(out)
    started = time.perf_counter()
    sizes = sizes or (QUICK if quick else Sizes())
    sections = []
    for part in (equal_width, estimators, streaming):
        print(f"{time.perf_counter() - started:4.0f} s  {part.__name__}", file=sys.stderr)
        sections.append(part(sizes))
    header = {
        "command": "python -m benchmarks calibration" + (" --quick" if quick else ""),
        **runs.provenance(),
        "host": cpu_name(),
        "libraries": ", ".join(f"{name} {version}" for name, version in versions().items()),
        "numpy": np.__version__,
        "seconds": round(time.perf_counter() - started, 1),
        "settings": asdict(sizes),
    }
    return write(out, "calibration", "The calibration functions' speed", header, [summary(sections), *sections])


def summary(sections: Sequence[Section]) -> Section:
    """What was asked for beside what was measured; nothing is measured of a library that is not installed."""
    ratios = {section.name: section.ratios for section in sections}
    width, others, stream = ratios["equal_width"], ratios["estimators"], ratios["streaming"]
    rows = [
        ("ECE: NumPy's time over ours", "1 or more", width.get("NumPy")),
        ("ECE: time of torchmetrics without validation over ours", "5 or more", width.get("torchmetrics")),
        ("ECE: largest error, 1e7 rows and more", "below 1e-6", width["largest_error"]),
        *(
            (f"{name}: best peer's time over ours", "above 1", ratio)
            for name, ratio in others.items()
            if name in ("equal mass", "debiased", "sweep", "smooth")
        ),
        ("streaming: difference from one call", "below 1e-6", stream["difference"]),
        ("streaming: bytes of state", "below 4096", stream["bytes"]),
    ]
    text = "From medians, warm; compilation apart. Ratios at the largest size that both were timed at."
    return Section(
        "summary", "Summary", text, [dict(zip(("what", "asked", "measured"), row, strict=True)) for row in rows]
    )
