"""Mixup against temperature scaling: maps over p/n and the number of held-out points, and slices along that number."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from mixjax.plots import (
    COLORS,
    COLUMN_WIDTH,
    MARKERS,
    Figure,
    cased_line,
    decades,
    heat_map,
    level_line,
    line_key,
    panels,
    points_with_bars,
)

from .captions import omitted, pairs_text, representatives, settings_text, theta_label
from .marks import LIMIT, MEASURED, difference_bar, legend

MOST_SETTINGS, MOST_THETAS, MOST_RATIOS = 2, 2, 4
EXACT: dict[str, Any] = {"color": "#56B4E9", "linestyle": "solid", "linewidth": 0.9}
DASHES = ("solid", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)))


def temperature_figures() -> tuple[Figure, ...]:
    return (
        Figure("ece_difference", partial(_map, part="difference"), partial(_map_caption, part="difference")),
        Figure("ece_against_held_out", _slices, _slices_caption),
        Figure(
            "pooled_difference",
            partial(_map, part="pooled_difference"),
            partial(_map_caption, part="pooled_difference"),
        ),
    )


# --- maps --------------------------------------------------------------------------------------------


def _map(table: xr.Dataset, part: str) -> Any:
    """Draw a row for each theta, and a column for each weight."""
    if min(table.sizes["ratio"], table.sizes["held_out_ratio"]) < 2:
        return None
    rows = [_laid_out(table.isel(n=0, theta_norm=position)) for position in _thetas(table)]
    columns = _weights(table)
    figure, axes = panels(len(rows) * len(columns), len(columns), height=1.85, width=2 * COLUMN_WIDTH)
    largest = max(float(np.abs(column.part(row, part)).max()) for row in rows for column in columns)
    mesh = None
    for ax, (row, column) in zip(axes, [(row, column) for row in rows for column in columns], strict=True):
        mesh = _draw_map(ax, row, column, part, largest)
    for ax, column in zip(axes, columns, strict=False):
        ax.set_title(column.label, pad=3)
    for ax in axes[-len(columns) :]:
        ax.set_xlabel("$p/n$")
    for ax, row in zip(axes[:: len(columns)], rows, strict=True):
        ax.set_ylabel(f"{theta_label(row['theta_norm'])}\nheld-out points / $n$")
    _finish_map(figure, axes, mesh, part, largest)
    return figure


def _draw_map(ax: Any, row: xr.Dataset, column: _Weight, part: str, largest: float) -> Any:
    x, y = row["realized_ratio"].values, row["held_out_ratio"].values
    order = ("held_out_ratio", "ratio")
    difference = column.part(row, part).transpose(*order)
    mesh = heat_map(ax, x, y, difference.values, center=0.0, limit=largest, linear=largest / 30)
    relative = difference / (difference + 2.0 * row["ece_temperature"].transpose(*order))  # over the sum: smooth enough
    level_line(ax, x, y, relative.values, 0.0, **MEASURED[0])
    for end, style in (("", EXACT), ("_limit", LIMIT)):
        boundary = column.critical(row, end) if part == "difference" else None
        if boundary is not None:
            cased_line(ax, x, np.where(boundary > 0, boundary, np.nan), casing="black", **style)
    decades(ax, x=True)
    return mesh


def _finish_map(figure: Any, axes: Any, mesh: Any, part: str, largest: float) -> None:
    """Draw the key of the lines above the panels, and the bar of the colours below."""
    keys = [line_key("simulation: equal", casing="white", **MEASURED[0])]
    if part == "difference":
        keys.append(line_key("equal, to leading order at this $n$", casing="black", **EXACT))
        keys.append(line_key("limit $n \\to \\infty$", casing="black", **LIMIT))
    legend(figure, keys, 3, handlelength=3.2)
    mixed = "mix" if part == "difference" else "mix, trained on all points"
    label = f"ECE({mixed}) $-$ ECE(temperature scaling)  (blue: Mixup better)"
    difference_bar(figure, mesh, axes, label, largest)


class _Weight:
    """A Mixup weight of the table: one of the settings, or one with a name."""

    def __init__(self, name: str, label: str, position: int | None = None):
        self.name, self.label, self.position = name, label, position

    def part(self, table: xr.Dataset, end: str, start: str = "") -> xr.DataArray:
        array = table[f"{start}{self.name}{'_' * bool(end)}{end}"]
        return array if self.position is None else array.isel(mixup=self.position)

    def critical(self, table: xr.Dataset, end: str) -> np.ndarray | None:
        if f"{self.name}_critical{end}" not in table:
            return None
        return self.part(table, f"critical{end}").values


def _weights(table: xr.Dataset) -> list[_Weight]:
    settings = [
        _Weight("mix", _pair_label(table.isel(mixup=position)), position)
        for position in representatives(table["t"].values, MOST_SETTINGS)
    ]
    return [*settings, _Weight("best", "best weight"), _Weight("estimated", "estimated weight")]


def _pair_label(setting: xr.Dataset) -> str:
    alpha, beta = float(setting["alpha"]), float(setting["beta"])
    return rf"$\alpha=\beta={alpha:g}$" if alpha == beta else rf"$\alpha={alpha:g}, \beta={beta:g}$"


def _thetas(table: xr.Dataset) -> list[int]:
    return representatives(table["theta_norm"].values, MOST_THETAS)


def _laid_out(panel: xr.Dataset) -> xr.Dataset:
    """Sort by realised p/n, each once, and by held-out points."""
    _, first = np.unique(panel["realized_ratio"].values, return_index=True)
    return panel.isel(ratio=first).sortby("held_out_ratio")


# --- slices ------------------------------------------------------------------------------------------


def _slices(table: xr.Dataset) -> Any:
    """Draw a row for each theta, and a column for each of some p/n."""
    ratios = representatives(table["ratio"].values, MOST_RATIOS)
    thetas = _thetas(table)
    figure, axes = panels(len(ratios) * len(thetas), len(ratios), height=1.9, width=2 * COLUMN_WIDTH)
    for ax, (theta, ratio) in zip(axes, [(theta, ratio) for theta in thetas for ratio in ratios], strict=True):
        panel = table.isel(n=0, theta_norm=theta, ratio=ratio).sortby("held_out_ratio")
        _draw_slice(ax, panel)
        ax.set_title(rf"$p/n = {float(panel['realized_ratio']):.2g}$, {theta_label(panel['theta_norm'])}", pad=3)
        ax.set_xscale("log")
        ax.set_yscale("log")
    for ax in axes[-len(ratios) :]:
        ax.set_xlabel("held-out points / $n$")
    figure.supylabel("ECE", fontsize="medium")
    legend(figure, axes[0], 4, handlelength=2.4)
    return figure


def _draw_slice(ax: Any, panel: xr.Dataset) -> None:
    x = panel["held_out_ratio"].values
    flat = [("ece", "no Mixup", None)] + [("ece_" + w.name, w.label, w) for w in _weights(panel)]
    for number, (name, label, weight) in enumerate(flat):
        values = panel[name] if weight is None else weight.part(panel, "", "ece_")
        color = "0.35" if weight is None else COLORS[number]
        ax.axhline(float(values.mean()), color=color, linestyle=DASHES[number], linewidth=1.0, label=label)
    points_with_bars(ax, x, panel["ece_temperature"].values, panel["ece_temperature_se"].values, color=COLORS[0],
                     marker=MARKERS[0], label="temperature scaling")  # fmt: skip
    last = panel["ece_mix_temperature"].isel(mixup=-1).values
    ax.plot(x, last, "s", markersize=5, markerfacecolor="none", markeredgecolor="black", markeredgewidth=0.6,
            label="Mixup, then temperature scaling")  # fmt: skip
    ax.plot(x, panel["ece_temperature_expansion"].values, color=COLORS[0], linewidth=0.8, label="leading order")


# --- captions ----------------------------------------------------------------------------------------


def _map_caption(table: xr.Dataset, part: str) -> str:
    first = table.isel(n=0)
    worst = max(float(first[f"{name}_{part}_se"].max()) for name in ("mix", "best", "estimated"))
    return (
        f"{_MAP_TEXTS[part]} Columns: fixed (alpha, beta); the weight that is best in the limit, for which p/n and "
        "theta have to be known; the weight estimated from the training set. Black: where the simulation changes sign. "
        f"The largest standard error of a cell is {worst:.2g}; the colour is linear up to 1/30 of the largest "
        f"difference and logarithmic beyond. {_drawn_text(table)}"
    )


_MAP_TEXTS = {
    "difference": "Mean over training sets of ECE(mix) - ECE after temperature scaling (of no Mixup) on held-out "
    "points: blue where Mixup, which uses none, calibrates better. Light blue: equality to leading order in the "
    "held-out points, with the exact expectation of ECE(mix) at this n; yellow, dashed: the limit as n grows, where "
    "Mixup with p/n < theta^2 and such a weight is worth that many held-out points (and none beyond: a Beta law does "
    "not shrink the score by more than one half).",
    "pooled_difference": "The same for Mixup that trains on the held-out points as well, so that both use as many "
    "labelled points: ECE of Mixup of n + held-out points - ECE after temperature scaling of n on the held-out points. "
    "(A strip of one sign that is narrower than the cells of the map is drawn in pieces.)",
}


def _slices_caption(table: xr.Dataset) -> str:
    ratios = representatives(table["ratio"].values, MOST_RATIOS)
    shown = table.isel(n=0, theta_norm=_thetas(table), ratio=ratios)
    change = float(np.abs(shown["combined_difference"]).max())
    end = float(shown["at_an_end"].max())
    return (
        "ECE against the number of held-out points over n. Points: temperature scaling, mean over training sets with "
        "bars of two standard errors; thin line: its leading order; squares: temperature scaling after Mixup (of the "
        "largest weight), which differs from temperature scaling alone by at most "
        f"{change:.1g} here. Horizontal: no Mixup, and Mixup, which use no held-out points. A temperature of 0 or "
        "infinity, the best for few points, counts with its limit of the ECE; it occurs in up to "
        f"{100 * end:.2g} % of the held-out sets of a cell. "
        f"{omitted('values of p/n', len(ratios), table.sizes['ratio'])}{_drawn_text(table)}"
    )


def _drawn_text(table: xr.Dataset) -> str:
    settings, thetas = representatives(table["t"].values, MOST_SETTINGS), _thetas(table)
    drawn = table.isel(mixup=settings, theta_norm=thetas, n=[0])
    left_out = omitted("Mixup settings", len(settings), table.sizes["mixup"])
    left_out += omitted("values of theta", len(thetas), table.sizes["theta_norm"])
    left_out += omitted("sample sizes", 1, table.sizes["n"])
    return left_out + settings_text(drawn, pairs_text(drawn))
