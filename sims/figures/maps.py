"""Maps over p/n and |theta|: the difference that Mixup makes, and P(mix better), with two boundaries each.

The colours show the first n. Where a run has several n, each has its boundary, so that the approach to the limit shows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from mixjax.plots import COLUMN_WIDTH, Figure, cased_line, decades, heat_map, level_line, line_key, panels

from .captions import (
    NAMES,
    PLAIN_NAMES,
    omitted,
    pairs_text,
    representatives,
    setting_label,
    setting_positions,
    settings_text,
)
from .marks import LIMIT, MEASURED, color_bar, difference_bar, largest_size, legend

MOST_SIZES = 3  # sample sizes whose boundaries are drawn
NEVER = "0.75"  # the grey of cells where all training sets tie


def phase_diagram_figures() -> tuple[Figure, ...]:
    figures = []
    for metric in NAMES:
        for name, draw, caption in (
            ("difference", _difference_map, _difference_caption),
            ("mix_better", _better_map, _better_caption),
        ):
            figures.append(Figure(f"{metric}_{name}", partial(draw, metric=metric), partial(caption, metric=metric)))
    return tuple(figures)


def _difference_map(table: xr.Dataset, metric: str) -> Any:
    largest = _largest(table, metric)
    made = _map(
        table,
        metric,
        lambda panel: panel[f"{metric}_difference"],
        partial(_relative_difference, metric=metric),
        0.0,
        partial(heat_map, center=0.0, limit=largest, linear=largest / 30),
    )
    if made is None:
        return None
    difference_bar(*made, f"{NAMES[metric]}(mix) $-$ {NAMES[metric]}  (blue: Mixup better)", largest)
    return made[0]


def _better_map(table: xr.Dataset, metric: str) -> Any:
    def values(panel: xr.Dataset) -> xr.DataArray:
        return panel[f"{metric}_mix_better"].where(~_all_tie(panel, metric))

    made = _map(table, metric, values, values, 0.5, partial(heat_map, center=0.5, limit=0.5, cmap="PuOr"))
    if made is None:
        return None
    color_bar(*made, f"P({NAMES[metric]}(mix) < {NAMES[metric]})  (purple: Mixup better)")
    return made[0]


def _map(
    table: xr.Dataset,
    metric: str,
    colored: Callable[[xr.Dataset], xr.DataArray],
    contoured: Callable[[xr.Dataset], xr.DataArray],
    level: float,
    colors: Callable[..., Any],
) -> tuple[Any, Any, Any] | None:
    """Draw a panel for each Mixup setting; return the figure, its colours and panels, or None if there is no map."""
    across = "ratio" if "ratio" in table.dims else "p"
    if min(_laid_out(table.isel(n=0)).sizes[dim] for dim in (across, "theta_norm")) < 2:
        return None
    settings, sizes = _drawn(table)
    columns = min(2, len(settings))
    figure, axes = panels(len(settings), columns, height=1.62 if len(settings) > 2 else 2.4, width=COLUMN_WIDTH)
    mesh = None
    for ax, setting in zip(axes, settings, strict=True):
        panel = _laid_out(table.isel(n=0, mixup=setting))
        x, y = panel["realized_ratio"].values, panel["theta_norm"].values
        mesh = colors(ax, x, y, colored(panel).transpose("theta_norm", across).values)
        ax.set_facecolor(NEVER)
        for style, size in reversed(list(zip(MEASURED, sizes, strict=False))):
            line = _laid_out(table.isel(n=size, mixup=setting))
            heights = contoured(line).transpose("theta_norm", across).values
            level_line(ax, line["realized_ratio"].values, y, heights, level, **style)
        boundary = panel[f"{metric}_critical_ratio"].values
        cased_line(ax, np.where(boundary > 0, boundary, np.nan), y, casing="black", **LIMIT)
        ax.set_title(setting_label(panel), pad=3)
        decades(ax, x=True, y=True)
    _label_axes(axes, columns)
    _key(figure, table, sizes)
    return figure, mesh, axes


def _relative_difference(panel: xr.Dataset, metric: str) -> xr.DataArray:
    """Return the difference over the sum: 0 where the difference is 0, and smooth enough to interpolate."""
    total = panel[metric] + panel[f"{metric}_mix"]
    return (panel[f"{metric}_difference"] / total).where((total > 0) & ~_all_tie(panel, metric))


def _drawn(table: xr.Dataset) -> tuple[list[int], list[int]]:
    """Return the positions of the Mixup settings that have a panel, and of the sample sizes that have a boundary."""
    others = representatives(table["n"].values[1:], MOST_SIZES - 1)
    return setting_positions(table), [0, *(1 + position for position in others)]


def _laid_out(panel: xr.Dataset) -> xr.Dataset:
    """Sort the map of one n by realised p/n, each once, and by |theta|."""
    _, first = np.unique(panel["realized_ratio"].values, return_index=True)
    return panel.isel({"ratio" if "ratio" in panel.dims else "p": first}).sortby("theta_norm")


def _all_tie(panel: xr.Dataset, metric: str) -> xr.DataArray:
    name = f"{metric}_difference"
    return (panel[name] == 0) & ~(panel[f"{name}_se"] > 0)


def _label_axes(axes: Any, columns: int) -> None:
    for ax in axes[-columns:]:
        ax.set_xlabel("$p/n$")
        ax.tick_params(labelbottom=True)
    for ax in axes[::columns]:
        ax.set_ylabel(r"$|\theta|/\sigma$")


def _key(figure: Any, table: xr.Dataset, sizes: list[int]) -> None:
    """Name each line above the panels."""
    keys = [
        line_key(f"simulation, $n = {int(table['n'][size])}$", casing="white", **style)
        for style, size in zip(MEASURED, sizes, strict=False)
    ]
    keys.append(line_key("limit $n \\to \\infty$", casing="black", **LIMIT))
    legend(figure, keys, 2, handlelength=3.2, columnspacing=1.2)


def _largest(table: xr.Dataset, metric: str) -> float:
    """Return the largest difference that is drawn."""
    drawn = table[f"{metric}_difference"].isel(n=0, mixup=_drawn(table)[0])
    return largest_size(drawn.values)


def _difference_caption(table: xr.Dataset, metric: str) -> str:
    name = PLAIN_NAMES[metric]
    worst = float(table[f"{metric}_difference_se"].isel(n=0).max())
    return (
        f"Mean of {name}(mix) - {name} over training sets: blue where Mixup calibrates better, red where worse. "
        f"{_lines_text(table, 'the zero contour of the Monte Carlo map')}"
        f"The largest standard error of a cell is {worst:.2g}; the colour is linear up to 1/30 of the largest "
        f"difference and logarithmic beyond. {_drawn_text(table)}"
    )


def _better_caption(table: xr.Dataset, metric: str) -> str:
    name = PLAIN_NAMES[metric]
    first = table.isel(n=0)
    width = float((first[f"{metric}_mix_better_high"] - first[f"{metric}_mix_better_low"]).max())
    never = bool(_all_tie(first, metric).any())
    return (
        f"Fraction of training sets with {name}(mix) < {name}, an exact tie counting one half"
        f"{' (grey: all of them tie)' if never else ''}. {_lines_text(table, 'where it is one half')}"
        f"The widest 95 % interval of a cell is {width:.2g} wide. {_drawn_text(table)}"
    )


def _lines_text(table: xr.Dataset, measured: str) -> str:
    first = int(table["n"][0])
    each = f"; colours: n = {first}; other black lines: the same contour at the other n" if table.sizes["n"] > 1 else ""
    return f"Black, solid: {measured}{each}; yellow, dashed: the boundary in the limit p/n -> c (critical ratio). "


def _drawn_text(table: xr.Dataset) -> str:
    settings, sizes = _drawn(table)
    drawn = table.isel(mixup=settings, n=sizes)
    left_out = omitted("Mixup settings", len(settings), table.sizes["mixup"])
    left_out += omitted("sample sizes", len(sizes), table.sizes["n"])
    return left_out + settings_text(drawn, pairs_text(drawn))
