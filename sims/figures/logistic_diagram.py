"""Maps of what Mixup does to a logistic fit, over p/n and |theta|, with literal fits as discs of the same colours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from mixjax.plots import COLUMN_WIDTH, Figure, decades, heat_map, level_line, line_key, panels

from .marks import MEASURED, difference_bar, largest_size, legend

LABELS = {
    "ece": "ECE(mix) $-$ ECE  (blue: Mixup better)",
    "signed": "change of confidence $-$ accuracy by Mixup",
    "accuracy": "accuracy(mix) $-$ accuracy  (red: Mixup better)",
    "nll_scaled": "change of NLL after the best temperature  (blue: Mixup better)",
}


def logistic_diagram_figures() -> tuple[Figure, ...]:
    return tuple(Figure(f"{name}_difference", partial(_maps, name), _caption_of(name)) for name in LABELS)


def _caption_of(name: str) -> Callable[[xr.Dataset], str]:
    return partial(_caption, name)


def _maps(name: str, table: xr.Dataset) -> Any:
    """Draw a row for each penalty, and a column for each alpha."""
    if min(table.sizes["ratio"], table.sizes["theta_norm"]) < 2:
        return None
    change = table[f"{name}_mix"] - table[name]
    largest = largest_size(change.values)
    columns, rows = table.sizes["alpha"], table.sizes["penalty"]
    width = COLUMN_WIDTH * (1 if columns < 3 else 2)
    figure, axes = panels(columns * rows, columns, height=1.7, width=width)
    mesh = None
    for number, ax in enumerate(axes):
        row, column = divmod(number, columns)
        panel = change.isel(penalty=row, alpha=column).transpose("theta_norm", "ratio")
        x, y = panel["ratio"].values, panel["theta_norm"].values
        mesh = heat_map(ax, x, y, panel.values, center=0.0, limit=largest, linear=largest / 30)
        level_line(ax, x, y, panel.values, 0.0, casing="white", **MEASURED[0])
        _points(ax, mesh, table[f"{name}_change_fitted"].isel(penalty=row, alpha=column))
        ax.set_title(rf"$\mu = {float(panel['penalty']):g}$, $\alpha = \beta = {float(panel['alpha']):g}$", pad=3)
        decades(ax, x=True, y=True)
        if column == 0:
            ax.set_ylabel(r"$|\theta| / \sigma$")
        if row == rows - 1:
            ax.set_xlabel("$p/n$")
    legend(figure, [line_key("no change, limit", casing="white", **MEASURED[0])], 1)
    difference_bar(figure, mesh, axes, LABELS[name], largest)
    return figure


def _points(ax: Any, mesh: Any, change: xr.DataArray) -> None:
    """Draw each simulated point as a disc whose colour is on the same scale."""
    x, y = np.meshgrid(change["point_ratio"].values, change["point_theta_norm"].values)
    values = change.transpose("point_theta_norm", "point_ratio").values
    ax.scatter(x, y, c=values, s=16, norm=mesh.norm, cmap=mesh.cmap, edgecolors="black", linewidths=0.6, zorder=3)


def _caption(name: str, table: xr.Dataset) -> str:
    label = LABELS[name].replace("$", "").replace("  ", " ")
    return (
        f"{label}: penalised logistic regression with Mixup over all pairs, against the same fit without, in the limit "
        "of n and p (colours, symmetric logarithmic beyond a thirtieth of the largest; line: no change). Discs: means "
        f"over {int(table.attrs['replicates'])} literal training sets of n = {int(table.attrs['n'])}, on the same "
        "scale. mu is the penalty."
    )
