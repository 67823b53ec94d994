"""The Mixup family side by side: calibration and accuracy of each variant."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixjax.plots import COLORS, COLUMN_WIDTH

from ..experiments.experiment import Figure, Records
from ..runs.summary import Cell, cells_of, summarize
from .lines import ARM_NAMES, METRIC_NAMES

__all__ = ["variants_figure"]

_METRICS = ("ece", "signed_gap", "nll", "accuracy")


def variants_figure() -> Figure:
    """Return the figure: a panel a metric, a row a variant."""
    return Figure("variants", _draw, _caption)


def _draw(records: Records) -> Any:
    from matplotlib.figure import Figure as Picture

    cells = cells_of(records, "test")
    names = [f"{ARM_NAMES.get(cell.arm, cell.arm)}{_size(cell, cells)}" for cell in cells]
    figure = Picture(figsize=(2 * COLUMN_WIDTH, 0.7 + 0.2 * len(cells)), layout="constrained")
    axes = figure.subplots(1, len(_METRICS), sharey=True)
    for ax, metric in zip(axes, _METRICS, strict=True):
        for row, cell in enumerate(cells):
            values = cell.metrics[metric]
            found = summarize(values)
            ax.plot(values, np.full(len(values), row), ".", color="0.6", markersize=3, zorder=1)
            reach = 0.0 if np.isnan(found.low) else found.high - found.mean
            ax.errorbar(found.mean, row, xerr=reach, fmt="o", color=COLORS[0], markersize=3.2, elinewidth=0.9,
                        mfc="white" if cell.at_chance else COLORS[0])  # fmt: skip
        ax.set_ylim(len(cells) - 0.5, -0.5)
        ax.set_yticks(range(len(cells)), names)
        ax.set_xlabel(METRIC_NAMES[metric])
    axes[1].axvline(0, color="0.4", linewidth=0.6, zorder=0)
    return figure


def _size(cell: Cell, cells: list[Cell]) -> str:
    return f" ({cell.net})" if len({each.net for each in cells}) > 1 else ""


def _caption(records: Records) -> str:
    cells = cells_of(records, "test")
    return (
        "Final nets of each variant: seeds (grey), their mean and its 95 % interval (Student's t, "
        f"{len(cells[0].seeds)} seeds). A confidence - accuracy below 0 is underconfident."
    )
