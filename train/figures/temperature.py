"""Mixup, temperature scaling, both and neither, against the width of the nets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mixjax.plots import decades, panels

from ..experiments.experiment import Figure, Records
from ..runs.summary import Cell, cells_of
from .lines import ARM_NAMES, METRIC_NAMES, draw_arms, legend, seeds_text

__all__ = ["temperature_figure"]

_METRICS = ("ece", "nll", "signed_gap")


def temperature_figure() -> Figure:
    """Return the figure: a panel a metric."""
    return Figure("temperature", _draw, _caption)


def _draw(records: Records) -> Any:
    cells = _cells(records)
    figure, axes = panels(len(_METRICS), 1, height=1.55, share_y=False)
    for ax, metric in zip(axes, _METRICS, strict=True):
        draw_arms(ax, cells, lambda cell: cell.first["width"], lambda cell: cell.metrics[metric])  # noqa: B023
        ax.set_xscale("log")
        ax.set_ylabel(METRIC_NAMES[metric])
        decades(ax, x=True)
    axes[2].axhline(0, color="0.4", linewidth=0.6, zorder=0)
    axes[-1].set_xlabel("units of a hidden layer")
    legend(figure, axes[0], cells)
    return figure


def _cells(records: Records) -> list[Cell]:
    """Return the cells of the last depth, those with a temperature as arms of their own."""
    cells = cells_of(records, "test", "temperature")
    return [
        replace(cell, arm=ARM_NAMES[cell.arm] + (" + temperature" if cell.evaluation == "temperature" else ""))
        for cell in cells
        if cell.first["depth"] == cells[-1].first["depth"]
    ]


def _caption(records: Records) -> str:
    cells = _cells(records)
    held_out = next(row["held_out"] for row in records if row["evaluation"] == "temperature")
    unfitted = sum(not row["fitted"] for row in records if row["evaluation"] == "temperature")
    without = (
        f" {unfitted} nets are right on all held-out rows, have no best temperature and keep 1." if unfitted else ""
    )
    return (
        f"ECE, NLL and confidence - accuracy of nets of depth {cells[0].first['depth']}, with and without Mixup, as "
        f"they are and with a temperature fitted to {held_out} held-out rows. {seeds_text(cells)}{without}"
    )
