"""The work of a study: what identifies it, what is still missing of it, and the table that is made of all of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from itertools import groupby
from typing import Any

import numpy as np
import xarray as xr

from mixjax.runs import RunDirectory
from sims.engine import BLOCK, HostArrays, Layout, Unit, compute, layout_for, plan
from sims.grid import whole
from sims.moments import merged
from sims.study import GridStudy, PiecewiseStudy, Study

Progress = Callable[[int, int], None]


class GridWork:
    """Cells and blocks of replicates, through the engine.

    `spec` is what the numbers are; `layout` says how the work is cut, which a run keeps that was begun with it.
    """

    def __init__(self, study: GridStudy, config: Any, layout: Layout | None):
        self.study, self.config, self.wanted = study, config, layout
        self.grid = study.grid(config)
        self.replicates, self.seed = whole("replicates", config.replicates, 1), whole("seed", config.seed, 0)
        numbers = {"replicates": self.replicates, "seed": self.seed, "block": BLOCK}
        self.spec: dict[str, Any] = {"study": study.name, **numbers, **self.grid.spec()}

    def layout(self, platform: str) -> dict[str, int]:
        return asdict(self.wanted or layout_for(platform))

    def compute_missing(self, directory: RunDirectory, progress: Progress | None) -> tuple[int, int]:
        """Compute and store what is not yet stored; returns how many units that were, and of how many."""
        units = self._units(directory)
        missing = [unit for unit in units if not directory.has(unit.name)]
        report = _Counted(progress, len(units) - len(missing), len(units))

        def store(unit: Unit, arrays: HostArrays) -> None:
            directory.write(unit.name, arrays)

        layout = Layout(**directory.manifest["layout"])
        options: dict[str, Any] = {"study": self.study.name, "seed": self.seed, "layout": layout}
        for _ in compute(self.study.experiment_of(self.grid), self.grid, missing, store, **options):
            report.advance()
        return len(missing), len(units)

    def table(self, directory: RunDirectory) -> xr.Dataset:
        """The table, of everything that is stored."""
        # units are in order of blocks, and of cells in a block
        blocks = groupby(self._units(directory), key=lambda unit: unit.block)
        moments = merged([directory.read(unit.name) for unit in block] for _, block in blocks)
        return self.study.table(self.config, self.grid, moments).assign_attrs(replicates=self.replicates)

    def _units(self, directory: RunDirectory) -> list[Unit]:
        return plan(self.grid, self.replicates, Layout(**directory.manifest["layout"]))


class PieceWork:
    """The pieces of a `PiecewiseStudy`, one after another. Its attributes and methods are those of `GridWork`."""

    def __init__(self, study: PiecewiseStudy, config: Any):
        self.study, self.config = study, config
        self.seed = whole("seed", config.seed, 0)
        self.pieces = study.pieces(config)
        self.spec: dict[str, Any] = {"study": study.name, **json.loads(json.dumps(asdict(config), default=plain))}

    def layout(self, platform: str) -> dict[str, int]:
        return {}

    def compute_missing(self, directory: RunDirectory, progress: Progress | None) -> tuple[int, int]:
        missing = [name for name in self.pieces if not directory.has(name)]
        report = _Counted(progress, len(self.pieces) - len(missing), len(self.pieces))
        for name in missing:
            directory.write(name, self.pieces[name]())
            report.advance()
        return len(missing), len(self.pieces)

    def table(self, directory: RunDirectory) -> xr.Dataset:
        return self.study.table(self.config, {name: directory.read(name) for name in self.pieces})


class _Counted:
    """Progress that is told of each finished unit."""

    def __init__(self, progress: Progress | None, finished: int, total: int):
        self.progress, self.finished, self.total = progress, finished, total
        self._tell()

    def advance(self) -> None:
        self.finished += 1
        self._tell()

    def _tell(self) -> None:
        if self.progress:
            self.progress(self.finished, self.total)


def work_of(study: Study, config: Any, layout: Layout | None = None) -> GridWork | PieceWork:
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
