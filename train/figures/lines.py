"""A metric of each arm along an axis: the mean over seeds, a band from the smallest seed to the largest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mixjax.plots import BAND, COLORS, COLUMN_WIDTH, MARKERS

from ..runs.summary import Cell, accuracy_floor

__all__ = ["ARM_NAMES", "METRIC_NAMES", "draw_arms", "legend", "seeds_text"]

METRIC_NAMES = {
    "accuracy": "accuracy",
    "ece": "ECE",
    "rms_ece": "ECE$_2$",
    "mce": "MCE",
    "signed_gap": "confidence\n$-$ accuracy",
    "nll": "NLL (nats)",
    "relative_loss": "test loss, relative to no Mixup",
}
ARM_NAMES = {"erm": "no Mixup", "mixup": "Mixup"}
LINES = ("-", "--", ":", "-.", (0, (1, 1)), (0, (5, 1)))


def draw_arms(
    ax: Any, cells: Sequence[Cell], position: Callable[[Cell], float], values: Callable[[Cell], np.ndarray]
) -> None:
    """Draw a line for each arm, in their order, with hollow points where a net is near chance."""
    for order, arm in enumerate(dict.fromkeys(cell.arm for cell in cells)):
        own = sorted((cell for cell in cells if cell.arm == arm), key=position)
        x, by_cell = np.array([position(cell) for cell in own]), [values(cell) for cell in own]
        mean = np.array([each.mean() for each in by_cell])
        color, label = COLORS[order % len(COLORS)], ARM_NAMES.get(arm, arm)
        ends = [[each.min() for each in by_cell], [each.max() for each in by_cell]]
        ax.fill_between(x, *ends, color=color, alpha=BAND, linewidth=0)
        ax.plot(x, mean, color=color, linestyle=LINES[order % len(LINES)], linewidth=1, label=label)
        chance = np.array([cell.at_chance for cell in own])
        for hollow in (False, True):
            ax.plot(x[chance == hollow], mean[chance == hollow], linestyle="", marker=MARKERS[order % len(MARKERS)],
                    markersize=3.2, color=color, markerfacecolor="white" if hollow else color)  # fmt: skip


def legend(figure: Any, ax: Any, cells: Sequence[Cell]) -> None:
    """Add a legend of the arms above the panels, and of hollow points if there are any."""
    from matplotlib.lines import Line2D

    handles, labels = ax.get_legend_handles_labels()
    styles = [(handle.get_color(), handle.get_linestyle(), marker) for handle, marker in zip(handles, MARKERS * 2)]  # noqa: B905
    keys = [
        Line2D([], [], color=color, linestyle=line, marker=marker, markersize=3.2, linewidth=1, label=label)
        for (color, line, marker), label in zip(styles, labels, strict=True)
    ]
    if any(cell.at_chance for cell in cells):
        text = f"accuracy below {_floor(cells):.2g}"
        keys.append(Line2D([], [], color="0.3", linestyle="", marker="o", markersize=3.2, mfc="white", label=text))
    columns = 2 if figure.get_size_inches()[0] <= COLUMN_WIDTH else 4
    figure.legend(handles=keys, loc="outside upper center", ncols=columns, frameon=False, handlelength=2.2)


def seeds_text(cells: Sequence[Cell]) -> str:
    """Return the sentence of a caption on seeds, bands and hollow points."""
    count = max(len(cell.seeds) for cell in cells)
    hollow = f" Hollow points: some seed's accuracy is below {_floor(cells):.2g}."
    chance = hollow if any(cell.at_chance for cell in cells) else ""
    if count == 1:
        return f"One seed, at its last epoch.{chance}"
    return f"Lines: mean of {count} seeds at their last epoch; bands: from the smallest seed to the largest.{chance}"


def _floor(cells: Sequence[Cell]) -> float:
    return accuracy_floor(cells[0].first["classes"])
