"""The exact sampler as a study runs it: through the engine, on whole units of cells.

All that a study does is included but for ECE_2 and accuracy (they are not part of the comparison) and for storing
results (timed with the phase diagram).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax
import numpy as np

from mixjax.gaussian import ScoreLaw, population_ece, population_mce, sample_training_sets
from mixjax.sims.engine.compute import compute, tiles_on_devices
from mixjax.sims.engine.program import BLOCK, Arrays, Experiment, HostArrays
from mixjax.sims.engine.units import Layout, Unit, layout_for, plan
from mixjax.sims.grid import Grid
from mixjax.sims.studies.comparison import EXPERIMENT

T = 1 / 3  # the Mixup weight of lambda uniform on [0, 1]


def _score(law: ScoreLaw, _: Arrays) -> Arrays:
    ece, mce = population_ece(law), population_mce(law)
    return {"ece": ece[:, 0], "ece_mix": ece[:, 1:], "mce": mce[:, 0], "mce_mix": mce[:, 1:]}


def _sample_noise(key: jax.Array, cells: Arrays, settings: Arrays, replicates: int) -> tuple[jax.Array, ...]:
    sizes = {name: cells[name] for name in ("n", "p", "theta_norm")}
    return sample_training_sets(key, **sizes, replicates=replicates).noise


EXACT = Experiment(EXPERIMENT.sample, _score)  # ECE and MCE, plain and mixed
NOISE = Experiment(_sample_noise, lambda noise, _: {"sum": sum(noise[1:], noise[0])})  # the six random numbers alone


@dataclass(frozen=True)
class Sizes:
    """How much is timed."""

    repetitions: int = 15
    layout: Layout | None = None  # None: the engine's own
    units: int = 16  # of cells a call
    n: int = 1000  # = p, unless said otherwise
    literal: int = 16  # literal replicates a call
    other_n: tuple[float, ...] = (1e2, 1e4, 1e6, 1e8)  # = p
    weights: tuple[int, ...] = (1, 2, 4, 8, 16)  # numbers of t
    growth: tuple[int, ...] = (1, 2, 4)  # units of cells, or blocks of replicates
    normals: int = 1 << 22  # a call and device, 16 times as many on an accelerator
    changes: int = 100
    preset: str = "default"


QUICK = Sizes(
    repetitions=3,
    units=4,
    literal=4,
    other_n=(1e2, 1e6),
    weights=(1, 4),
    growth=(1, 2),
    normals=1 << 20,
    changes=20,
    preset="quick",
)


class Exact:
    """Calls of the engine, to be timed."""

    def __init__(self, sizes: Sizes):
        self.sizes = sizes
        platform = jax.local_devices()[0].platform
        self.on_cpu = platform == "cpu"
        self.layout = sizes.layout or layout_for(platform)
        self.cells = sizes.units * self.layout.unit_cells  # of a call, unless said otherwise
        self.replicates = self.cells * BLOCK

    def call(
        self, grid: Grid, replicates: int = BLOCK, experiment: Experiment | None = None, threads: int | None = None
    ) -> Callable[[], list[HostArrays]]:
        """The moments of every unit of a grid, on all cores or devices unless said otherwise."""
        units = plan(grid, replicates, self.layout)
        tiles = tiles_on_devices(experiment or EXACT, grid, study="benchmark", seed=0, layout=self.layout)

        def computed() -> list[HostArrays]:
            moments: dict[Unit, HostArrays] = {}
            return [moments[unit] for unit in compute(tiles, units, moments.__setitem__, threads=threads)]

        return computed

    def grid(self, n: float | None = None, *, cells: int | None = None, t: Sequence[float] = (T,)) -> Grid:
        """Cells of n = p that differ in |theta|."""
        theta_norm = np.linspace(0.5, 3.0, cells or self.cells)
        size = np.full(theta_norm.shape, float(n or self.sizes.n))
        return Grid({"theta_norm": theta_norm}, {"n": size, "p": size, "theta_norm": theta_norm}, {"t": np.asarray(t)})
