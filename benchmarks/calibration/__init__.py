"""Calibration functions beside those of other libraries: values against an exact one, and times, in one run.

Every library gets the same rows in the arrays of its own kind, before the clock starts; every call is warm and waited
for, and the cases of a table are run in turn. Libraries that are not installed have no rows: `pip install -e .[bench]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.calibration.calls import small_calls
from benchmarks.calibration.estimators import estimators
from benchmarks.calibration.peers import PACKAGES, versions
from benchmarks.calibration.sizes import QUICK, Sizes
from benchmarks.calibration.streaming import streaming
from benchmarks.calibration.width import equal_width
from benchmarks.report import Benchmark, Row, Section, asked_beside_measured
from mixjax.runs import cpu_name


def measure(sizes: Sizes) -> Iterator[Section]:
    """Time the calibration functions."""
    yield equal_width(sizes)
    yield estimators(sizes)
    yield streaming(sizes)
    yield small_calls(sizes)


def about(_: Sizes) -> Row:
    """Name the host and the libraries."""
    libraries = ", ".join(f"{name} {version}" for name, version in versions().items())
    return {"host": cpu_name(), "libraries": libraries, "numpy": np.__version__}


def summary(sections: Sequence[Section]) -> Section:
    """Set what was asked for beside what was measured; a library that is not installed has no number."""
    width, others, stream, calls = (section.ratios for section in sections)
    return asked_beside_measured(
        [
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
            ("a call of 256 rows, microseconds", "", calls["eager"]),
            ("a jitted call of 256 rows, microseconds", "", calls["jitted"]),
        ]
    )


BENCHMARK = Benchmark(
    "calibration",
    "The calibration functions' speed",
    full=Sizes(),
    quick=QUICK,
    measure=measure,
    summary=summary,
    about=about,
    peers=tuple(PACKAGES),
)
