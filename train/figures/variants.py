"""The Mixup family side by side: calibration and accuracy of each variant."""

from __future__ import annotations

from typing import Any

from mixjax.plots import COLORS, COLUMN_WIDTH, Figure

from ..runs.stored import Row, Stored
from .lines import ARM_NAMES, METRIC_NAMES, finding, interval, seeds_text, unless_all_diverged

__all__ = ["variants_figure"]

_METRICS = ("ece", "signed_gap", "nll", "accuracy")


def variants_figure() -> Figure[Stored]:
    """Return the figure: a panel a metric, a row a variant."""
    return Figure("variants", unless_all_diverged(_draw), _caption)


def _draw(stored: Stored) -> Any:
    from matplotlib.figure import Figure as Picture

    rows = stored.arms("test")
    names = [_name(row, rows) for row in rows]
    figure = Picture(figsize=(COLUMN_WIDTH, 1.0 + 0.42 * len(rows)), layout="constrained")
    axes = figure.subplots(2, 2, sharey=True).ravel()
    for ax, metric in zip(axes, _METRICS, strict=True):
        for place, row in enumerate(rows):
            found = row.metrics[metric]
            ax.plot(interval(found, metric), [place, place], color=COLORS[0], linewidth=0.9)
            ax.plot(found.mean, place, "o", color=COLORS[0], markersize=3.2, mfc="white" if row.marked else COLORS[0])
        ax.axvline(rows[0].metrics[metric].mean, color="0.6", linewidth=0.6, linestyle=(0, (4, 2)), zorder=0)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.set_yticks(range(len(rows)), names)
        ax.set_xlabel(METRIC_NAMES[metric])
    axes[1].axvline(0, color="0.4", linewidth=0.6, zorder=0)
    figure.suptitle(_finding(stored, rows), fontsize="medium")
    return figure


def _finding(stored: Stored, rows: list[Row]) -> str:
    """Say how many variants raise the ECE, and how many the accuracy, beyond what seeds make of it."""
    bases = {row.net: row for row in reversed(rows)}
    changes = [stored.difference(row, bases[row.net]) for row in rows if row is not bases[row.net]]
    worse, better = (sum(each[name].low > 0 for each in changes) for name in ("ece", "accuracy"))
    errors = [each["ece"] for each in changes]
    return finding(errors, f"Of {len(changes)} variants {worse} raise the ECE, {better} the accuracy")


def _name(row: Row, rows: list[Row]) -> str:
    """Return the name of a variant, in two lines if it is long, and of its net where there are several."""
    size = f" ({row.net})" if len({each.net for each in rows}) > 1 else ""
    return ARM_NAMES.get(row.arm, row.arm).replace("one lambda", "one\nlambda") + size


def _caption(stored: Stored) -> str:
    rows = stored.arms("test")
    return (
        f"Final nets of each variant. {seeds_text(rows, 'Points: mean of {} at their last epoch; bars')} Dashed: "
        "no Mixup. The title counts the variants whose difference from no Mixup, seed by seed, has a 95 % interval "
        "above 0. A confidence - accuracy below 0 is underconfident."
    )
