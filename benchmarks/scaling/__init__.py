"""How a run's time grows with its size, and shrinks with what computes it; and what a very large run would cost.

A replicate is one training set with its plain and one Mixup estimator, unless said otherwise. All ratios come from one
run; every call is warm and waited for, and the cases of a table are run in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.report import Benchmark, Section
from benchmarks.scaling.clusters import local_clusters, overhead
from benchmarks.scaling.cost import cost
from benchmarks.scaling.figure import draw
from benchmarks.scaling.job import Job
from benchmarks.scaling.parallel import parallel
from benchmarks.simulator.exact import Exact
from benchmarks.simulator.exact import Sizes as Curves
from benchmarks.simulator.scaling import growth, weights


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


def measure(sizes: Sizes) -> Iterator[Section]:
    """Time growing runs, more threads, devices and workers, and what the largest run would cost."""
    exact = Exact(sizes.curves)
    grown = growth(exact)
    yield grown
    yield weights(exact)
    with local_clusters(sizes.workers) as there:
        yield parallel(sizes.job, there, sizes.repetitions)
        if there:
            yield overhead(sizes.job, there[min(there)], sizes.long_units)
    yield cost(grown)


BENCHMARK = Benchmark(
    "scaling", "How the simulator scales", full=FULL, quick=QUICK, measure=measure, peers=("distributed",), draw=draw
)
