"""How the work of a study is divided: a grid into units of cells and replicates, anything else into its pieces."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from typing import Any

import jax
import xarray as xr

from mixjax.runs import RunDirectory, RunError
from sims.engine import (
    BLOCK,
    HostArrays,
    Layout,
    Unit,
    compute,
    compute_unit,
    default_threads,
    layout_for,
    plan,
    program_for,
)
from sims.forecast import amount, several
from sims.grid import whole
from sims.moments import merged
from sims.study import GridStudy, PiecewiseStudy, Study
from sims.work import Store, Work, plain

MOST_UNITS = 2**21


class GridWork(Work):
    """Cells and blocks of replicates, through the engine; a part is a `Unit`."""

    def __init__(self, study: GridStudy, config: Any, layout: Layout | None):
        self.study: GridStudy = study
        self.config, self.wanted = config, layout
        self.grid = study.grid(config)
        self.experiment = study.experiment_of(self.grid)
        self.replicates, self.seed = whole("replicates", config.replicates, 1), whole("seed", config.seed, 0)
        self._turn = itertools.count()
        self._units_of: dict[str, int] | None = None
        self._units_by_name: dict[str, Unit] = {}
        numbers = {"replicates": self.replicates, "seed": self.seed, "block": BLOCK}
        self.spec = {"study": study.name, **numbers, **self.grid.spec()}

    def layout(self, platform: str) -> dict[str, int]:
        return asdict(self.wanted or layout_for(platform))

    def names(self, layout: Mapping[str, int]) -> list[str]:
        return [unit.name for unit in self._units(layout)]

    def compute(self, names: Sequence[str], layout: Mapping[str, int], store: Store) -> Iterator[str]:
        wanted = set(names)
        units = [unit for unit in self._units(layout) if unit.name in wanted]
        options: dict[str, Any] = {"study": self.study.name, "seed": self.seed, "layout": Layout(**layout)}

        def store_unit(unit: Unit, arrays: HostArrays) -> None:
            store(unit.name, arrays)

        done = compute(self.experiment, self.grid, units, store_unit, **options)
        return (unit.name for unit in done)

    def prepare(self, layout: Mapping[str, int]) -> None:
        self._named(layout)
        for device in jax.local_devices():
            program_for(self.experiment, Layout(**layout), self.grid, device)

    def part(self, name: str, layout: Mapping[str, int]) -> HostArrays:
        devices = jax.local_devices()
        options: dict[str, Any] = {"study": self.study.name, "seed": self.seed, "layout": Layout(**layout)}
        device = devices[next(self._turn) % len(devices)]
        return compute_unit(self.experiment, self.grid, self._named(layout)[name], device, **options)

    def size(self, number: int) -> str:
        settings = len(next(iter(self.grid.settings.values()), (0.0,)))
        total = amount(self.grid.num_cells * settings * self.replicates)
        factors = [several(self.grid.num_cells, "cell"), several(settings, "setting")]
        return f"{' x '.join(factors)} x {self.replicates:,} replicates = {total}, in {several(number, 'unit')}"

    def seconds(self, layout: Mapping[str, int], number: int) -> float | None:
        options: dict[str, Any] = {"study": self.study.name, "seed": self.seed, "layout": Layout(**layout)}
        unit = next(iter(self._named(layout).values()))
        tile = replace(unit, stop=min(unit.stop, unit.start + layout["tile_cells"]))
        times = []
        for _ in range(3):  # the first compiles
            started = time.perf_counter()
            compute_unit(self.experiment, self.grid, tile, jax.local_devices()[0], **options)
            times.append(time.perf_counter() - started)
        return (
            min(times) * -(-(unit.stop - unit.start) // layout["tile_cells"]) * number / min(default_threads(), number)
        )

    def table(self, directory: RunDirectory) -> xr.Dataset:
        # units are in order of blocks, and of cells in a block
        blocks = groupby(self._units(directory.manifest["layout"]), key=lambda unit: unit.block)
        moments = merged(directory.read_all([unit.name for unit in block]) for _, block in blocks)
        return self.study.table(self.config, self.grid, moments).assign_attrs(replicates=self.replicates)

    def _named(self, layout: Mapping[str, int]) -> dict[str, Unit]:
        """The units by name, made once."""
        if self._units_of != layout:
            self._units_of, self._units_by_name = dict(layout), {unit.name: unit for unit in self._units(layout)}
        return self._units_by_name

    def _units(self, layout: Mapping[str, int]) -> list[Unit]:
        cells, blocks = -(-self.grid.num_cells // Layout(**layout).unit_cells), -(-self.replicates // BLOCK)
        if cells * blocks > MOST_UNITS:
            raise RunError(f"a run may have at most {MOST_UNITS:,} units, each of which is a file, got {cells:,} of "
                           f"cells by {blocks:,} of replicates; cut it into several runs")  # fmt: skip
        return plan(self.grid, self.replicates, Layout(**layout))


class PieceWork(Work):
    """The pieces of a `PiecewiseStudy`, one after another."""

    def __init__(self, study: PiecewiseStudy, config: Any):
        self.study: PiecewiseStudy = study
        self.config = config
        self.seed = whole("seed", config.seed, 0)
        self.pieces = study.pieces(config)
        self.spec = {"study": study.name, **json.loads(json.dumps(asdict(config), default=plain))}

    def layout(self, platform: str) -> dict[str, int]:
        return {}

    def names(self, layout: Mapping[str, int]) -> list[str]:
        return list(self.pieces)

    def compute(self, names: Sequence[str], layout: Mapping[str, int], store: Store) -> Iterator[str]:
        for name in names:
            store(name, self.pieces[name]())
            yield name

    def prepare(self, layout: Mapping[str, int]) -> None:
        pass

    def part(self, name: str, layout: Mapping[str, int]) -> HostArrays:
        return self.pieces[name]()

    def size(self, number: int) -> str:
        return several(number, "piece")

    def table(self, directory: RunDirectory) -> xr.Dataset:
        return self.study.table(self.config, {name: directory.read(name) for name in self.pieces})


def work_of(study: Study, config: Any, layout: Layout | None = None) -> Work:
    """The work of a study under a configuration.

    Raises:
      RunError: for a wrong value in the configuration.
    """
    if isinstance(study, GridStudy):
        return GridWork(study, config, layout)
    if isinstance(study, PiecewiseStudy):
        return PieceWork(study, config)
    raise TypeError(f"study must be a GridStudy or a PiecewiseStudy, got {type(study).__name__}")
