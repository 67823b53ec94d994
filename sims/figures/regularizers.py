"""What each regularizer buys over the best weight decay, and the map of what Mixup does to the angle of a fit."""

from __future__ import annotations

from functools import partial
from typing import Any

import xarray as xr

from mixjax.plots import COLORS, COLUMN_WIDTH, MARKERS, Figure, decades, heat_map, level_line, line_key, panels

from .captions import theta_label
from .marks import MEASURED, difference_bar, largest_size, legend

_SHOWN = {"Mixup": 1, "smoothing": 2, "weight decay, smoothing": 4, "weight decay, Mixup": 3}  # arm -> colour


def regularizers_figures() -> tuple[Figure, ...]:
    return (
        Figure("gain", _gain, _gain_caption),
        Figure("accuracy_identity", partial(_map, "identity"), partial(_map_caption, "identity")),
        Figure("accuracy_decay", partial(_map, "decay"), partial(_map_caption, "decay")),
    )


def _gain(table: xr.Dataset) -> Any:
    """Draw NLL less that of the best weight decay: a row for each theta, without and with a temperature."""
    thetas = table["theta_norm"].values
    figure, axes = panels(2 * len(thetas), 2, height=1.15, width=COLUMN_WIDTH)
    for number, ax in enumerate(axes):
        row, column = divmod(number, 2)
        criterion = table["criterion"].values[column]
        nll = table[f"{criterion}_best"].isel(theta_norm=row).sel(criterion=criterion)
        ax.axhline(0, color="0.6", linewidth=0.6)
        for arm, color in _SHOWN.items():
            change = nll.sel(arm=arm) - nll.sel(arm="weight decay")
            ax.plot(nll["ratio"], change, color=COLORS[color], marker=MARKERS[color], markersize=2.4, linewidth=0.9,
                    label=arm)  # fmt: skip
        ax.set(xscale="log")
        ax.set_yscale("symlog", linthresh=1e-3)
        ax.set_yticks([-1e-2, 0, 1e-2, 1])
        decades(ax, x=True)
        if row == 0:
            ax.set_title("no temperature" if column == 0 else "best temperature", pad=3)
        if column == 0:
            ax.set_ylabel(theta_label(nll["theta_norm"]))
    for ax in axes[-2:]:
        ax.set_xlabel("$p/n$")
    figure.supylabel("NLL $-$ NLL of the best weight decay", fontsize="medium")
    legend(figure, axes[0], 2)
    return figure


def _gain_caption(table: xr.Dataset) -> str:
    return (
        "NLL of the best choice of each arm, less that of the best weight decay, in the limit; below 0 it buys "
        "something. Mixup and smoothing alone have the weakest penalty that was tried. Vertical scale: linear within "
        "0.001, logarithmic beyond. Right: after the best temperature, which leaves only the accuracy."
    )


def _map(kind: str, table: xr.Dataset) -> Any:
    """Draw the change of accuracy by Mixup over p/n and the penalty, a panel for each alpha."""
    change = table[f"accuracy_{kind}_change"]
    if min(table.sizes["map_ratio"], table.sizes["map_penalty"]) < 2:
        return None
    largest = largest_size(change.values)
    figure, axes = panels(table.sizes["map_alpha"], 1, height=1.35)
    mesh = None
    for number, ax in enumerate(axes):
        panel = change.isel(map_alpha=number).transpose("map_penalty", "map_ratio")
        x, y = panel["map_ratio"].values, panel["map_penalty"].values
        mesh = heat_map(ax, x, y, panel.values, center=0.0, limit=largest, linear=largest / 30)
        level_line(ax, x, y, panel.values, 0.0, casing="white", **MEASURED[0])
        ax.set_title(rf"$\alpha = \beta = {float(panel['map_alpha']):g}$", pad=3)
        ax.set_ylabel(r"penalty $\mu$")
        decades(ax, x=True)
        ax.set_yticks([1e-4, 1e-2, 1.0])
        ax.minorticks_off()
    axes[-1].set_xlabel("$p/n$")
    legend(figure, [line_key("no change", casing="white", **MEASURED[0])], 1)
    difference_bar(figure, mesh, axes, "change of accuracy by Mixup  (red: better)", largest)
    return figure


def _map_caption(kind: str, table: xr.Dataset) -> str:
    spectrum = "Sigma = I" if kind == "identity" else f"eigenvalues k^-{table.attrs['decay']:g}"
    return (
        f"Accuracy with Mixup less that of the same penalty without, in the limit, {spectrum}, |theta| = 1: all that "
        "is left after the best temperature. Colours: symmetric logarithmic beyond a thirtieth of the largest."
    )
