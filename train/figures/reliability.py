"""Reliability diagrams of the arms, a panel for each net."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from mixjax.calibration import clopper_pearson
from mixjax.plots import COLORS, COLUMN_WIDTH, MARKERS, Figure, panels
from mixjax.plots.diagram import draw_diagonal

from ..loop.history import Records
from ..loop.metrics import NUM_BINS
from ..runs.stored import Stored
from .lines import ARM_NAMES, LINES, diverged_text, finding, seeds_range

__all__ = ["reliability_figure"]

_MOST_PANELS = 6
_LEAST_ROWS = 100 * NUM_BINS  # of all seeds; with fewer most bins are empty, or noise


def reliability_figure() -> Figure[Stored]:
    """Return the figure: test rows of all seeds together, at the last epoch; none without records or with few rows."""
    return Figure("reliability", _draw, _caption)


def _draw(stored: Stored) -> Any:
    rows = [record for record in stored.records if record["evaluation"] == "reliability"]
    if stored.test_rows * len({row["seed"] for row in rows}) < _LEAST_ROWS:
        return None
    nets = _shown(rows)
    columns = min(2, len(nets))
    figure, axes = panels(len(nets), columns, height=1.75 if columns > 1 else 2.8, width=COLUMN_WIDTH)
    for ax, net in zip(axes, nets, strict=True):
        own = [row for row in rows if row["net"] == net]
        for order, arm in enumerate(dict.fromkeys(row["arm"] for row in own)):
            confidence, accuracy, bars = _pooled([row for row in own if row["arm"] == arm])
            ax.errorbar(confidence, accuracy, bars, color=COLORS[order], linestyle=LINES[order], marker=MARKERS[order],
                        markersize=2.6, linewidth=0.9, elinewidth=0.7, label=ARM_NAMES.get(arm, arm),
                        clip_on=False)  # fmt: skip
        draw_diagonal(ax)
        ax.set_aspect("equal")
        ax.set_title(net, pad=3)
    figure.supxlabel("confidence", fontsize="medium")
    figure.supylabel("accuracy", fontsize="medium")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False, handlelength=2.2,
                  title=_finding(stored), title_fontsize="medium")  # fmt: skip
    return figure


def _finding(stored: Stored) -> str:
    """Say of each arm in how many nets confidence and accuracy differ beyond what seeds make of it."""
    rows = stored.arms("test")
    lines = []
    for arm in dict.fromkeys(row.arm for row in rows):
        gaps = [row.metrics["signed_gap"] for row in rows if row.arm == arm]
        counts = {"over": sum(gap.low > 0 for gap in gaps), "under": sum(gap.high < 0 for gap in gaps)}
        several = len(gaps) > 1
        words = [f"{word}confident" + f" in {count}" * several for word, count in counts.items() if count]
        said = ", ".join(words) + f" of {len(gaps)} nets" * several if words else "no clear gap"
        lines.append(f"{ARM_NAMES.get(arm, arm)}: {said}")
    return finding([row.metrics["signed_gap"] for row in rows], "\n".join(lines))


def _pooled(rows: Records) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean confidence, accuracy and its bars of each bin of ten or more rows, over all seeds."""
    count = np.sum([row["count"] for row in rows], axis=0)
    sums = [
        np.sum([np.multiply(row["count"], row[name]) for row in rows], axis=0)
        for name in ("confidence", "accuracy_in_bin")
    ]
    kept = count >= 10
    count, (confidence, right) = count[kept], (total[kept] for total in sums)
    low, high = clopper_pearson(np.round(right), count)
    accuracy = right / count
    return confidence / count, accuracy, np.maximum([accuracy - low, high - accuracy], 0)


def _shown(rows: Records) -> list[str]:
    nets = list(dict.fromkeys(row["net"] for row in rows))
    chosen = np.unique(np.linspace(0, len(nets) - 1, min(_MOST_PANELS, len(nets))).round().astype(int))
    return [nets[index] for index in chosen]


def _caption(stored: Stored) -> str:
    rows = [record for record in stored.records if record["evaluation"] == "reliability"]
    nets, shown = {row["net"] for row in rows}, _shown(rows)
    seeds = seeds_range(Counter((row["net"], row["arm"]) for row in rows).values())
    some = f" {len(shown)} of the {len(nets)} nets." if len(shown) < len(nets) else ""
    return (
        f"Accuracy against confidence of the final nets in 15 bins, the test rows of {seeds} "
        f"together; bins of fewer than ten rows are left out.{some} Below the diagonal a net is overconfident. Bars: "
        "95 % intervals (Clopper-Pearson, of rows taken as independent). The title counts the nets whose confidence - "
        "accuracy has a 95 % interval over seeds (Student's t) without 0."
        f"{diverged_text(stored.arms('test'))}"
    )
