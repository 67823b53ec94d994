"""Mixup against temperature scaling: what Mixup is worth in held-out points, and what they buy as training points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from mixjax.plots import (
    COLORS,
    MARKERS,
    Figure,
    decades,
    heat_map,
    level_line,
    line_key,
    panels,
    points_with_bars,
)

from .captions import omitted, pair_label, pairs_text, representatives, settings_text, theta_label
from .marks import MEASURED, difference_bar, largest_size, legend, name_axes

MOST_THETAS, MOST_RATIOS = 2, 4
GREY = "0.35"
DASHED = (0, (4, 1.5))


def temperature_figures() -> tuple[Figure, ...]:
    return (
        Figure("worth", _worth, _worth_caption),
        Figure("ece_against_held_out", _slices, _slices_caption),
        Figure("pooled_difference", _pooled, _pooled_caption),
    )


class _Arm(NamedTuple):
    """No Mixup, the largest weight of the settings, or a weight with a name: its variables, color and marker."""

    name: str
    label: str
    color: str
    marker: str


def _arms(row: xr.Dataset) -> list[_Arm]:
    return [
        _Arm("plain", "no Mixup", GREY, MARKERS[3]),
        _Arm("mix", pair_label(row), COLORS[2], MARKERS[2]),
        _Arm("best", "best weight", COLORS[0], MARKERS[0]),
        _Arm("estimated", "estimated weight", COLORS[1], MARKERS[1]),
    ]


def _rows(table: xr.Dataset) -> list[xr.Dataset]:
    """Return a panel of the largest weight for each theta, in order of realized p/n, each once, and held-out points."""
    found = []
    for position in representatives(table["theta_norm"].values, MOST_THETAS):
        panel = table.isel(n=0, theta_norm=position, mixup=int(np.argmax(table["t"].values)))
        _, first = np.unique(panel["realized_ratio"].values, return_index=True)
        found.append(panel.isel(ratio=first).sortby("held_out_ratio"))
    return found


# --- worth -------------------------------------------------------------------------------------------


def _worth(table: xr.Dataset) -> Any:
    """Draw the held-out points that each weight is worth against p/n, a panel for each theta."""
    if table.sizes["held_out_ratio"] < 2:
        return None
    rows = _rows(table)
    figure, axes = panels(len(rows), 1, height=2.0, share_y=False)
    for ax, row in zip(axes, rows, strict=True):
        for arm in _arms(row):
            _draw_worth(ax, row, arm)
        ax.axvline(float(row["theta_norm"]) ** 2, color="0.6", linewidth=0.7, linestyle="dotted", zorder=0)
        ax.set(xscale="log", yscale="log", ylabel="held-out points / $n$", ylim=row["held_out_ratio"].values[[0, -1]])
        ax.set_title(_worth_title(row), pad=3)
        decades(ax, x=True)
    axes[-1].set_xlabel("$p/n$")
    keys, _ = axes[0].get_legend_handles_labels()
    legend(figure, [*keys, line_key("limit $n \\to \\infty$", color=GREY, linestyle=DASHED)], 3, handlelength=1.8)
    return figure


def _draw_worth(ax: Any, row: xr.Dataset, arm: _Arm) -> None:
    x = row["realized_ratio"].values
    value, low, high = (row[f"{arm.name}_worth{end}"].values for end in ("", "_from", "_to"))
    shown = (value > 0) & (value < row["held_out_ratio"].values[-1])  # the ends stand for what is beyond
    bars = np.array([value - low, high - value])[:, shown]
    ax.errorbar(x[shown], value[shown], bars, fmt=arm.marker, color=arm.color, markersize=2.0, elinewidth=0.8,
                linewidth=0, label=arm.label)  # fmt: skip
    if f"{arm.name}_critical_limit" in row:
        limit = row[f"{arm.name}_critical_limit"].values
        ax.plot(x, np.where(limit > 0, limit, np.nan), color=arm.color, linestyle=DASHED, linewidth=0.9)


def _worth_title(row: xr.Dataset) -> str:
    theta = float(row["theta_norm"])
    worth = row["best_worth"].values[row["realized_ratio"].values < theta**2]
    more = " or more" if (worth == row["held_out_ratio"].values[-1]).any() else ""
    range_text = rf": best weight worth {worth.min():.2g} to {worth.max():.2g} $n${more}" if len(worth) else ""
    return f"{theta_label(row['theta_norm'])}{range_text}"


def _worth_caption(table: xr.Dataset) -> str:
    return (
        "Held-out points / n at which temperature scaling (of no Mixup) has the ECE of Mixup, which uses none: with "
        "more of them temperature scaling is better calibrated. Both axes are logarithmic; points beyond "
        f"{float(table['held_out_ratio'].min()):g} n or {float(table['held_out_ratio'].max()):g} n held-out points are "
        "not drawn. Bars are 95 % intervals (many smaller than the point): the numbers of held-out points at which a "
        "paired difference of 0 is within 1.96 standard errors. Titles: p/n below |theta|^2. Dashed: the limit "
        "as n grows. Dotted: p/n = |theta|^2, beyond which no Beta law shrinks "
        "the score enough. The best weight is that of the limit, for which p/n and theta have to be known; the "
        f"estimated weight is estimated from the training set. {_drawn_text(table)}"
    )


# --- slices ------------------------------------------------------------------------------------------


def _slices(table: xr.Dataset) -> Any:
    """Draw a row for each theta, and a column for each of two p/n."""
    ratios, rows = _ratios(table), _rows(table)
    figure, axes = panels(len(ratios) * len(rows), len(ratios), height=1.55)
    for ax, (row, ratio) in zip(axes, [(row, ratio) for row in rows for ratio in ratios], strict=True):
        panel = row.sel(ratio=ratio)
        _draw_slice(ax, panel)
        ax.set_title(rf"$p/n = {float(panel['realized_ratio']):.2g}$, {theta_label(panel['theta_norm'])}", pad=3)
        ax.set(xscale="log", yscale="log")
    name_axes(axes, len(ratios), "held-out points / $n$", "ECE")
    figure.suptitle("A temperature gains from held-out points, not from Mixup", fontsize="medium")
    legend(figure, axes[0], 2, handlelength=2.4, where="lower")
    return figure


def _ratios(table: xr.Dataset) -> list[float]:
    """Return the two p/n that divide the range into thirds, or all if there are few; each realized once."""
    values = _rows(table)[0]["ratio"].values
    return [float(values[position]) for position in representatives(values, MOST_RATIOS)][-3:-1] or [float(values[0])]


def _draw_slice(ax: Any, panel: xr.Dataset) -> None:
    x = panel["held_out_ratio"].values
    for dash, arm in zip(("solid", DASHED, (0, (5, 1, 1, 1)), (0, (1, 1))), _arms(panel), strict=True):
        values = panel["ece" if arm.name == "plain" else f"ece_{arm.name}"].values
        ax.axhline(values.mean(), color=arm.color, linestyle=dash, linewidth=1.0, label=arm.label)
    points_with_bars(ax, x, panel["ece_temperature"].values, panel["ece_temperature_se"].values, color="black",
                     marker=MARKERS[0], label="temperature")  # fmt: skip
    ax.plot(x, panel["ece_mix_temperature"], "s", markersize=4.5, markerfacecolor="none", markeredgecolor="black",
            markeredgewidth=0.5, label="Mixup, then temperature")  # fmt: skip


def _slices_caption(table: xr.Dataset) -> str:
    shown = xr.concat([row.sel(ratio=_ratios(table)) for row in _rows(table)], "theta_norm")
    change, end = float(np.abs(shown["combined_difference"]).max()), float(shown["at_an_end"].max())
    return (
        "ECE against held-out points / n, on logarithmic axes. Points: temperature scaling, mean over training sets; "
        "bars are 95 % intervals (two standard errors), smaller than most points. Squares: temperature scaling after "
        f"Mixup (of the largest weight), which differs from temperature scaling alone by at most {change:.1g} here. "
        "Horizontal: no Mixup, and Mixup, which use no held-out points. A temperature of 0 or infinity, the best for "
        f"few points, counts with its limit of the ECE; it occurs in up to {100 * end:.2g} % of the held-out sets of a "
        "cell. "
        f"Panels: {len(_ratios(table))} of the {table.sizes['ratio']} values of p/n. {_drawn_text(table)}"
    )


# --- the same points in training ---------------------------------------------------------------------


def _pooled(table: xr.Dataset) -> Any:
    """Draw a row for each theta; columns: the largest weight of the settings, and the estimated one."""
    if min(table.sizes["ratio"], table.sizes["held_out_ratio"]) < 2:
        return None
    rows = _rows(table)
    arms = [arm for arm in _arms(rows[0]) if arm.name in ("mix", "estimated")]
    figure, axes = panels(len(rows) * len(arms), len(arms), height=1.65)
    largest = largest_size([row[f"{arm.name}_pooled_difference"].values for row in rows for arm in arms])
    mesh = None
    for ax, (row, arm) in zip(axes, [(row, arm) for row in rows for arm in arms], strict=True):
        mesh = _draw_pooled(ax, row, arm, largest)
        ax.set_title(f"{arm.label}, {theta_label(row['theta_norm'])}", pad=3, fontsize="small")
    name_axes(axes, len(arms), "$p/n$", "further points / $n$")
    figure.suptitle("With an estimated weight, train on all points,\nunless $p/n$ is large", fontsize="medium")
    difference_bar(figure, mesh, axes, "ECE(trained on) $-$ ECE(held out)  (blue: train)", largest)
    return figure


def _draw_pooled(ax: Any, row: xr.Dataset, arm: _Arm, largest: float) -> Any:
    x, y = row["realized_ratio"].values, row["held_out_ratio"].values
    order = ("held_out_ratio", "ratio")
    difference = row[f"{arm.name}_pooled_difference"].transpose(*order)
    mesh = heat_map(ax, x, y, difference.values, center=0.0, limit=largest, linear=largest / 30)
    relative = difference / (difference + 2.0 * row["ece_temperature"].transpose(*order))  # over the sum: smooth enough
    level_line(ax, x, y, relative.values, 0.0, **MEASURED[0])
    decades(ax, x=True)
    return mesh


def _pooled_caption(table: xr.Dataset) -> str:
    first = table.isel(n=0)
    worst = max(float(first[f"{name}_pooled_difference_se"].max()) for name in ("mix", "estimated"))
    return (
        "Further labeled points are trained on with Mixup, or held out for a temperature of the classifier without "
        "Mixup: ECE of Mixup of n + further points - ECE after temperature scaling of n. Blue: training on them is "
        "better calibrated; black: equal (a strip of one sign that is narrower than the cells is drawn in pieces). "
        f"The largest standard error of a cell is {worst:.2g}; the color is linear up to 1/30 of the largest "
        f"difference and logarithmic beyond (symlog), the axes are logarithmic. {_drawn_text(table)}"
    )


def _drawn_text(table: xr.Dataset) -> str:
    thetas = representatives(table["theta_norm"].values, MOST_THETAS)
    drawn = table.isel(mixup=[int(np.argmax(table["t"].values))], theta_norm=thetas, n=[0])
    left_out = "" if table.sizes["mixup"] == 1 else "Of the fixed Mixup settings that of the largest weight is shown. "
    left_out += omitted("values of theta", len(thetas), table.sizes["theta_norm"])
    left_out += omitted("sample sizes", 1, table.sizes["n"])
    return left_out + settings_text(drawn, pairs_text(drawn))
