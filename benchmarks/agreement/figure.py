"""The ECE of both libraries in one picture, from the stored numbers alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from mixjax.plots import COLORS, COLUMN_WIDTH, MARKERS, paper_style

_ARMS = {"erm": "without Mixup", "mixup": "with Mixup"}


def draw(results: Mapping[str, Any], path: Path) -> None:
    """Draw means over seeds with their 95 % intervals (Student's t), a line for each net and arm."""
    from matplotlib.figure import Figure

    rows = [row for row in results["comparisons"]["rows"] if row["metric"] == "ece" and row["arm"] in _ARMS]
    seeds = 1 + max(row["seed"] for row in results["nets"]["rows"])
    reach = stdtrit(seeds - 1, 0.975) / np.sqrt(seeds)
    with paper_style():
        figure = Figure(figsize=(COLUMN_WIDTH, 0.7 + 0.29 * len(rows)), layout="constrained")
        ax = figure.subplots()
        for library, color, marker, shift in zip(("mixjax", "PyTorch"), COLORS, MARKERS, (-0.16, 0.16), strict=False):
            means, sds = (np.array([row[f"{library}_{part}"] for row in rows]) for part in ("mean", "sd"))
            ax.errorbar(means, np.arange(len(rows)) + shift, xerr=reach * sds, fmt=marker, color=color, markersize=3.5,
                        linewidth=1, label=library)  # fmt: skip
        ax.set_yticks(range(len(rows)), [f"{row['task']}\n{_ARMS[row['arm']]}" for row in rows])
        ax.set(xlabel="ECE (mean, 95 % interval)")
        ax.set_xlim(left=0)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        for edge in range(2, len(rows), 2):
            ax.axhline(edge - 0.5, color="0.8", linewidth=0.6)
        figure.legend(loc="outside upper right", ncols=2, frameon=False)
        temporary = path.with_name(f".tmp-{path.name}")
        figure.savefig(temporary, format="png")
    temporary.replace(path)
