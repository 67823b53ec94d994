"""Maps of what pseudo-labels do, and what Mixup then does, over p/n and the number of unlabeled points."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from mixjax.plots import Figure, decades, level_line, line_key, panels

from .captions import omitted, pairs_text, representatives, scale_text, settings_text, theta_label
from .marks import LIMIT, MEASURED, difference_bar, difference_map, largest_size, legend, name_axes

MOST_ROWS, MOST_COLUMNS = 3, 2


class _Words(NamedTuple):
    """finding: the title. bar: of the colors. text: of the caption."""

    finding: str
    bar: str
    text: str


_DIFFERENCES = {
    "final_difference": _Words(
        "Where pseudo-labels help (blue) and hurt (red)",
        "ECE(pseudo-labels) $-$ ECE  (blue: better)",
        "ECE with pseudo-labels - ECE of the labeled data alone. Black: where the simulation has no difference; "
        "yellow, dashed: where the limit has none. ",
    ),
    "best_difference": _Words(
        "Mixup helps unless the classifier is under-confident",
        "ECE(best Mixup) $-$ ECE  (blue: better)",
        "ECE with pseudo-labels and, in the last step, Mixup of the weight that is best in the limit (at most 1/2) - "
        "ECE with pseudo-labels. White: no Mixup helps. Black: where half of the data sets give an under-confident "
        "classifier (rho = mean/var of the score above 1); yellow, dashed: rho = 1 in the limit. ",
    ),
}


def pseudo_label_figures() -> tuple[Figure, ...]:
    return tuple(Figure(name, partial(_draw, name=name), partial(_caption, name=name)) for name in _DIFFERENCES)


def _draw(table: xr.Dataset, name: str) -> Any:
    """Draw a row for each theta, and a column for each number of labeled points."""
    if min(table.sizes["ratio"], table.sizes["unlabeled_per_label"]) < 2:
        return None
    positions, columns = _positions(table)
    largest, mesh = _largest(table, name), None
    figure, axes = panels(len(positions), columns, height=1.5)
    for ax, position in zip(axes, positions, strict=True):
        panel = table.isel(position)
        mesh = _draw_panel(ax, panel, name, largest)
        ax.set_title(rf"{theta_label(panel['theta_norm'])}, $n = {int(panel['n'])}$", pad=3)
    name_axes(axes, columns, "$p/n$")
    figure.supylabel("unlabeled points / $n$", fontsize="medium")
    lines = ("no change", "no change, limit") if name == "final_difference" else ("half under-confident", "limit")
    keys = [line_key(line, **style) for line, style in zip(lines, (MEASURED[0], LIMIT), strict=True)]
    legend(figure, keys, 2, handlelength=3.2, title=_DIFFERENCES[name].finding)
    difference_bar(figure, mesh, axes, _DIFFERENCES[name].bar, largest)
    return figure


def _draw_panel(ax: Any, panel: xr.Dataset, name: str, largest: float) -> Any:
    _, first = np.unique(panel["realized_ratio"].values, return_index=True)
    panel = panel.isel(ratio=first).sortby("unlabeled_per_label").transpose("unlabeled_per_label", "ratio", ...)
    x, y = panel["realized_ratio"].values, panel["unlabeled_per_label"].values
    mesh = difference_map(ax, x, y, panel[name].values, largest)
    if name == "final_difference":
        lines = [panel[f"{name}{end}"] / (2.0 * panel[f"ece{end}"] + panel[f"{name}{end}"]) for end in ("", "_limit")]
    else:
        lines = [panel["overshoot"] - 0.5, panel["slope_limit"] - 1.0]
    level_line(ax, x, y, lines[0].values, 0.0, **MEASURED[0])
    level_line(ax, x, y, lines[1].values, 0.0, **LIMIT)
    decades(ax, x=True, y=True)
    return mesh


def _positions(table: xr.Dataset) -> tuple[list[dict[str, int]], int]:
    """Return the positions of the panels, row by row, and the number of columns."""
    columns = representatives(table["n"].values, MOST_COLUMNS)
    rows = representatives(table["theta_norm"].values, MOST_ROWS)
    return [{"theta_norm": row, "n": column} for row in rows for column in columns], len(columns)


def _largest(table: xr.Dataset, name: str) -> float:
    """Return the largest difference that is drawn."""
    return largest_size([table[name].isel(position).values for position in _positions(table)[0]])


def _caption(table: xr.Dataset, name: str) -> str:
    positions, columns = _positions(table)
    worst = max(float(table[f"{name}_se"].isel(position).max()) for position in positions)
    return (
        f"Mean over data sets, of n labeled points, of {_DIFFERENCES[name].text}{_shares_text(table)}"
        f"{scale_text(_largest(table, name))}The largest standard error of a cell is {worst:.2g}. {_sums_text(table)}"
        f"{omitted('values of theta', len(positions) // columns, table.sizes['theta_norm'])}"
        f"{omitted('numbers of labeled points', columns, table.sizes['n'])}{settings_text(table, pairs_text(table))}"
    )


def _sums_text(table: xr.Dataset) -> str:
    """Say whether the sums over unlabeled points are exact, and up to how many of them."""
    largest = round(float(table["unlabeled_per_label"].max() * table["n"].max()))
    exact = {"exact": np.inf, "auto": 10_000, "gaussian": 0}[json.loads(table.attrs["config"])["sums"]]
    law = "point by point, which is exact" if largest <= exact else "from the normal law that they tend to"
    return f"Sums over unlabeled points, {largest:,} at most, are drawn {law}. "


def _shares_text(table: xr.Dataset) -> str:
    """Count the cells whose 95 % interval is on one side of 0, among all of the run."""

    def share(name: str, sign: float) -> xr.DataArray:
        return sign * table[name] > 1.96 * table[f"{name}_se"]

    hurt = share("final_difference", 1.0)
    repaired = float((hurt & share("repaired_difference", -1.0)).sum() / max(int(hurt.sum()), 1))
    return (
        f"Of the {hurt.size:,} cells of this grid, by 95 % intervals, pseudo-labels help in "
        f"{100 * float(share('final_difference', -1.0).mean()):.3g} % and hurt in {100 * float(hurt.mean()):.3g} %; "
        f"the best Mixup weight lowers the ECE again in {100 * float(share('best_difference', -1.0).mean()):.3g} %, "
        f"and in {100 * repaired:.3g} % of those where pseudo-labels hurt to below that of the labeled data alone. "
        f"More than half of the data sets overshoot in {100 * float((table['overshoot'] > 0.5).mean()):.3g} %. "
    )
