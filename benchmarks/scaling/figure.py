"""The measured curves in one picture, from the stored numbers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixjax.plots import COLORS, COLUMN_WIDTH, MARKERS, paper_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rows = Sequence[Mapping[str, Any]]


def draw(results: Mapping[str, Any], path: Path) -> None:
    """Draw time against cells, replicates and the number of t, and speed against threads, devices and workers."""
    from matplotlib.figure import Figure

    with paper_style():
        figure = Figure(figsize=(2 * COLUMN_WIDTH, 2.4), layout="constrained")
        size, weights, speed = figure.subplots(1, 3)
        _size(size, results["growth"]["rows"][1:])
        _weights(weights, results["weights"]["rows"])
        _speed(speed, results["parallel"]["rows"])
        temporary = path.with_name(f".tmp-{path.name}")
        figure.savefig(temporary, format="png")
    temporary.replace(path)


def _size(ax: Axes, rows: Rows) -> None:
    first = rows[0]["cells"] * rows[0]["replicates_of_each"], rows[0]["ms"] / 1e3
    kinds = {
        "more cells": [row for row in rows if row["replicates_of_each"] == rows[0]["replicates_of_each"]],
        "more replicates": [row for row in rows if row["cells"] == rows[0]["cells"]],
    }
    last = max(row["cells"] * row["replicates_of_each"] for row in rows)
    ax.plot((first[0], last), (first[1], first[1] * last / first[0]), "--", color="0.6", label="proportional")
    for (name, chosen), color, marker in zip(kinds.items(), COLORS, MARKERS, strict=False):
        numbers = [row["cells"] * row["replicates_of_each"] for row in chosen]
        ax.plot(numbers, [row["ms"] / 1e3 for row in chosen], marker, color=color, markersize=4, label=name)
    ax.set(xscale="log", yscale="log", xlabel="cells x replicates", ylabel="seconds")
    ax.legend()


def _weights(ax: Axes, rows: Rows) -> None:
    numbers, first = [row["number_of_t"] for row in rows], rows[0]["median_ns"]
    ax.plot(numbers, numbers, "--", color="0.6", label="anew for each t")
    shared = [row["median_ns"] / first for row in rows]
    ax.plot(numbers, shared, "o-", color=COLORS[0], markersize=4, label="on the same training sets")
    ax.set(xscale="log", yscale="log", xlabel="number of Mixup weights t", ylabel="time, of that with one")
    ax.set_ylim(top=4 * max(numbers))  # room for the legend
    ax.set_xticks(numbers, map(str, numbers))
    ax.minorticks_off()
    ax.legend(loc="upper left")


def _speed(ax: Axes, rows: Rows) -> None:
    most = max(row["number"] for row in rows)
    ax.plot((1, most), (1, most), "--", color="0.6", label="proportional")
    for of, color, marker in zip(dict.fromkeys(row["of"] for row in rows), COLORS, MARKERS, strict=False):
        chosen = [row for row in rows if row["of"] == of]
        fast = [row["times_as_fast_as_one"] for row in chosen]
        ax.plot([row["number"] for row in chosen], fast, f"{marker}-", color=color, markersize=4, label=of)
    ax.set(xlabel="number", ylabel="times as fast as one", ylim=(0, None))
    ax.set_xticks(sorted({row["number"] for row in rows}))
    ax.legend(loc="lower center")
