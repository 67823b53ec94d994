"""Slices along p/n or n: Monte Carlo points and bands, the exact curve, and the limit."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from mixjax.plots import COLORS, COLUMN_WIDTH, MARKERS, Figure, band_key, decades, line_key, panels, points_with_bars

from .captions import (
    NAMES,
    PLAIN_NAMES,
    omitted,
    pairs_text,
    panel_positions,
    setting_label,
    setting_positions,
    settings_text,
    theta_label,
)
from .marks import legend

DASHES = (0, (4, 2))


def slice_figures(axis: str) -> tuple[Figure, ...]:
    """Return a figure for each metric, along "ratio" at each fixed n or along "n" at each fixed p."""
    return tuple(
        Figure(
            f"{metric}_difference",
            partial(_slices, metric=metric, axis=axis),
            partial(_caption, metric=metric, axis=axis),
        )
        for metric in NAMES
    )


def _slices(table: xr.Dataset, metric: str, axis: str) -> Any:
    positions = panel_positions(table, "theta_norm", _fixed(axis))
    figure, axes = slice_panels(len(positions))
    for ax, position in zip(axes, positions, strict=True):
        panel = table.isel(position)
        for order, setting in enumerate(setting_positions(table)):
            _draw_line(ax, panel.isel(mixup=setting), f"{metric}_difference", axis, COLORS[order], MARKERS[order])
        ax.axhline(0.0, color="0.4", linewidth=0.6, zorder=0)
        ax.set_xscale("log")
        size = f", ${_fixed(axis)} = {int(panel[_fixed(axis)])}$" if table.sizes[_fixed(axis)] > 1 else ""
        ax.set_title(theta_label(panel["theta_norm"]) + size, pad=3)
        ax.ticklabel_format(axis="y", style="plain")
    label_slices(axes, "$p/n$" if axis == "ratio" else "training sample size $n$", plain=axis == "ratio")
    figure.supylabel(f"{NAMES[metric]}(mix) $-$ {NAMES[metric]}", fontsize="medium")
    handles, _ = axes[0].get_legend_handles_labels()
    handles += [line_key("exact", color="0.3"), line_key("limit $p/n \\to c$", color="0.3", linestyle=DASHES)]
    handles.append(band_key("middle 90 % of training sets", "0.3"))
    slice_legend(figure, handles)
    return figure


def _draw_line(ax: Any, line: xr.Dataset, name: str, axis: str, color: str, marker: str) -> None:
    coordinate = "realized_ratio" if axis == "ratio" else "n"
    line = line.sortby(coordinate)
    points_with_bars(ax, line[coordinate].values, line[name].values, line[f"{name}_se"].values, color=color,
                     marker=marker, label=setting_label(line),
                     band=(line[f"{name}_q05"].values, line[f"{name}_q95"].values))  # fmt: skip
    fine = line[f"{coordinate}_curve"].values
    ax.plot(fine, line[f"{name}_expected_curve"].values, color=color, linewidth=0.9)
    ax.plot(fine, line[f"{name}_limit_curve"].values, color=color, linewidth=0.9, linestyle=DASHES)


def slice_panels(count: int) -> tuple[Any, Any]:
    """Make up to three panels below each other, or more in two columns."""
    columns, width = (1, COLUMN_WIDTH) if count <= 3 else (2, 2 * COLUMN_WIDTH)
    return panels(count, columns, height=1.75 if count > 1 else 2.3, width=width, share_y=False)


def label_slices(axes: Any, label: str, *, plain: bool) -> None:
    """Name the horizontal axis below the lowest panel of each column."""
    for ax in axes[-(1 if len(axes) <= 3 else 2) :]:
        ax.set_xlabel(label)
        ax.tick_params(labelbottom=True)
    if plain:
        decades(axes[0], x=True)  # the axis is shared


def slice_legend(figure: Any, handles: Any) -> None:
    """Name each mark above the panels."""
    columns = 2 if figure.get_size_inches()[0] <= COLUMN_WIDTH else 4
    legend(figure, handles, columns, handlelength=1.8, handletextpad=0.5, columnspacing=1.2)


def _fixed(axis: str) -> str:
    return "p" if axis == "n" else "n"


def _caption(table: xr.Dataset, metric: str, axis: str) -> str:
    name = PLAIN_NAMES[metric]
    settings = setting_positions(table)
    positions = panel_positions(table, "theta_norm", _fixed(axis))
    count = table.sizes["theta_norm"] * table.sizes[_fixed(axis)]
    drawn = table.isel({"mixup": settings, _fixed(axis): np.unique([position[_fixed(axis)] for position in positions])})
    return (
        f"{name}(mix) - {name} against {'n at fixed p' if axis == 'n' else 'p/n'}. Points: mean over training sets "
        "with bars of two standard errors (mostly smaller than the point); bands: from the 5 % to the 95 % quantile of "
        "training sets; solid: the exact expectation at this n and p; dashed: the limit at the same p/n. "
        f"{omitted('Mixup settings', len(settings), table.sizes['mixup'])}"
        f"{omitted(f'panels (theta, {_fixed(axis)})', len(positions), count)}"
        f"{settings_text(drawn, pairs_text(drawn))}"
    )
