"""Calibration on shifted test images, with and without Mixup."""

from __future__ import annotations

from typing import Any

from mixjax.plots import COLUMN_WIDTH

from ..data.shifts import SHIFTS
from ..experiments.experiment import Figure
from ..runs.stored import Row, Stored
from .lines import METRIC_NAMES, draw_arms, finding, legend, seeds_text

__all__ = ["shift_figure"]

_METRICS = ("ece", "signed_gap", "accuracy")


def shift_figure() -> Figure[Stored]:
    """Return the figure: a row a metric, a column a shift."""
    return Figure("shift", _draw, _caption)


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
        top.set_title(_counted(stored, name), pad=3, fontsize="medium")
        bottom.set_xlabel(SHIFTS[name].axis)
    picture.align_ylabels(axes[:, 0])
    legend(picture, axes[0][0], rows)
    return picture


def _counted(stored: Stored, shift: str) -> str:
    """Say at how many severities Mixup lowers the ECE beyond what seeds make of it, of those with nets off chance."""
    rows = [row for row in _rows(stored) if row.evaluation == shift and row.severity > 0]
    plain, mixed = ([row for row in rows if (row.arm == rows[0].arm) is first] for first in (True, False))
    pairs = [(one, base) for one, base in zip(mixed, plain, strict=True) if not (one.at_chance or base.at_chance)]
    changes = [stored.difference(one, base)["ece"] for one, base in pairs]
    return finding(changes, f"ECE lower at\n{sum(each.high < 0 for each in changes)} of {len(changes)}")


def _rows(stored: Stored) -> list[Row]:
    rows = stored.arms(*SHIFTS)
    return [row for row in rows if row.net == rows[-1].net]


def _caption(stored: Stored) -> str:
    rows = _rows(stored)
    return (
        f"Final nets ({rows[0].net}) on test images that are turned, noisy or pale: ECE, confidence - accuracy, "
        "accuracy. Noise: standard deviation, as a share of the largest pixel. The titles count the severities at "
        "which Mixup lowers the ECE (the 95 % interval of the difference, seed by seed, is below 0), of those above 0 "
        f"at which no net is near chance. {seeds_text(rows)}"
    )
