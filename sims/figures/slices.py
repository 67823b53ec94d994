"""Slices along p/n or n: the error with and without Mixup, and in how many training sets Mixup lowers it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from mixjax.plots import COLORS, MARKERS, Figure, decades, line_key, panels, points_with_bars, points_with_intervals

from .captions import (
    BARS,
    NAMES,
    PLAIN_NAMES,
    SHARE_BARS,
    omitted,
    pairs_text,
    panel_positions,
    setting_label,
    setting_positions,
    settings_text,
    theta_label,
)
from .marks import legend, name_axes

DASHES = (0, (4, 2))
PLAIN: dict[str, Any] = {"color": "0.35", "marker": "x"}


def slice_figures(axis: str) -> tuple[Figure, ...]:
    """Return a figure for each metric, along "ratio" at each fixed n or along "n" at each fixed p."""
    return tuple(
        Figure(metric, partial(_slices, metric=metric, axis=axis), partial(_caption, metric=metric, axis=axis))
        for metric in NAMES
    )


def _slices(table: xr.Dataset, metric: str, axis: str) -> Any:
    """Draw a row for each theta and fixed size: the errors on the left, the shares on the right."""
    positions = panel_positions(table, "theta_norm", _fixed(axis))
    figure, axes = panels(2 * len(positions), 2, height=1.45, share_y=False)
    for left, right, position in zip(axes[::2], axes[1::2], positions, strict=True):
        panel = table.isel(position).sortby(_along(axis))
        size = f", ${_fixed(axis)} = {int(panel[_fixed(axis)])}$" if table.sizes[_fixed(axis)] > 1 else ""
        _draw_errors(left, panel, metric, axis)
        _draw_shares(right, panel, metric, axis)
        left.set_ylabel(theta_label(panel["theta_norm"]) + size)
        left.set(xscale="log", ylim=(0, None))
        right.set_ylim(-0.05, 1.05)
    name = NAMES[metric]
    axes[0].set_title(name, pad=3)
    axes[1].set_title(f"P({name}(mix) < {name})", pad=3)
    name_axes(axes, 2, "$p/n$" if axis == "ratio" else "$n$")
    decades(axes[0], x=axis == "ratio")  # the axis is shared
    bound = "above a critical $p/n$" if axis == "ratio" else "only below a critical $n$"
    keys = axes[0].get_legend_handles_labels()[0]
    keys += [line_key("exact", color="0.3"), line_key("limit", color="0.3", linestyle=DASHES)]
    slice_legend(figure, keys, f"Mixup lowers the {name} {bound} (dotted)")
    return figure


def _draw_errors(ax: Any, panel: xr.Dataset, metric: str, axis: str) -> None:
    """Draw the mean error without Mixup, and with each setting, on the exact curve and the limit."""
    plain = {end: panel[f"{metric}_{end}_curve"] for end in ("expected", "limit")}
    _draw_line(ax, panel, metric, plain, axis, **PLAIN, label="no Mixup")
    for order, setting in enumerate(setting_positions(panel)):
        line = panel.isel(mixup=setting)
        curves = {end: plain[end] + line[f"{metric}_difference_{end}_curve"] for end in plain}
        style = {"color": COLORS[order], "marker": MARKERS[order], "label": setting_label(line)}
        _draw_line(ax, line, f"{metric}_mix", curves, axis, **style)


def _draw_line(
    ax: Any, line: xr.Dataset, name: str, curves: dict[str, xr.DataArray], axis: str, *, color: str, **style: Any
) -> None:
    x, fine = line[_along(axis)].values, line[f"{_along(axis)}_curve"].values
    points_with_bars(ax, x, line[name].values, line[f"{name}_se"].values, within=(0.0, 1.0), color=color, **style)
    ax.plot(fine, curves["expected"], color=color, linewidth=0.9)
    ax.plot(fine, curves["limit"], color=color, linewidth=0.9, linestyle=DASHES)


def _draw_shares(ax: Any, panel: xr.Dataset, metric: str, axis: str) -> None:
    """Draw the share of training sets whose error Mixup lowers, and where the limit turns."""
    for order, setting in enumerate(setting_positions(panel)):
        line = panel.isel(mixup=setting)
        share, low, high = (line[f"{metric}_mix_better{end}"].values for end in ("", "_low", "_high"))
        x, turns = line[_along(axis)].values, float(line[f"{metric}_critical_ratio"])
        points_with_intervals(ax, x, share, low, high, color=COLORS[order], marker=MARKERS[order])
        turns = turns if axis == "ratio" else float(panel["p"]) / turns
        if x.min() < turns < x.max():
            ax.axvline(turns, color=COLORS[order], linewidth=0.9, linestyle="dotted", zorder=0)


def slice_legend(figure: Any, handles: Any, finding: str) -> None:
    """Say above the panels what they show, and name each mark."""
    legend(figure, handles, 2, title=finding, handlelength=1.8, handletextpad=0.5, columnspacing=1.2)


def _along(axis: str) -> str:
    return "realized_ratio" if axis == "ratio" else "n"


def _fixed(axis: str) -> str:
    return "p" if axis == "n" else "n"


def _caption(table: xr.Dataset, metric: str, axis: str) -> str:
    name = PLAIN_NAMES[metric]
    settings = setting_positions(table)
    positions = panel_positions(table, "theta_norm", _fixed(axis))
    count = table.sizes["theta_norm"] * table.sizes[_fixed(axis)]
    drawn = table.isel({"mixup": settings, _fixed(axis): np.unique([position[_fixed(axis)] for position in positions])})
    claim = (
        "Theorem 3.1 claims that some Mixup lowers the ECE for p/n in some interval"
        if axis == "ratio"
        else "Theorem 3.2 claims that any fixed Mixup raises the ECE where p/n is small enough and n large"
    )
    return (
        f"Left: {name} without Mixup and with, against {'n at fixed p' if axis == 'n' else 'p/n'}: means over training "
        "sets (points), the exact expectation at this n and p (solid), and the limit at the same p/n (dashed). Right: "
        f"share of the training sets whose {name} Mixup lowers; dotted: where the limit turns. {claim}, with "
        f"high probability ({'5.1' if axis == 'ratio' else '5.2'}: the MCE). {BARS}{SHARE_BARS}"
        f"{omitted('Mixup settings', len(settings), table.sizes['mixup'])}"
        f"{omitted(f'panels (theta, {_fixed(axis)})', len(positions), count)}"
        f"{settings_text(drawn, pairs_text(drawn))}"
    )
