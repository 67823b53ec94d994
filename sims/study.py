"""Studies: a configuration, how it becomes numbers, a table, figures and a report.

A `GridStudy` is the same experiment in every cell of a grid, and the engine computes it. A `PiecewiseStudy` consists of
separate pieces of work, where there is no grid: sizes that are shapes, nets to be trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import xarray as xr

from mixjax.plots import Figure

from .engine.moments import Moments
from .engine.program import Experiment, HostArrays
from .grid import Grid

Piece = Callable[[], HostArrays]


@dataclass(frozen=True, kw_only=True)
class Study:
    """A named experiment.

    Attributes:
      name: on the command line.
      summary: one line.
      config: a frozen dataclass of axes and options, `seed` among them; its defaults are the default preset.
      presets: for each name, the fields that differ from the defaults.
      figures: made from the table alone, the main one first.
    """

    name: str
    summary: str
    config: type[Any]
    presets: Mapping[str, Mapping[str, Any]]
    figures: tuple[Figure[xr.Dataset], ...]


@dataclass(frozen=True, kw_only=True)
class GridStudy(Study):
    """One experiment in every cell of a grid, `config.replicates` times.

    Attributes:
      grid: config -> cells and settings.
      experiment: what is computed in a cell, or a function that returns it for a grid with options.
      table: (config, grid, moments) -> Dataset.
    """

    grid: Callable[[Any], Grid]
    experiment: Experiment | Callable[[Grid], Experiment]
    table: Callable[[Any, Grid, Mapping[str, Moments]], xr.Dataset]

    def experiment_of(self, grid: Grid) -> Experiment:
        """Return what is computed in a cell of this grid; equal for equal options."""
        return self.experiment if isinstance(self.experiment, Experiment) else self.experiment(grid)


@dataclass(frozen=True, kw_only=True)
class PiecewiseStudy(Study):
    """A study of separate pieces of work, each of which is stored when it is finished.

    Attributes:
      pieces: config -> for each name (also of its file), a function that computes the arrays of the piece. What it
        draws is keyed by what the piece is, so that neither order nor interruption matters.
      table: (config, arrays of each piece) -> Dataset.
      report: Dataset -> the findings in Markdown, for people.
      files: Dataset -> further text files of the run, by name.
      streams: config -> the names whose keys the draws of the pieces have, by default the names of the pieces.
    """

    pieces: Callable[[Any], Mapping[str, Piece]]
    table: Callable[[Any, Mapping[str, HostArrays]], xr.Dataset]
    report: Callable[[xr.Dataset], str]
    files: Callable[[xr.Dataset], Mapping[str, str]] = lambda table: {}
    streams: Callable[[Any], Iterable[str]] | None = None
