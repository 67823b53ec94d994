"""Calibration on shifted test images, with and without Mixup."""

from __future__ import annotations

from typing import Any

from mixjax.plots import COLUMN_WIDTH

from ..data.shifts import SHIFTS
from ..experiments.experiment import Figure, Records
from ..runs.summary import Cell, cells_of
from .lines import METRIC_NAMES, draw_arms, legend, seeds_text

__all__ = ["shift_figure"]

_METRICS = ("ece", "signed_gap", "accuracy")


def shift_figure() -> Figure:
    """Return the figure: a row a metric, a column a shift."""
    return Figure("shift", _draw, _caption)


def _draw(records: Records) -> Any:
    from matplotlib.figure import Figure as Picture

    cells = _cells(records)
    picture = Picture(figsize=(2 * COLUMN_WIDTH, 4.4), layout="constrained")
    axes = picture.subplots(len(_METRICS), len(SHIFTS), sharex="col", sharey="row")
    for row, metric in zip(axes, _METRICS, strict=True):
        row[0].set_ylabel(METRIC_NAMES[metric])
        for ax, shift in zip(row, SHIFTS, strict=True):
            own = [cell for cell in cells if cell.evaluation == shift]
            draw_arms(ax, own, lambda cell: cell.severity, lambda cell: cell.metrics[metric])  # noqa: B023
            if metric == "signed_gap":
                ax.axhline(0, color="0.4", linewidth=0.6, zorder=0)
    for ax, name in zip(axes[-1], SHIFTS, strict=True):
        ax.set_xlabel(SHIFTS[name].axis)
    legend(picture, axes[0][0], cells)
    return picture


def _cells(records: Records) -> list[Cell]:
    cells = cells_of(records, *SHIFTS)
    return [cell for cell in cells if cell.net == cells[-1].net]


def _caption(records: Records) -> str:
    cells = _cells(records)
    return (
        f"Final nets ({cells[0].net}) on test images that are turned, noisy or pale: ECE, confidence - accuracy, "
        f"accuracy. {seeds_text(cells)}"
    )
