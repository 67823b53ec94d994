"""Maps of what pseudo-labels do, and what Mixup then does: over p/n and the unlabelled points, and over their shift."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from mixjax.plots import COLUMN_WIDTH, Figure, decades, heat_map, level_line, line_key, panels

from .captions import omitted, pairs_text, representatives, settings_text, theta_label
from .marks import LIMIT, MEASURED, difference_bar, largest_size, legend

MOST = 3  # of rows and of columns
OVERSHOOT: dict[str, Any] = {"color": "white", "linestyle": "solid", "linewidth": 1.2}
OVERSHOOT_LIMIT: dict[str, Any] = {"color": "white", "linestyle": (0, (1, 1.2)), "linewidth": 1.4}


class _Map(NamedTuple):
    """x and y: dimensions with the words of their axes. columns, rows: dimensions that have panels."""

    x: tuple[str, str]
    y: tuple[str, str]
    columns: str
    rows: str


_SIZES = _Map(("ratio", "$p/n$"), ("unlabeled_per_label", "unlabelled points / $n$"), "theta_norm", "n")

_DIFFERENCES = {
    "final_difference": ("ECE(pseudo-labels) $-$ ECE", "ECE with pseudo-labels - ECE of the labelled data alone"),
    "best_difference": (
        "ECE(pseudo-labels, best Mixup) $-$ ECE(pseudo-labels)",
        "ECE with pseudo-labels and, in the last step, Mixup of the weight that is best in the limit (at most 1/2) - "
        "ECE with pseudo-labels. White: no Mixup helps, because the classifier is under-confident",
    ),
    "repaired_difference": (
        "ECE(pseudo-labels, best Mixup) $-$ ECE",
        "ECE with pseudo-labels and, in the last step, Mixup of the weight that is best in the limit (at most 1/2) - "
        "ECE of the labelled data alone",
    ),
}


def pseudo_label_figures() -> tuple[Figure, ...]:
    return _figures(_SIZES)


def _figures(layout: _Map) -> tuple[Figure, ...]:
    return tuple(
        Figure(name, partial(_draw, layout=layout, name=name), partial(_caption, layout=layout, name=name))
        for name in _DIFFERENCES
    )


def _draw(table: xr.Dataset, layout: _Map, name: str) -> Any:
    (x, x_label), (y, y_label) = layout.x, layout.y
    if min(table.sizes[x], table.sizes[y]) < 2:
        return None
    positions, columns = _positions(table, layout)
    largest = largest_size([table[name].isel(position).values for position in positions])
    height = 1.9 if len(positions) > columns else 2.8
    figure, axes = panels(len(positions), columns, height=height, width=2 * COLUMN_WIDTH)
    mesh = None
    for ax, position in zip(axes, positions, strict=True):
        panel = table.isel(position)
        mesh = _draw_panel(ax, panel, layout, name, largest)
        ax.set_title(_panel_label(panel, layout), pad=3)
    for ax in axes[-columns:]:
        ax.set_xlabel(x_label)
        ax.tick_params(labelbottom=True)
    for ax in axes[::columns]:
        ax.set_ylabel(y_label)
    legend(figure, _keys(name), 4, handlelength=3.2)
    difference_bar(figure, mesh, axes, f"{_DIFFERENCES[name][0]}  (blue: better)", largest)
    return figure


def _draw_panel(ax: Any, panel: xr.Dataset, layout: _Map, name: str, largest: float) -> Any:
    x, y = layout.x[0], layout.y[0]
    along = "realized_ratio" if x == "ratio" else x
    _, first = np.unique(panel[along].values, return_index=True)
    panel = panel.isel({x: first}).sortby(y)
    columns, rows = panel[along].values, panel[y].values

    def laid_out(values: xr.DataArray) -> np.ndarray:
        return np.asarray(values.transpose(y, x).values)

    mesh = heat_map(ax, columns, rows, laid_out(panel[name]), center=0.0, limit=largest, linear=largest / 30)
    draw = partial(level_line, ax, columns, rows)
    draw(laid_out(panel["overshoot"]), 0.5, casing="black", **OVERSHOOT)
    draw(laid_out(panel["slope_limit"]), 1.0, casing="black", **OVERSHOOT_LIMIT)
    if name == "final_difference":
        for end, style in (("", {"casing": "white"} | MEASURED[0]), ("_limit", {"casing": "black"} | LIMIT)):
            difference, plain = panel[f"{name}{end}"], panel[f"ece{end}"]
            draw(laid_out(difference / (2.0 * plain + difference)), 0.0, **style)
    decades(ax, x=True, y=True)
    return mesh


def _keys(name: str) -> list[Any]:
    keys = [
        line_key("half of the data sets overshoot", casing="black", **OVERSHOOT),
        line_key(r"$\rho = 1$, limit", casing="black", **OVERSHOOT_LIMIT),
    ]
    if name == "final_difference":
        keys.insert(0, line_key("simulation: equal", casing="white", **MEASURED[0]))
        keys.insert(1, line_key("limit: equal", casing="black", **LIMIT))
    return keys


def _positions(table: xr.Dataset, layout: _Map) -> tuple[list[dict[str, int]], int]:
    """Return the positions of the panels, row by row, and the number of columns; other axes are at the first value."""
    columns = representatives(table[layout.columns].values, MOST)
    rows = representatives(table[layout.rows].values, MOST)
    used = (layout.x[0], layout.y[0], layout.columns, layout.rows)
    rest = {dim: 0 for dim in ("n", "ratio", "theta_norm", "unlabeled_per_label") if dim not in used}
    return [{**rest, layout.rows: row, layout.columns: column} for row in rows for column in columns], len(columns)


def _panel_label(panel: xr.Dataset, layout: _Map) -> str:
    first = rf"$p/n = {float(panel['ratio']):g}$" if layout.columns == "ratio" else theta_label(panel["theta_norm"])
    return rf"{first}, $n = {int(panel['n'])}$"


def _caption(table: xr.Dataset, layout: _Map, name: str) -> str:
    positions, _ = _positions(table, layout)
    worst = max(float(table[f"{name}_se"].isel(position).max()) for position in positions)
    lines = (
        "Black: where the simulation has no difference; yellow, dashed: where the limit has none. "
        if name == "final_difference"
        else ""
    )
    return (
        f"Mean over data sets of {_DIFFERENCES[name][1]}; n labelled points. {lines}White, solid: where half of "
        "the data sets give an under-confident classifier (rho = mean/var of the score above 1) after pseudo-labels; "
        "dotted: rho = 1 in the limit. "
        f"{_shares_text(table)}{_fixed(table, layout)}The largest standard error of a cell is {worst:.2g}; "
        f"the colour is linear up to 1/30 of the largest difference and logarithmic beyond. {_left_out(table, layout)}"
        f"{settings_text(table, pairs_text(table))}"
    )


def _shares_text(table: xr.Dataset) -> str:
    """Count the cells that differ by two standard errors, among all of the run."""

    def share(name: str, sign: float) -> xr.DataArray:
        return sign * table[name] > 2.0 * table[f"{name}_se"]

    hurt = share("final_difference", 1.0)
    repaired = float((hurt & share("repaired_difference", -1.0)).sum() / max(int(hurt.sum()), 1))
    return (
        f"Of the {hurt.size:,} cells of the run (by two standard errors) pseudo-labels help in "
        f"{100 * float(share('final_difference', -1.0).mean()):.3g} % and hurt in {100 * float(hurt.mean()):.3g} %; "
        f"the best Mixup weight lowers the ECE again in {100 * float(share('best_difference', -1.0).mean()):.3g} %, "
        f"and in {100 * repaired:.3g} % of those where pseudo-labels hurt to below that of the labelled data alone. "
        f"More than half of the data sets overshoot in {100 * float((table['overshoot'] > 0.5).mean()):.3g} %. "
    )


def _fixed(table: xr.Dataset, layout: _Map) -> str:
    """Name the axes of which one value is drawn."""
    names = {"theta_norm": "|theta|/sigma", "unlabeled_per_label": "unlabelled points / n", "ratio": "p/n"}
    used: Sequence[str] = (layout.x[0], layout.y[0], layout.columns, layout.rows)
    parts = [f"{words} = {float(table[dim][0]):g}" for dim, words in names.items() if dim not in used]
    return f"{', '.join(parts)}. " if parts else ""


def _left_out(table: xr.Dataset, layout: _Map) -> str:
    words = {"n": "numbers of labelled points", "theta_norm": "values of theta", "ratio": "values of p/n"}
    return "".join(
        omitted(words[dim], min(MOST, table.sizes[dim]), table.sizes[dim]) for dim in (layout.columns, layout.rows)
    )
