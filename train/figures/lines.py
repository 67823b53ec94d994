"""A metric of each arm along an axis: the mean over seeds, and its 95 % interval as a band.

Intervals are those of Student's t over seeds, cut to the range that the metric can have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from mixjax.plots import BAND, COLORS, COLUMN_WIDTH, MARKERS

from ..runs.stored import Row, Stored
from ..runs.summary import SeedSummary

__all__ = [
    "ARM_NAMES",
    "LINES",
    "METRIC_NAMES",
    "diverged_text",
    "draw_arms",
    "finding",
    "interval",
    "legend",
    "pairs",
    "seeds_range",
    "seeds_text",
    "unless_all_diverged",
]

METRIC_NAMES = {
    "accuracy": "accuracy",
    "ece": "ECE",
    "rms_ece": "ECE$_2$",
    "mce": "MCE",
    "signed_gap": "confidence\n$-$ accuracy",
    "nll": "NLL (nats)",
    "relative_loss": "relative test loss",
    "test_temperature": "best temperature",
}
_POSITIVE = dict.fromkeys(("nll", "relative_loss", "test_temperature"), (0.0, np.inf))
_RANGES = {"signed_gap": (-1.0, 1.0), **_POSITIVE}  # of the others [0, 1]
ARM_NAMES = {"erm": "no Mixup", "mixup": "Mixup"}
LINES = ("-", "--", ":", "-.", (0, (1, 1)), (0, (5, 1)))


def unless_all_diverged(draw: Callable[[Stored], Any]) -> Callable[[Stored], Any]:
    """Return the drawing, which is left out (None) where no net is left to draw."""
    return lambda stored: draw(stored) if any(row.seeds for row in stored.rows) else None


def interval(found: SeedSummary, metric: str) -> tuple[float, float]:
    """Return the ends of a 95 % interval, cut to the range of the metric; NaN for one seed."""
    low, high = np.clip([found.low, found.high], *_RANGES.get(metric, (0.0, 1.0)))
    return float(low), float(high)


def finding(changes: Sequence[SeedSummary], said: str) -> str:
    """Return the title that counts differences, unless none has an interval: they are of one seed, or of no pair."""
    if not changes or not np.isnan([each.low for each in changes]).all():
        return said
    return "no pair of nets is left" if np.isnan([each.mean for each in changes]).all() else "one seed"


def pairs(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Return (net with Mixup, net without) of each size or severity; the arm of the first row is the one without."""
    plain, mixed = ([row for row in rows if (row.arm == rows[0].arm) is first] for first in (True, False))
    return list(zip(mixed, plain, strict=True))


def draw_arms(
    ax: Any,
    rows: Sequence[Row],
    position: Callable[[Row], float],
    metric: str,
    value: Callable[[Row], SeedSummary] | None = None,
) -> None:
    """Draw a line for each arm, in their order, with hollow points where a net is near chance or has diverged."""
    value = value or (lambda row: row.metrics[metric])
    for order, arm in enumerate(dict.fromkeys(row.arm for row in rows)):
        own = sorted((row for row in rows if row.arm == arm), key=position)
        x, found = np.array([position(row) for row in own]), [value(row) for row in own]
        mean = np.array([each.mean for each in found])
        color, label = COLORS[order % len(COLORS)], ARM_NAMES.get(arm, arm)
        ends = np.array([interval(each, metric) for each in found]).T
        ax.fill_between(x, *ends, color=color, alpha=BAND, linewidth=0)
        ax.plot(x, mean, color=color, linestyle=LINES[order % len(LINES)], linewidth=1, label=label)
        marked = np.array([row.marked for row in own])
        for hollow in (False, True):
            ax.plot(x[marked == hollow], mean[marked == hollow], linestyle="", marker=MARKERS[order % len(MARKERS)],
                    markersize=3.2, color=color, markerfacecolor="white" if hollow else color)  # fmt: skip


def legend(figure: Any, ax: Any, rows: Sequence[Row]) -> None:
    """Add a legend of the arms above the panels, and of hollow points if there are any."""
    from matplotlib.lines import Line2D

    handles, _ = ax.get_legend_handles_labels()
    keys = [
        Line2D([], [], color=handle.get_color(), linestyle=handle.get_linestyle(), marker=marker, markersize=3.2,
               linewidth=1, label=handle.get_label())
        for handle, marker in zip(handles, cycle(MARKERS), strict=False)
    ]  # fmt: skip
    reasons = {"near chance": any(row.at_chance for row in rows), "diverged": any(row.diverged for row in rows)}
    if text := ", or ".join(reason for reason, there in reasons.items() if there):
        keys.append(Line2D([], [], color="0.3", linestyle="", marker="o", markersize=3.2, mfc="white", label=text))
    columns = 2 if figure.get_size_inches()[0] <= COLUMN_WIDTH else 4
    figure.legend(handles=keys, loc="outside upper center", ncols=columns, frameon=False, handlelength=2.2)


def seeds_text(rows: Sequence[Row], marks: str = "Lines: mean of {} at their last epoch; bands") -> str:
    """Return the sentences of a caption on seeds, intervals, hollow points and nets that diverged."""
    counts = [row.seeds for row in rows]
    chance = " Hollow points: some seed is near chance." if any(row.at_chance for row in rows) else ""
    said = chance + diverged_text(rows)
    if max(counts) == 1:
        return f"One seed, at its last epoch.{said}"
    return (
        f"{marks.format(seeds_range(counts))}: 95 % interval (Student's t over seeds, cut to the possible range).{said}"
    )


def seeds_range(counts: Iterable[int]) -> str:
    """Return "1 seed", "5 seeds", or "3 to 5 seeds" of nets with different numbers; nets without any are left out."""
    found = {count for count in counts if count} or {0}
    least, most = min(found), max(found)
    return f"{most} seed{'s' * (most != 1)}" if least == most else f"{least} to {most} seeds"


def diverged_text(rows: Sequence[Row]) -> str:
    """Return the sentence on the nets that diverged and are left out; "" if there are none."""
    lost = {(row.net, ARM_NAMES.get(row.arm, row.arm)): row for row in rows if row.diverged}
    nets = [f"{row.diverged} of {row.diverged + row.seeds} of {net}, {arm}" for (net, arm), row in lost.items()]
    return f" Nets that diverged are left out (hollow points): {'; '.join(nets)}." if nets else ""
