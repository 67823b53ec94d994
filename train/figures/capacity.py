"""A metric against the width or the depth of the nets, with and without Mixup: the paper's figures of capacity.

The title of a panel says at how many sizes Mixup changes the metric: the 95 % interval of the difference excludes 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.special import stdtrit

from mixjax.plots import Figure, decades, panels

from ..runs.stored import Row, Stored
from ..runs.summary import SeedSummary
from .lines import METRIC_NAMES, draw_arms, finding, legend, seeds_text, unless_all_diverged
from .paper import paper_figures
from .reliability import reliability_figure

__all__ = ["capacity_figures", "ratio_of_means"]

_CHANGES = {  # what Mixup changes, in the title
    "ece": "ECE",
    "rms_ece": "ECE$_2$",
    "mce": "MCE",
    "relative_loss": "test loss",
    "accuracy": "accuracy",
    "signed_gap": "confidence",
    "test_temperature": "temperature",
}
_BEYOND = {
    "accuracy": "to be read with each of the others",
    "signed_gap": "above 0 is overconfident",
}
_NONE = SeedSummary(np.nan, np.nan, np.nan, np.nan)
_LEVELS = {"relative_loss": 1.0, "signed_gap": 0.0, "test_temperature": 1.0}  # lines to compare with
_LEAST_ROWS = 1000  # of a test set; the worst bin of a smaller one may hold one row


def capacity_figures(axis: str) -> tuple[Figure[Stored], ...]:
    """Return a figure a metric, along "width" or "depth", with a panel for each value of the other.

    Below the signed gap is the temperature that the test set asks for, in runs that have it.
    """
    figures = [Figure(name, unless_all_diverged(partial(_draw, axis=axis, metric=name)),
                      partial(_caption, axis=axis, metric=name))
               for name in _CHANGES if name != "test_temperature"]  # fmt: skip
    return (*figures, reliability_figure())


def _draw(stored: Stored, axis: str, metric: str) -> Any:
    if metric == "mce" and stored.test_rows < _LEAST_ROWS:
        return None
    rows, other = stored.arms("test"), "depth" if axis == "width" else "width"
    fixed = sorted({row.sizes[other] for row in rows})
    several = len(fixed) > 1
    metrics = [metric, "test_temperature"] if metric == "signed_gap" and _has_temperature(rows) else [metric]
    shown = [(name, value) for name in metrics for value in fixed]
    figure, axes = panels(len(shown), 1, height=2.2 if len(metrics) == 1 else 1.7, share_y=len(metrics) == 1)
    for ax, (name, value) in zip(axes, shown, strict=True):
        own = [row for row in rows if row.sizes[other] == value]
        _draw_panel(ax, own, stored, axis, name)
        ax.set_title(f"{f'{other} {value}' if several else 'Mixup'}: {_finding(stored, own, axis, name)}", pad=3)
        if len(metrics) > 1:
            ax.set_ylabel(METRIC_NAMES[name])
    if len(metrics) == 1:
        figure.supylabel(METRIC_NAMES[metric], fontsize="medium")
    axes[-1].set_xlabel("units of a hidden layer" if axis == "width" else "hidden layers")
    figure.align_ylabels()
    legend(figure, axes[0], rows)
    return figure


def _draw_panel(ax: Any, rows: Sequence[Row], stored: Stored, axis: str, metric: str) -> None:
    """Draw both arms along the axis, and the level to compare them with."""
    draw_arms(ax, rows, lambda row: row.sizes[axis], metric, partial(_value, stored=stored, metric=metric))
    ax.set_xscale("log")
    if metric == "test_temperature":
        ax.set_yscale("log")
        decades(ax, y=True)
    if metric in _LEVELS:
        ax.axhline(_LEVELS[metric], color="0.4", linewidth=0.6, zorder=0)
    sizes = _apart(sorted({row.sizes[axis] for row in rows}))
    ax.set_xticks(sizes, list(map(str, sizes)))
    ax.set_xticks([], minor=True)


def _apart(sizes: Sequence[int], least: float = 1.3) -> list[int]:
    """Return the sizes whose labels do not touch: each `least` times the one before it."""
    kept: list[int] = []
    for size in sizes:
        if not kept or size >= least * kept[-1]:
            kept.append(size)
    return kept


def _has_temperature(rows: Sequence[Row]) -> bool:
    return any("test_temperature" in row.metrics for row in rows)


def _base(row: Row, stored: Stored) -> Row:
    """Return the first arm of the same net: the one without Mixup."""
    return next(each for each in stored.arms("test") if each.net == row.net)


def _value(row: Row, stored: Stored, metric: str) -> SeedSummary:
    if metric != "relative_loss":
        return row.metrics.get(metric, _NONE)
    base = _base(row, stored)
    if base is row:
        return SeedSummary(1.0, 1.0, 1.0, 0.0)
    change = stored.difference(row, base)["nll"]
    pairs = 1 if row.diverged or base.diverged else row.seeds  # without an interval where some are not paired
    return ratio_of_means(row.metrics["nll"], base.metrics["nll"], change, pairs)


def ratio_of_means(above: SeedSummary, below: SeedSummary, change: SeedSummary, seeds: int) -> SeedSummary:
    r"""Summarize the ratio of two means over the same seeds, from what a table holds.

    .. math:: r = \bar a / \bar b, \quad \mathrm{sd} = \frac1{\bar b}\sqrt{s_a^2 - 2 r c + r^2 s_b^2},
              \quad c = (s_a^2 + s_b^2 - s_{a-b}^2) / 2

    The interval is that of Student's t for the residuals a - r b (the delta method).

    Args:
      above, below: summaries of a and b; the mean of b is not 0.
      change: summary of a - b, seed by seed.
      seeds: how many; the ends are NaN for one.
    """
    ratio = above.mean / below.mean
    covariance = (above.sd**2 + below.sd**2 - change.sd**2) / 2
    variance = above.sd**2 - 2 * ratio * covariance + ratio**2 * below.sd**2
    sd = float(np.sqrt(np.maximum(variance, 0))) / abs(below.mean)
    reach = float(stdtrit(seeds - 1, 0.975)) * sd / seeds**0.5 if seeds > 1 else np.nan
    return SeedSummary(ratio, ratio - reach, ratio + reach, sd)


def _finding(stored: Stored, rows: Sequence[Row], axis: str, metric: str) -> str:
    """Say at how many sizes Mixup lowers a metric and raises it, beyond what seeds make of it."""
    name = "nll" if metric == "relative_loss" else metric
    pairs = [stored.difference(row, _base(row, stored)) for row in rows if _base(row, stored) is not row]
    changes = [pair[name] for pair in pairs if name in pair]
    found = {"lower": sum(each.high < 0 for each in changes), "higher": sum(each.low > 0 for each in changes)}
    said = ", ".join(f"{word} at {count}" for word, count in found.items() if count)
    sizes = f"{len(changes)} {axis}{'s' * (len(changes) > 1)}"
    title = f"{_CHANGES[metric]} {said} of {sizes}" if said else f"no clear change of {_CHANGES[metric]}, {sizes}"
    return finding(changes, title)


def _caption(stored: Stored, axis: str, metric: str) -> str:
    rows = stored.arms("test")
    name = METRIC_NAMES[metric].replace("$_2$", "_2").replace("\n$-$", " -")
    accuracy = [row.metrics["accuracy"].mean for row in rows if row.seeds]
    paper = f"not in the paper; {_BEYOND[metric]}" if metric in _BEYOND else f"paper: {paper_figures(axis, metric)}"
    note = " The loss is divided by the mean loss without Mixup." if metric == "relative_loss" else ""
    if metric == "signed_gap" and _has_temperature(rows):
        note = " Below: the temperature at which the NLL of the test set is smallest; above 1 is overconfident."
        missing = [row.net for row in rows if row.seeds and "test_temperature" not in row.metrics]
        note += f" Some seed has none in {', '.join(dict.fromkeys(missing))}." if missing else ""
    return (
        f"{name[0].upper()}{name[1:]} against {axis}, with and without Mixup ({paper}).{note} {seeds_text(rows)} "
        f"The title counts the {axis}s at which the 95 % interval of the difference, seed by seed, excludes 0. "
        f"Accuracies: {min(accuracy):.3f} to {max(accuracy):.3f}."
    )
