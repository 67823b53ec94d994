"""How the work of a study is divided: a grid into units of cells and replicates, anything else into its pieces."""

from __future__ import annotations

import itertools
import json
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

import xarray as xr

from mixjax.runs import RunDirectory, RunError, Tell
from mixjax.runs.untrusted import printable

from ..grid import whole
from ..study import GridStudy, PiecewiseStudy, Study
from .compute import compute, tiles_on_devices
from .devices import default_threads
from .forecast import amount, several
from .moments import merged
from .program import BLOCK, HostArrays
from .tiles import Tiles
from .units import Layout, Unit, layout_for, plan
from .work import Store, Work, plain

MOST_UNITS = 2**20


class GridWork(Work):
    """Cells and blocks of replicates, through the engine; a part is a `Unit`."""

    def __init__(self, study: GridStudy, config: Any, layout: Layout | None):
        self.study: GridStudy = study
        self.config, self.wanted = config, layout
        self.grid = study.grid(config)
        self.experiment = study.experiment_of(self.grid)
        self.replicates, self.seed = whole("replicates", config.replicates, 1), whole("seed", config.seed, 0)
        self._turn = itertools.count()
        self._divided: dict[str, int] | None = None
        self._units_by_name: dict[str, Unit] = {}
        self._tiles: list[Tiles] = []
        numbers = {"replicates": self.replicates, "seed": self.seed, "block": BLOCK}
        self.spec = {"study": study.name, **numbers, **self.grid.spec()}

    def layout(self, platform: str) -> dict[str, int]:
        return asdict(self.wanted or layout_for(platform))

    def names(self, layout: Mapping[str, int]) -> list[str]:
        return [unit.name for unit in self._units(layout)]

    def compute(
        self, names: Sequence[str], layout: Mapping[str, int], store: Store, warn: Tell = print
    ) -> Iterator[str]:
        self._divide(layout)
        units = [self._units_by_name[name] for name in names]

        def store_unit(unit: Unit, arrays: HostArrays) -> None:
            store(unit.name, arrays)

        return (unit.name for unit in compute(self._tiles, units, store_unit, warn=warn))

    def prepare(self, layout: Mapping[str, int], warn: Tell = print) -> None:
        self._divide(layout)
        for tiles in self._tiles:
            tiles.prepare(warn)

    def part(self, name: str, layout: Mapping[str, int], warn: Tell = print) -> HostArrays:
        self._divide(layout)
        return self._tiles[next(self._turn) % len(self._tiles)].moments(self._units_by_name[name], warn)

    def size(self, number: int) -> str:
        settings = len(next(iter(self.grid.settings.values()), (0.0,)))
        total = amount(self.grid.num_cells * settings * self.replicates)
        factors = [several(self.grid.num_cells, "cell"), several(settings, "setting")]
        return f"{' x '.join(factors)} x {self.replicates:,} replicates = {total}, in {several(number, 'unit')}"

    def seconds(self, layout: Mapping[str, int], number: int, warn: Tell = print) -> float | None:
        self._divide(layout)
        unit, threads = next(iter(self._units_by_name.values())), min(default_threads(), number)
        tile = unit._replace(stop=min(unit.stop, unit.start + layout["tile_cells"]))
        times = []
        for _ in range(3):  # the first compiles
            started = time.perf_counter()
            deque(compute(self._tiles, [tile] * threads, lambda *_: None, threads=threads, warn=warn), maxlen=0)
            times.append(time.perf_counter() - started)
        return min(times) * -(-(unit.stop - unit.start) // layout["tile_cells"]) * number / threads

    def table(self, directory: RunDirectory) -> xr.Dataset:
        # units are in order of blocks, and of cells in a block
        blocks = groupby(self._units(directory.manifest["layout"]), key=lambda unit: unit.block)
        moments = merged(directory.read_all([unit.name for unit in block]) for _, block in blocks)
        return self.study.table(self.config, self.grid, moments).assign_attrs(replicates=self.replicates)

    def _divide(self, layout: Mapping[str, int]) -> None:
        """The units by name, and where they are computed, made once."""
        if self._divided != layout:
            options: dict[str, Any] = {"study": self.study.name, "seed": self.seed, "layout": _cut(layout)}
            self._tiles = tiles_on_devices(self.experiment, self.grid, **options)
            self._units_by_name = {unit.name: unit for unit in self._units(layout)}
            self._divided = dict(layout)

    def _units(self, layout: Mapping[str, int]) -> list[Unit]:
        cells, blocks = -(-self.grid.num_cells // _cut(layout).unit_cells), -(-self.replicates // BLOCK)
        if cells * blocks > MOST_UNITS:
            raise RunError(f"a run may have at most {MOST_UNITS:,} units, each of which is a file, got {cells:,} of "
                           f"cells by {blocks:,} of replicates; cut it into several runs")  # fmt: skip
        return plan(self.grid, self.replicates, _cut(layout))


def _cut(layout: Mapping[str, int]) -> Layout:
    """The layout that a manifest states, which anybody may have written."""
    try:
        return Layout(**layout)
    except (TypeError, ValueError) as error:
        raise RunError(f"the manifest's layout is none that this release has: {printable(error)}") from None


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

    def compute(
        self, names: Sequence[str], layout: Mapping[str, int], store: Store, warn: Tell = print
    ) -> Iterator[str]:
        for name in names:
            store(name, self.pieces[name]())
            yield name

    def prepare(self, layout: Mapping[str, int], warn: Tell = print) -> None:
        pass

    def part(self, name: str, layout: Mapping[str, int], warn: Tell = print) -> HostArrays:
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
