"""What a study is: axes with presets, an experiment, a table, and figures made from the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import xarray as xr

from sims.engine import Experiment
from sims.grid import Grid
from sims.moments import Moments


def option(default: Any, description: str) -> Any:
    """A field of a study's configuration, with the line that --help shows."""
    return field(default=default, metadata={"help": description})


@dataclass(frozen=True)
class Figure:
    """A figure to draw: its file name, how, and the caption that goes with it."""

    name: str
    draw: Callable[[xr.Dataset], Any]
    caption: Callable[[xr.Dataset], str]


@dataclass(frozen=True)
class Study:
    """A named experiment on a grid.

    Attributes:
      name: on the command line.
      summary: one line.
      config: a frozen dataclass of axes and options; its defaults are the default preset.
      presets: for each name, the fields that differ from the defaults.
      grid: config -> cells and settings.
      experiment: what is computed in a cell.
      table: (config, grid, moments) -> Dataset.
      figures: made from the table alone.
    """

    name: str
    summary: str
    config: type[Any]
    presets: Mapping[str, Mapping[str, Any]]
    grid: Callable[[Any], Grid]
    experiment: Experiment
    table: Callable[[Any, Grid, Mapping[str, Moments]], xr.Dataset]
    figures: tuple[Figure, ...]
