"""How a run's time grows with its size, and shrinks with what computes it; and what a very large run would cost.

A replicate is one training set with its plain and one Mixup estimator, unless said otherwise. All ratios come from one
run; every call is warm and waited for, and the cases of a table are run in turn.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.report import Section, make_folder, write, writing
from benchmarks.scaling.clusters import local_clusters, overhead
from benchmarks.scaling.cost import cost
from benchmarks.scaling.figure import draw
from benchmarks.scaling.job import Job
from benchmarks.scaling.parallel import parallel
from benchmarks.simulator.exact import Exact
from benchmarks.simulator.exact import Sizes as Curves
from benchmarks.simulator.scaling import growth, weights
from mixjax import runs


@dataclass(frozen=True)
class Sizes:
    """How much is timed.

    Attributes:
      curves: cells, replicates and numbers of t.
      job: what threads, devices and workers share.
      workers: numbers of Dask workers, of one thread each.
      long_units: of about a second, for the overhead of the scheduler.
      repetitions: of the job.
    """

    curves: Curves
    job: Job
    workers: tuple[int, ...]
    long_units: int
    repetitions: int


FULL = Sizes(
    Curves(repetitions=9, weights=(1, 2, 4, 8, 16, 32), growth=(1, 4, 16, 64, 256)), Job(16_000), (1, 2), 20, 5
)
QUICK = Sizes(Curves(repetitions=2, weights=(1, 4), growth=(1, 2)), Job(1000), (1, 2), 2, 1)


def run(out: Path, sizes: Sizes | None = None, *, quick: bool = False) -> str:
    """Measure, write scaling.md, scaling.json and scaling.png, and return the page.

    Raises:
      RunError: if the folder cannot be written.
    """
    make_folder(out)
    started = time.perf_counter()
    sizes = sizes or (QUICK if quick else FULL)
    exact = Exact(sizes.curves)
    sections: list[Section] = []

    def add(part: Callable[[], Section]) -> Section:
        print(f"{time.perf_counter() - started:4.0f} s  part {len(sections) + 1}", file=sys.stderr)
        sections.append(part())
        return sections[-1]

    grown = add(lambda: growth(exact))
    add(lambda: weights(exact))
    with local_clusters(sizes.workers) as there:
        add(lambda: parallel(sizes.job, there, sizes.repetitions))
        if there:
            add(lambda: overhead(sizes.job, there[min(there)], sizes.long_units))
    add(lambda: cost(grown))
    header = {
        "command": "python -m benchmarks scaling" + (" --quick" if quick else ""),
        **runs.provenance(),
        "seconds": round(time.perf_counter() - started, 1),
        "settings": asdict(sizes),
    }
    page = write(out, "scaling", "How the simulator scales", header, sections)
    with writing(out):
        draw(json.loads((out / "scaling.json").read_text())["results"], out / "scaling.png")
    return page
