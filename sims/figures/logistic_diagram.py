"""Maps of what Mixup does to a logistic fit, over p/n and |theta|, with literal fits as discs of the same colors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from mixjax.plots import Figure, decades, level_line, line_key, panels

from .captions import scale_text
from .marks import MEASURED, difference_bar, difference_map, largest_size, legend, name_axes

LABELS = {
    "ece": "ECE(mix) $-$ ECE  (blue: Mixup better)",
    "signed": "change of confidence $-$ accuracy by Mixup",
    "accuracy": "accuracy(mix) $-$ accuracy  (red: Mixup better)",
    "nll_scaled": "change of NLL at best temperature  (blue: better)",
}


def logistic_diagram_figures() -> tuple[Figure, ...]:
    return tuple(Figure(f"{name}_difference", partial(_maps, name), partial(_caption, name)) for name in LABELS)


def _maps(name: str, table: xr.Dataset) -> Any:
    """Draw a row for each alpha, and a column for each penalty."""
    if min(table.sizes["ratio"], table.sizes["theta_norm"]) < 2:
        return None
    change = table[f"{name}_mix"] - table[name]
    largest, mesh = largest_size(change.values), None
    columns = table.sizes["penalty"]
    figure, axes = panels(columns * table.sizes["alpha"], columns, height=1.35)
    for number, ax in enumerate(axes):
        chosen = {"penalty": number % columns, "alpha": number // columns}
        panel = change.isel(chosen).transpose("theta_norm", "ratio")
        x, y = panel["ratio"].values, panel["theta_norm"].values
        mesh = difference_map(ax, x, y, panel.values, largest)
        level_line(ax, x, y, panel.values, 0.0, **MEASURED[0])
        _points(ax, mesh, table[f"{name}_change_fitted"].isel(chosen))
        ax.set_title(rf"$\alpha = \beta = {float(panel['alpha']):g}$, $\mu = {float(panel['penalty']):g}$", pad=3)
        decades(ax, x=True, y=True)
    name_axes(axes, columns, "$p/n$", r"$|\theta| / \sigma$")
    legend(figure, [line_key("no change, limit", **MEASURED[0])], 1, title=_near(name, table))
    difference_bar(figure, mesh, axes, LABELS[name], largest)
    return figure


def _near(name: str, table: xr.Dataset) -> str:
    """Say how near literal fits are to the limit."""
    apart = np.nanmedian(np.abs((table[f"{name}_change_fitted"] - table[f"{name}_change_limit"]).values))
    return f"Literal fits (discs) are {apart:.2g} from the limit (median)"


def _points(ax: Any, mesh: Any, change: xr.DataArray) -> None:
    """Draw each simulated point as a disc whose color is on the same scale."""
    x, y = np.meshgrid(change["point_ratio"].values, change["point_theta_norm"].values)
    values = change.transpose("point_theta_norm", "point_ratio").values
    ax.scatter(x, y, c=values, s=16, norm=mesh.norm, cmap=mesh.cmap, edgecolors="black", linewidths=0.6, zorder=3)


def _caption(name: str, table: xr.Dataset) -> str:
    largest = largest_size((table[f"{name}_mix"] - table[name]).values)
    label = LABELS[name].replace("$", "").replace("  ", " ")
    return (
        f"{label}: penalized logistic regression with Mixup over all pairs, against the same fit without, in the limit "
        f"of n and p (line: no change). {scale_text(largest)}Discs: means over {int(table.attrs['replicates'])} "
        f"literal training sets of n = {int(table.attrs['n'])}, on the same scale. mu is the penalty."
    )
