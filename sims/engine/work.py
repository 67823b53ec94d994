"""The work of a study: what identifies it, its parts, how each is computed, and the table that is made of all.

A grid is cut into units of cells and replicates; any other study consists of the pieces that it names.
"""

from __future__ import annotations

import itertools
import json
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

import numpy as np
import xarray as xr

from mixjax.runs import RunDirectory, RunError, Tell
from mixjax.runs.untrusted import printable

from ..grid import whole
from ..study import GridStudy, PiecewiseStudy, Study
from .compute import compute, tiles_on_devices
from .devices import default_threads
from .forecast import amount, several
from .keys import check_distinct_words
from .moments import merged
from .program import BLOCK, HostArrays
from .tiles import Tiles
from .units import Layout, Unit, layout_for, plan

Store = Callable[[str, HostArrays], None]
MOST_UNITS = 2**20


class Work(ABC):
    """Named parts, each of which is stored when it is finished, and the table made of all.

    Attributes:
      spec: JSON values that determine every number.
    """

    study: Study
    config: Any
    seed: int
    spec: dict[str, Any]

    @property
    def stored_config(self) -> dict[str, Any]:
        """The configuration as JSON."""
        config: dict[str, Any] = json.loads(
            json.dumps(asdict(self.config), default=lambda axis: np.asarray(axis).tolist())
        )
        return config

    def layout(self, platform: str) -> dict[str, int]:
        """Return how work that begins on a platform is cut; a run keeps it."""
        return {}

    @abstractmethod
    def names(self, layout: Mapping[str, int]) -> list[str]:
        """Return the names of all parts, in the order in which they are computed."""

    def prepare(self, layout: Mapping[str, int], warn: Tell = print) -> None:  # noqa: B027 - nothing by default
        """Compile what `part` needs, so that threads which call it do not compile it several times."""

    @abstractmethod
    def part(self, name: str, layout: Mapping[str, int], warn: Tell = print) -> HostArrays:
        """Compute one part, of the same bits as from `compute`."""

    def compute(
        self, names: Sequence[str], layout: Mapping[str, int], store: Store, warn: Tell = print
    ) -> Iterator[str]:
        """Compute parts in this process, hand each to `store`, and yield its name; `warn` reports a lack of memory."""
        for name in names:
            store(name, self.part(name, layout, warn))
            yield name

    @abstractmethod
    def table(self, directory: RunDirectory) -> xr.Dataset:
        """Make the table from all parts, which are stored in a directory."""

    @abstractmethod
    def size(self, number: int) -> str:
        """Describe the work and the number of its parts in words."""

    def seconds(self, layout: Mapping[str, int], number: int, warn: Tell = print) -> float | None:
        """Measure how long compiling and computing so many parts take here; None if that cannot be measured."""
        return None


class GridWork(Work):
    """Cells and blocks of replicates, through the engine; a part is a `Unit`."""

    def __init__(self, study: GridStudy, config: Any, layout: Layout | None = None):
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

    def prepare(self, layout: Mapping[str, int], warn: Tell = print) -> None:
        self._divide(layout)
        for tiles in self._tiles:
            tiles.prepare(warn)

    def part(self, name: str, layout: Mapping[str, int], warn: Tell = print) -> HostArrays:
        self._divide(layout)
        return self._tiles[next(self._turn) % len(self._tiles)].moments(self._units_by_name[name], warn)

    def compute(
        self, names: Sequence[str], layout: Mapping[str, int], store: Store, warn: Tell = print
    ) -> Iterator[str]:
        self._divide(layout)
        units = [self._units_by_name[name] for name in names]
        finished = compute(self._tiles, units, lambda unit, arrays: store(unit.name, arrays), warn=warn)
        return (unit.name for unit in finished)

    def size(self, number: int) -> str:
        settings = len(next(iter(self.grid.settings.values()), (0.0,)))
        total = amount(self.grid.num_cells * settings * self.replicates)
        counts = {"cell": self.grid.num_cells, "setting": settings, "replicate": self.replicates}
        factors = (several(count, thing) for thing, count in counts.items())
        return f"{' x '.join(factors)} = {total}, in {several(number, 'unit')}"

    def seconds(self, layout: Mapping[str, int], number: int, warn: Tell = print) -> float | None:
        self._divide(layout)
        unit, threads = next(iter(self._units_by_name.values())), min(default_threads(), number)
        tile = unit._replace(stop=min(unit.stop, unit.start + layout["tile_cells"]))
        times = []
        for _ in range(3):  # the first compiles
            started = time.perf_counter()
            deque(compute(self._tiles, [tile] * threads, lambda *_: None, threads=threads, warn=warn), maxlen=0)
            times.append(time.perf_counter() - started)
        compiling = times[0] - min(times)
        return compiling + min(times) * -(-(unit.stop - unit.start) // layout["tile_cells"]) * number / threads

    def table(self, directory: RunDirectory) -> xr.Dataset:
        # units are in order of blocks, and of cells in a block
        blocks = groupby(self._units(directory.manifest["layout"]), key=lambda unit: unit.block)
        moments = merged(directory.read_all([unit.name for unit in block]) for _, block in blocks)
        return self.study.table(self.config, self.grid, moments).assign_attrs(replicates=self.replicates)

    def _divide(self, layout: Mapping[str, int]) -> None:
        """Cut the grid into units and put them on the devices, once."""
        if self._divided != layout:
            options: dict[str, Any] = {"study": self.study.name, "seed": self.seed, "layout": _checked(layout)}
            self._tiles = tiles_on_devices(self.experiment, self.grid, **options)
            self._units_by_name = {unit.name: unit for unit in self._units(layout)}
            self._divided = dict(layout)

    def _units(self, layout: Mapping[str, int]) -> list[Unit]:
        cells, blocks = -(-self.grid.num_cells // _checked(layout).unit_cells), -(-self.replicates // BLOCK)
        if cells * blocks > MOST_UNITS:
            raise RunError(f"a run may have at most {MOST_UNITS:,} units, each of which is a file, got {cells:,} of "
                           f"cells by {blocks:,} of replicates; cut it into several runs")  # fmt: skip
        return plan(self.grid, self.replicates, _checked(layout))


def _checked(layout: Mapping[str, int]) -> Layout:
    """Check the layout of a manifest, which anybody may have written."""
    try:
        return Layout(**layout)
    except (TypeError, ValueError) as error:
        raise RunError(f"this release does not know the manifest's layout: {printable(error)}") from None


class PieceWork(Work):
    """The pieces of a `PiecewiseStudy`, one after another."""

    def __init__(self, study: PiecewiseStudy, config: Any):
        self.study: PiecewiseStudy = study
        self.config = config
        self.seed = whole("seed", config.seed, 0)
        self.pieces = study.pieces(config)
        check_distinct_words(study.streams(config) if study.streams else self.pieces)
        self.spec = {"study": study.name, **self.stored_config}

    def names(self, layout: Mapping[str, int]) -> list[str]:
        return list(self.pieces)

    def part(self, name: str, layout: Mapping[str, int], warn: Tell = print) -> HostArrays:
        return self.pieces[name]()

    def size(self, number: int) -> str:
        return several(number, "piece")

    def table(self, directory: RunDirectory) -> xr.Dataset:
        return self.study.table(self.config, {name: directory.read(name) for name in self.pieces})
