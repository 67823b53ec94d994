"""The work of a study: what identifies it, what is still missing of it, and the table that is made of all of it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

import numpy as np
import xarray as xr

from mixjax.runs import Inventory, RunDirectory, RunError, counted
from sims.engine import BLOCK, HostArrays, Layout, Unit, compute, default_threads, layout_for, plan, seconds_per_unit
from sims.forecast import amount, duration
from sims.grid import whole
from sims.moments import merged
from sims.study import GridStudy, PiecewiseStudy, Study

MOST_UNITS = 2**21

Progress = Callable[[int, int], None]
Tell = Callable[[str], None]
Store = Callable[[str, HostArrays], None]


class Work(ABC):
    """What a run computes: named parts, each of which is stored when it is finished, and the table made of all.

    Attributes:
      spec: what the numbers are, as JSON.
    """

    study: Study
    config: Any
    seed: int
    spec: dict[str, Any]

    @abstractmethod
    def layout(self, platform: str) -> dict[str, int]:
        """How the work is cut where it is begun; a run keeps it."""

    @abstractmethod
    def names(self, layout: Mapping[str, int]) -> list[str]:
        """Of all parts, in the order in which they are computed."""

    @abstractmethod
    def compute(self, names: Sequence[str], layout: Mapping[str, int], store: Store) -> Iterator[str]:
        """Compute the parts of these names in this process, hand each to `store`, and yield its name then."""

    @abstractmethod
    def table(self, directory: RunDirectory) -> xr.Dataset:
        """The table, of everything that is stored."""

    @abstractmethod
    def size(self, number: int) -> str:
        """What is to be computed, with the number of its parts, in words."""

    def seconds(self, layout: Mapping[str, int], number: int) -> float | None:
        """How long that many parts take here, from a quick measurement; None where there is none."""
        return None

    def compute_missing(
        self,
        directory: RunDirectory,
        progress: Progress | None,
        warn: Tell,
        part: tuple[int, int] = (1, 1),
        announce: Tell | None = None,
    ) -> tuple[int, int]:
        """Compute and store what is not yet stored; returns how many parts that were, and of how many.

        Args:
          directory: of the run.
          progress: called with (finished, all) parts.
          warn: told what is found damaged, missing or strange.
          part: (k, n) to leave all but every n-th of the parts, from the k-th, to others.
          announce: told what is to be computed and how long that takes, before it begins.
        """
        layout = directory.manifest["layout"]
        names = self.names(layout)
        found = directory.inventory(names)
        mine = names[part[0] - 1 :: part[1]]
        missing = [name for name in mine if name not in found.stored]
        for remark in [*found.remarks(), *_gaps(mine, found)]:
            warn(f"{directory.path}: {remark}")
        if announce is not None:
            self._announce(announce, layout, len(missing), len(mine))
        report = _Counted(progress, len(mine) - len(missing), len(mine))
        for _ in self.compute(missing, layout, directory.write):
            report.advance()
        return len(missing), len(mine)

    def _announce(self, announce: Tell, layout: Mapping[str, int], left: int, number: int) -> None:
        announce(f"{self.study.name}: {self.size(number)}{f', {left:,} of them left' * (left < number)}")
        seconds = self.seconds(layout, left) if left else None
        if seconds is not None:
            announce(f"about {duration(seconds)} with {default_threads()} threads here, at the rate of a first tile")


class GridWork(Work):
    """Cells and blocks of replicates, through the engine; a part is a `Unit`."""

    def __init__(self, study: GridStudy, config: Any, layout: Layout | None):
        self.study: GridStudy = study
        self.config, self.wanted = config, layout
        self.grid = study.grid(config)
        self.replicates, self.seed = whole("replicates", config.replicates, 1), whole("seed", config.seed, 0)
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

        done = compute(self.study.experiment_of(self.grid), self.grid, units, store_unit, **options)
        return (unit.name for unit in done)

    def size(self, number: int) -> str:
        settings = len(next(iter(self.grid.settings.values()), ()))
        total = self.grid.num_cells * max(settings, 1) * self.replicates
        return (f"{self.grid.num_cells:,} cells x {settings:,} settings x {self.replicates:,} replicates = "
                f"{amount(total)}, in {number:,} units")  # fmt: skip

    def seconds(self, layout: Mapping[str, int], number: int) -> float | None:
        options: dict[str, Any] = {"study": self.study.name, "seed": self.seed, "layout": Layout(**layout)}
        first = self._units(layout)[0]
        one = seconds_per_unit(self.study.experiment_of(self.grid), self.grid, first, **options)
        return one * number / min(default_threads(), number)

    def table(self, directory: RunDirectory) -> xr.Dataset:
        # units are in order of blocks, and of cells in a block
        blocks = groupby(self._units(directory.manifest["layout"]), key=lambda unit: unit.block)
        moments = merged([directory.read(unit.name) for unit in block] for _, block in blocks)
        return self.study.table(self.config, self.grid, moments).assign_attrs(replicates=self.replicates)

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

    def size(self, number: int) -> str:
        return f"{number:,} pieces"

    def table(self, directory: RunDirectory) -> xr.Dataset:
        return self.study.table(self.config, {name: directory.read(name) for name in self.pieces})


def _gaps(names: Sequence[str], found: Inventory) -> list[str]:
    """What to say of parts that are missing before the last that is stored."""
    last = max((index for index, name in enumerate(names) if name in found.stored), default=0)
    gone = [name for name in names[:last] if name not in found.stored and name not in found.damaged]
    return [f"{counted(gone, 'shard')} missing before the last that is stored: to be computed"] if gone else []


class _Counted:
    """Progress that is told of each finished part."""

    def __init__(self, progress: Progress | None, finished: int, total: int):
        self.progress, self.finished, self.total = progress, finished, total
        self._tell()

    def advance(self) -> None:
        self.finished += 1
        self._tell()

    def _tell(self) -> None:
        if self.progress:
            self.progress(self.finished, self.total)


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


def plain(value: Any) -> Any:
    """JSON for what an axis may be given as."""
    return np.asarray(value).tolist()
