"""Figures 1, 2, 3, 4, 6, 8, 9: a metric against the width or the depth of the nets, with and without Mixup."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mixjax.plots import COLUMN_WIDTH, decades, panels

from ..experiments.experiment import Figure, Records
from ..runs.summary import Cell, cells_of
from .lines import METRIC_NAMES, draw_arms, legend, seeds_text
from .reliability import reliability_figure

__all__ = ["capacity_figures"]

_PAPER = {
    "ece": "Figures 1 and 4",
    "rms_ece": "Figures 8 and 9",
    "mce": "Figures 2 and 3",
    "relative_loss": "Figure 6",
    "accuracy": "not in the paper; to be read with each of the others",
    "signed_gap": "not in the paper; above 0 is overconfident",
}


def capacity_figures(axis: str) -> tuple[Figure, ...]:
    """Return a figure a metric, along "width" or "depth", with a panel for each value of the other."""
    figures = [Figure(name, partial(_draw, axis=axis, metric=name), partial(_caption, axis=axis, metric=name))
               for name in _PAPER]  # fmt: skip
    return (*figures, reliability_figure())


def _draw(records: Records, axis: str, metric: str) -> Any:
    cells = cells_of(records, "test")
    other = "depth" if axis == "width" else "width"
    fixed = sorted({cell.first[other] for cell in cells})
    figure, axes = panels(
        len(fixed), 1 if len(fixed) < 4 else 2, height=2.2, width=COLUMN_WIDTH * (1 + (len(fixed) > 3))
    )
    bases = {(cell.net): cell for cell in reversed(cells)}
    for ax, value in zip(axes, fixed, strict=True):
        own = [cell for cell in cells if cell.first[other] == value]
        draw_arms(ax, own, lambda cell: cell.first[axis], partial(_values, metric=metric, bases=bases))
        ax.set_xscale("log")
        ax.set_title(f"{other} {value}", pad=3)
        if metric in ("signed_gap", "relative_loss"):
            ax.axhline(1.0 if metric == "relative_loss" else 0.0, color="0.4", linewidth=0.6, zorder=0)
        decades(ax, x=True)
    axes[-1].set_xlabel("units of a hidden layer" if axis == "width" else "hidden layers")
    figure.supylabel(METRIC_NAMES[metric], fontsize="medium")
    legend(figure, axes[0], cells)
    return figure


def _values(cell: Cell, metric: str, bases: dict[str, Cell]) -> np.ndarray:
    if metric != "relative_loss":
        return cell.metrics[metric]
    return cell.metrics["nll"] / bases[cell.net].metrics["nll"]  # seed by seed


def _caption(records: Records, axis: str, metric: str) -> str:
    cells = cells_of(records, "test")
    name = METRIC_NAMES[metric].replace("$_2$", "_2").replace("\n$-$", " -")
    accuracy = [cell.metrics["accuracy"].mean() for cell in cells]
    return (
        f"{name[0].upper()}{name[1:]} against {axis}, with and without Mixup (paper: {_PAPER[metric]}). "
        f"{seeds_text(cells)} Accuracies: {min(accuracy):.3f} to {max(accuracy):.3f}."
    )
