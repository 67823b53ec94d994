"""Calibration on shifted test images, with and without Mixup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixjax.plots import COLUMN_WIDTH, Figure

from ..data.shifts import SHIFTS
from ..runs.stored import Row, Stored
from .lines import METRIC_NAMES, draw_arms, finding, legend, pairs, seeds_text, unless_all_diverged

__all__ = ["shift_figure"]

_METRICS = ("ece", "signed_gap", "accuracy")


def shift_figure() -> Figure[Stored]:
    """Return the figure: a row a metric, a column a shift."""
    return Figure("shift", unless_all_diverged(_draw), _caption)


def _draw(stored: Stored) -> Any:
    from matplotlib.figure import Figure as Picture

    rows = _rows(stored)
    picture = Picture(figsize=(COLUMN_WIDTH, 4.2), layout="constrained")
    axes = picture.subplots(len(_METRICS), len(SHIFTS), sharex="col", sharey="row")
    for line, metric in zip(axes, _METRICS, strict=True):
        line[0].set_ylabel(METRIC_NAMES[metric])
        for ax, shift in zip(line, SHIFTS, strict=True):
            draw_arms(ax, [row for row in rows if row.evaluation == shift], lambda row: row.severity, metric)
            if metric == "signed_gap":
                ax.axhline(0, color="0.4", linewidth=0.6, zorder=0)
    for name, top, bottom in zip(SHIFTS, axes[0], axes[-1], strict=True):
        top.set_title(_found(stored, name), pad=3, fontsize="medium")
        bottom.set_xlabel(SHIFTS[name].axis)
    picture.align_ylabels(axes[:, 0])
    legend(picture, axes[0][0], rows)
    return picture


def _found(stored: Stored, shift: str) -> str:
    """Say at which severities Mixup lowers the ECE beyond what seeds make of it, and at which a net is near chance."""
    rows = [row for row in _rows(stored) if row.evaluation == shift and row.severity > 0]
    chance = [one.severity for one, base in pairs(rows) if one.at_chance or base.at_chance]
    changes = {one.severity: stored.difference(one, base)["ece"] for one, base in pairs(rows)}
    changes = {severity: change for severity, change in changes.items() if severity not in chance}
    lower = [severity for severity, change in changes.items() if change.high < 0]
    said = f"ECE lower at\n{_listed(lower)}" if lower else "ECE lower\nnowhere"
    return finding([*changes.values()], f"{said}\n{_listed(chance)}: chance" if chance else said)


def _listed(severities: Sequence[float]) -> str:
    return ", ".join(f"{severity:g}" for severity in severities)


def _rows(stored: Stored) -> list[Row]:
    rows = stored.arms(*SHIFTS)
    return [row for row in rows if row.net == rows[-1].net]


def _caption(stored: Stored) -> str:
    rows = _rows(stored)
    return (
        f"Final nets ({rows[0].net}) on test images that are turned, noisy or pale: ECE, confidence - accuracy, "
        "accuracy. Noise: standard deviation, as a share of the largest pixel. The titles name the severities at which "
        "Mixup lowers the ECE (the 95 % interval of the difference, seed by seed, is below 0), and those at which a "
        f"net is near chance, which are left out. {seeds_text(rows)}"
    )
