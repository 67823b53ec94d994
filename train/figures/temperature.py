"""Mixup, temperature scaling, both and neither, against the width of the nets."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from mixjax.plots import Figure, decades, panels

from ..runs.stored import Row, Stored
from .lines import ARM_NAMES, METRIC_NAMES, draw_arms, finding, legend, pairs, seeds_text, unless_all_diverged

__all__ = ["temperature_figure"]

_METRICS = ("ece", "nll", "signed_gap")


def temperature_figure() -> Figure[Stored]:
    """Return the figure: a panel a metric."""
    return Figure("temperature", unless_all_diverged(_draw), _caption)


def _draw(stored: Stored) -> Any:
    rows = _rows(stored)
    figure, axes = panels(len(_METRICS), 1, height=1.55, share_y=False)
    for ax, metric in zip(axes, _METRICS, strict=True):
        draw_arms(ax, rows, lambda row: row.sizes["width"], metric)
        ax.set_xscale("log")
        ax.set_ylabel(METRIC_NAMES[metric])
        decades(ax, x=True)
    axes[2].axhline(0, color="0.4", linewidth=0.6, zorder=0)
    axes[0].set_title(_finding(stored), pad=3)
    axes[-1].set_xlabel("units of a hidden layer")
    figure.align_ylabels()
    legend(figure, axes[0], rows)
    return figure


def _finding(stored: Stored) -> str:
    """Say at how many widths Mixup changes the ECE after a temperature, beyond what seeds make of it."""
    changes = [stored.difference(one, base)["ece"] for one, base in pairs(_scaled(stored))]
    clear = sum(each.high < 0 or each.low > 0 for each in changes)
    return finding(changes, f"Scaled, Mixup changes the ECE at {clear} of {len(changes)} widths")


def _scaled(stored: Stored) -> list[Row]:
    """Return the rows of the nets that are drawn, with a temperature."""
    deepest = _rows(stored)[0].sizes["depth"]
    return [row for row in stored.arms("temperature") if row.sizes["depth"] == deepest]


def _rows(stored: Stored) -> list[Row]:
    """Return the rows of the last depth, those with a temperature as arms of their own."""
    rows = stored.arms("test", "temperature")
    return [
        replace(row, arm=ARM_NAMES[row.arm] + (" + temperature" if row.evaluation == "temperature" else ""))
        for row in rows
        if row.sizes["depth"] == rows[-1].sizes["depth"]
    ]


def _caption(stored: Stored) -> str:
    rows = _rows(stored)
    return (
        f"ECE, NLL and confidence - accuracy of nets of depth {rows[0].sizes['depth']}, with and without Mixup, as "
        f"they are and with a temperature fitted to a tenth of the training rows, held out. {seeds_text(rows)} "
        "The title counts the widths at which, both scaled by their temperatures, the 95 % interval of the difference, "
        "seed by seed, excludes 0. A net that is right on all held-out rows has no best temperature, and keeps 1"
        f"{_kept_text(stored)}."
    )


def _kept_text(stored: Stored) -> str:
    """Say how many nets of each arm keep 1; nothing for a table that does not say."""
    rows = [row for row in _scaled(stored) if row.seeds and "fitted" in row.metrics]
    nets, kept = Counter[str](), Counter[str]()
    for row in rows:
        nets[row.arm] += row.seeds
        kept[row.arm] += round(row.seeds * (1 - row.metrics["fitted"].mean))
    counts = (f"{kept[arm]} of {count} nets ({ARM_NAMES[arm]})" for arm, count in nets.items())
    return f": {', '.join(counts)}" if nets else ""
