"""Calibration over the epochs, and the insertion of pseudo-labels: the paper's figure of pseudo-labels."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from mixjax.plots import BAND, COLORS, Figure, band_key, decades, panels

from ..loop.history import Records
from ..runs.stored import Stored
from ..runs.summary import summarize
from .lines import LINES, METRIC_NAMES, diverged_text, interval, seeds_range
from .paper import paper_figures

__all__ = ["epoch_figures"]

_METRICS = ("ece", "accuracy", "signed_gap")


def epoch_figures() -> tuple[Figure[Stored], ...]:
    """Return the figure, with a panel a metric; without records there is none."""
    return (Figure("epochs", _draw, _caption),)


def _draw(stored: Stored) -> Any:
    rows = stored.of_finished("test")
    if not _midpoint(rows):
        return None  # no net that got pseudo-labels is left
    figure, axes = panels(len(_METRICS), 1, height=1.5, share_y=False)
    for ax, metric in zip(axes, _METRICS, strict=True):
        for order, arm in enumerate(_arms(rows)):
            _draw_arm(ax, [record for record in rows if record["arm"] == arm], metric, order, arm)
        ax.axvline(_midpoint(rows) + 0.5, color="0.4", linewidth=0.7, linestyle=(0, (4, 2)))
        ax.set_ylabel(METRIC_NAMES[metric])
    axes[0].set_yscale("log")  # the first epochs are far above all that comes after
    axes[0].set_ylim(bottom=0.5 * min(row["ece"] for row in rows))
    decades(axes[0], y=True)
    axes[2].axhline(0, color="0.4", linewidth=0.6, zorder=0)
    axes[0].annotate("pseudo-labels", (_midpoint(rows) + 0.5, 1), (3, -2), xycoords=("data", "axes fraction"),
                     textcoords="offset points", va="top", fontsize="small", color="0.3")  # fmt: skip
    axes[-1].set_xlabel("epoch")
    handles = axes[0].get_legend_handles_labels()[0]
    if len({row["seed"] for row in rows}) > 1:
        handles.append(band_key("95 % interval over seeds", "0.3"))
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False, handlelength=2.2,
                  title=_finding(rows), title_fontsize="medium")  # fmt: skip
    return figure


def _finding(rows: Records) -> str:
    """Say the mean ECE of each arm at the last epoch, in the order of the legend."""
    last = [row for row in rows if row["epoch"] == max(each["epoch"] for each in rows)]
    means = [np.mean([row["ece"] for row in last if row["arm"] == arm]) for arm in _arms(rows)]
    return "ECE in the end: " + ", ".join(f"{mean:.3f}" for mean in means)


def _arms(rows: Records) -> list[str]:
    return list(dict.fromkeys(record["arm"] for record in rows))


def _draw_arm(ax: Any, rows: Records, metric: str, order: int, arm: str) -> None:
    epochs = sorted({row["epoch"] for row in rows})
    found = [summarize(np.array([row[metric] for row in rows if row["epoch"] == epoch])) for epoch in epochs]
    ends = np.array([interval(each, metric) for each in found]).T
    ax.fill_between(epochs, *ends, color=COLORS[order], alpha=BAND, linewidth=0)
    ax.plot(epochs, [each.mean for each in found], color=COLORS[order], linestyle=LINES[order], linewidth=1, label=arm)


def _midpoint(rows: Records) -> int:
    """Return the last epoch before the pseudo-labels, the one whose record has their accuracy."""
    return max((row["epoch"] for row in rows if "pseudo_label_accuracy" in row), default=0)


def _caption(stored: Stored) -> str:
    rows = stored.of_finished("test")
    inserted = [row for row in rows if "pseudo_label_accuracy" in row]
    accuracy, error = (np.mean([row[f"pseudo_label_{name}"] for row in inserted]) for name in ("accuracy", "ece"))
    seeds = Counter(row["arm"] for row in rows if row["epoch"] == max(each["epoch"] for each in rows))
    several = max(seeds.values()) > 1
    bands = "; bands: 95 % interval (Student's t over seeds, cut to the possible range)" if several else ""
    return (
        f"ECE, accuracy and confidence - accuracy over the epochs (paper: {paper_figures('epochs')}). Half of the "
        "training rows have labels; at the dashed line the net's own labels of the other half are inserted (accuracy "
        f"{accuracy:.3f}, ECE {error:.3f}). Lines: mean of {seeds_range(seeds.values())}{bands}. The scale of "
        "the ECE is logarithmic. The title has the ECE of the lines at the last epoch, in the order of the legend."
        f"{diverged_text(stored.arms('test'))}"
    )
