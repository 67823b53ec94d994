"""Maps over p/n and |theta| of the difference that Mixup makes, and P(mix better) beside the boundary of the limit.

The colors show the first n. Where a run has several n, each has its boundary, so that the approach to the limit shows.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from mixjax.plots import COLORS, Figure, cased_line, decades, level_line, line_key, panels

from .captions import (
    NAMES,
    PLAIN_NAMES,
    omitted,
    pairs_text,
    representatives,
    scale_text,
    setting_label,
    setting_positions,
    settings_text,
)
from .marks import LIMIT, MEASURED, difference_bar, difference_map, largest_size, legend, name_axes

_FEWEST_CELLS = 4  # of which `mix_better` is drawn
MOST_SIZES = 3  # sample sizes whose boundaries are drawn


def phase_diagram_figures() -> tuple[Figure, ...]:
    maps = (
        Figure(f"{metric}_difference", partial(_map, metric=metric), partial(_map_caption, metric=metric))
        for metric in NAMES
    )
    return (*maps, Figure("mix_better", _better, _better_caption))


def _map(table: xr.Dataset, metric: str) -> Any:
    """Draw a panel for each Mixup setting; nothing if there is no map."""
    across = "ratio" if "ratio" in table.dims else "p"
    if min(_laid_out(table.isel(n=0)).sizes[dim] for dim in (across, "theta_norm")) < 2:
        return None
    settings, sizes = _drawn(table)
    columns = min(2, len(settings))
    figure, axes = panels(len(settings), columns, height=1.62 if len(settings) > 2 else 2.4)
    largest, mesh = _largest(table, metric), None
    for ax, setting in zip(axes, settings, strict=True):
        panel = _laid_out(table.isel(n=0, mixup=setting))
        x, y = panel["realized_ratio"].values, panel["theta_norm"].values
        mesh = difference_map(ax, x, y, panel[f"{metric}_difference"].transpose("theta_norm", across).values, largest)
        for style, size in reversed(list(zip(MEASURED, sizes, strict=False))):
            line = _laid_out(table.isel(n=size, mixup=setting))
            heights = _relative_difference(line, metric).transpose("theta_norm", across).values
            level_line(ax, line["realized_ratio"].values, y, heights, 0.0, **style)
        boundary = panel[f"{metric}_critical_ratio"].values
        cased_line(ax, np.where(boundary > 0, boundary, np.nan), y, **LIMIT)
        ax.set_title(setting_label(panel), pad=3)
        decades(ax, x=True, y=True)
    name_axes(axes, columns, "$p/n$", r"$|\theta|/\sigma$")
    _key(figure, table, sizes, f"Mixup lowers the {NAMES[metric]} to the right of the line")
    difference_bar(figure, mesh, axes, f"{NAMES[metric]}(mix) $-$ {NAMES[metric]}  (blue: Mixup better)", largest)
    return figure


def _better(table: xr.Dataset) -> Any:
    """Draw P(mix better) of every cell against its p/n over the critical one, a panel for each metric."""
    settings = setting_positions(table)
    if table["ece_difference"].isel(n=0, mixup=0).size < _FEWEST_CELLS:
        return None  # a few points show no trend, and may be beyond the axis
    if not any(_beside_boundary(table, metric, setting)[0].size for metric in NAMES for setting in settings):
        return None
    figure, axes = panels(len(NAMES), 1, height=1.1)
    for ax, metric in zip(axes, NAMES, strict=True):
        for number, setting in enumerate(settings):
            x, share = _beside_boundary(table, metric, setting)
            ax.plot(x, share, ".", markersize=1.5, alpha=0.6, color=COLORS[number], rasterized=True)
        ax.axvline(1.0, color="0.4", linewidth=0.6, zorder=0)
        ax.set(xscale="log", xlim=(0.2, 5), ylabel=f"P({NAMES[metric]} falls)")
        decades(ax, x=True)
    axes[-1].set_xlabel(r"$p/n$ over the critical ratio of $|\theta|$ and $t$")
    labels = [setting_label(table.isel(mixup=setting)) for setting in settings]
    keys = [line_key(label, linewidth=0, marker="o", markersize=3, color=COLORS[k]) for k, label in enumerate(labels)]
    legend(figure, keys, 2, columnspacing=1.2, title="Mixup helps above the critical ratio")
    return figure


def _beside_boundary(table: xr.Dataset, metric: str, setting: int) -> tuple[np.ndarray, np.ndarray]:
    """Return p/n over the critical ratio of each cell that has one, at the first n, and P(mix better)."""
    panel = table.isel(n=0, mixup=setting)
    x, share = xr.broadcast(panel["realized_ratio"] / panel[f"{metric}_critical_ratio"], panel[f"{metric}_mix_better"])
    drawn = (panel[f"{metric}_critical_ratio"] > 0) & ~_all_tie(panel, metric)
    kept = drawn.broadcast_like(x).transpose(*x.dims).values
    return x.values[kept], share.transpose(*x.dims).values[kept]


def _relative_difference(panel: xr.Dataset, metric: str) -> xr.DataArray:
    """Return the difference over the sum: 0 where the difference is 0, and smooth enough to interpolate."""
    total = panel[metric] + panel[f"{metric}_mix"]
    return (panel[f"{metric}_difference"] / total).where((total > 0) & ~_all_tie(panel, metric))


def _drawn(table: xr.Dataset) -> tuple[list[int], list[int]]:
    """Return the positions of the Mixup settings that have a panel, and of the sample sizes that have a boundary."""
    others = representatives(table["n"].values[1:], MOST_SIZES - 1)
    return setting_positions(table), [0, *(1 + position for position in others)]


def _laid_out(panel: xr.Dataset) -> xr.Dataset:
    """Sort the map of one n by realized p/n, each once, and by |theta|."""
    _, first = np.unique(panel["realized_ratio"].values, return_index=True)
    return panel.isel({"ratio" if "ratio" in panel.dims else "p": first}).sortby("theta_norm")


def _all_tie(panel: xr.Dataset, metric: str) -> xr.DataArray:
    name = f"{metric}_difference"
    return (panel[name] == 0) & ~(panel[f"{name}_se"] > 0)


def _key(figure: Any, table: xr.Dataset, sizes: list[int], finding: str) -> None:
    """Name each line above the panels."""
    keys = [
        line_key(f"simulation, $n = {int(table['n'][size])}$", **style)
        for style, size in zip(MEASURED, sizes, strict=False)
    ]
    keys.append(line_key("limit $n \\to \\infty$", **LIMIT))
    legend(figure, keys, 2, handlelength=3.2, columnspacing=1.2, title=finding)


def _largest(table: xr.Dataset, metric: str) -> float:
    """Return the largest difference that is drawn."""
    drawn = table[f"{metric}_difference"].isel(n=0, mixup=_drawn(table)[0])
    return largest_size(drawn.values)


def _map_caption(table: xr.Dataset, metric: str) -> str:
    name = PLAIN_NAMES[metric]
    worst = float(table[f"{metric}_difference_se"].isel(n=0).max())
    return (
        f"Mean of {name}(mix) - {name} over training sets: blue where Mixup calibrates better, red where worse. "
        f"{_lines_text(table, 'the zero contour of the Monte Carlo map')}"
        f"{scale_text(_largest(table, metric))}The largest standard error of a cell is {worst:.2g}. "
        f"{_drawn_text(table)}"
    )


def _better_caption(table: xr.Dataset) -> str:
    settings = setting_positions(table)
    drawn = table.isel(n=[0], mixup=settings)
    first = f" at n = {int(table['n'][0])}" if table.sizes["n"] > 1 else ""
    return (
        "Share of training sets whose error Mixup lowers, an exact tie counting one half: a point for each cell and "
        f"Mixup setting{first}, against the p/n of the cell over that above which Mixup helps in the limit (critical "
        f"ratio). Of the cells of this grid, {_agreement(table, settings)} have more than half of the training sets "
        f"on the side of the limit. Cells further out than the axis have shares of nearly 0 or 1. "
        f"{omitted('Mixup settings', len(settings), table.sizes['mixup'])}{settings_text(drawn, pairs_text(drawn))}"
    )


def _agreement(table: xr.Dataset, settings: list[int]) -> str:
    """List the shares of the cells that are on the side of the limit, metric by metric."""
    parts = []
    for metric in NAMES:
        found = [_beside_boundary(table, metric, setting) for setting in settings]
        x, share = (np.concatenate(part) for part in zip(*found, strict=True))
        parts.append(f"{100 * np.mean((share > 0.5) == (x > 1)):.1f} % ({PLAIN_NAMES[metric]})")
    return ", ".join(parts)


def _lines_text(table: xr.Dataset, measured: str) -> str:
    first = int(table["n"][0])
    each = f"; colors: n = {first}; other black lines: the same contour at the other n" if table.sizes["n"] > 1 else ""
    return f"Black, solid: {measured}{each}; yellow, dashed: the boundary in the limit p/n -> c (critical ratio). "


def _drawn_text(table: xr.Dataset) -> str:
    settings, sizes = _drawn(table)
    drawn = table.isel(mixup=settings, n=sizes)
    left_out = omitted("Mixup settings", len(settings), table.sizes["mixup"])
    left_out += omitted("sample sizes", len(sizes), table.sizes["n"])
    return left_out + settings_text(drawn, pairs_text(drawn))
