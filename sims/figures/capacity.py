"""The derivative at alpha = 0+ against p/n: Monte Carlo points on the limit.

No band shows the training sets, whose derivatives are nearly two-pointed: the value of the limit where the
classifier is over-confident, and about minus that where it is under-confident.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from mixjax.plots import COLORS, MARKERS, Figure, decades, line_key, panels, points_with_bars

from .captions import (
    BARS,
    NAMES,
    PLAIN_NAMES,
    listed,
    omitted,
    panel_positions,
    representatives,
    settings_text,
    theta_label,
)
from .marks import name_axes
from .monotonicity import FINDINGS, THEOREMS, monotonicity_figures
from .slices import slice_legend


def capacity_figures() -> tuple[Figure, ...]:
    simulated = tuple(
        Figure(f"{metric}_derivative", partial(_derivatives, metric=metric), partial(_caption, metric=metric))
        for metric in THEOREMS
    )
    return simulated + monotonicity_figures()


def _derivatives(table: xr.Dataset, metric: str) -> Any:
    positions = panel_positions(table, "n", "mixup")
    columns = 1 if len(positions) <= 3 else 2
    figure, axes = panels(len(positions), columns, height=1.75 if len(positions) > 1 else 2.3, share_y=False)
    for ax, position in zip(axes, positions, strict=True):
        panel, name = table.isel(position), f"{metric}_derivative"
        for order, index in enumerate(_thetas(table)):
            line = panel.isel(theta_norm=index).sortby("realized_ratio")
            points_with_bars(ax, line["realized_ratio"].values, line[name].values, line[f"{name}_se"].values,
                             color=COLORS[order], marker=MARKERS[order],
                             label=theta_label(line["theta_norm"]))  # fmt: skip
            curve = line[f"{name}_limit_curve"].values
            ax.plot(line["realized_ratio_curve"].values, curve, color=COLORS[order], linewidth=0.9)
        ax.axhline(0.0, color="0.4", linewidth=0.6, zorder=0)
        ax.set_xscale("log")
        if len(positions) > 1:
            ax.set_title(rf"$n = {int(panel['n'])}$, $\beta = {float(panel['beta']):g}$", pad=3)
    name_axes(axes, columns, "$p/n$")
    decades(axes[0], x=True)  # the axis is shared
    figure.supylabel(rf"d{NAMES[metric]}/d$\alpha$ at $\alpha = 0^+$", fontsize="medium")
    handles, _ = axes[0].get_legend_handles_labels()
    slice_legend(figure, [*handles, line_key("limit $p/n \\to c$", color="0.3")], FINDINGS[metric])
    return figure


def _thetas(table: xr.Dataset) -> list[int]:
    return representatives(table["theta_norm"].values)


def _caption(table: xr.Dataset, metric: str) -> str:
    name = PLAIN_NAMES[metric]
    positions, thetas = panel_positions(table, "n", "mixup"), _thetas(table)
    drawn = table.isel(
        {dim: np.unique([position[dim] for position in positions]) for dim in ("n", "mixup")} | {"theta_norm": thetas}
    )
    positive = 1.0 - float(drawn["derivative_negative"].min())
    return (
        f"Derivative of the {name} in alpha at alpha = 0+ for lambda ~ Beta(alpha, beta), against p/n. Points: mean "
        f"over training sets of the exact derivative; lines: the closed form in the limit. {BARS}{_signs_text(metric)} "
        "At finite n a training set is now and then under-confident (rho > 1), where the "
        f"derivative is positive, here in up to {100 * positive:.2g} % of those of a cell: the mean mixes both signs, "
        "and lies above the limit where p/n is small. No band shows the training sets, whose derivatives are nearly "
        f"two-pointed. The paper claims a decrease with p/n for large theta (Theorem {THEOREMS[metric]}). "
        f"{omitted('values of theta', len(thetas), table.sizes['theta_norm'])}"
        f"{omitted('panels (n, beta)', len(positions), table.sizes['n'] * table.sizes['mixup'])}"
        f"{settings_text(drawn, 'beta = ' + listed(drawn['beta'].values))}"
    )


def _signs_text(metric: str) -> str:
    if metric == "mce":
        return "In the limit it is negative and rises towards 0 with p/n for every theta > 0."
    return "In the limit it is negative; where it rises and where it falls with p/n depends on theta."
