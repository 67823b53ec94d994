"""What each regularizer buys over the best weight decay, and the map of what Mixup does to the angle of a fit."""

from __future__ import annotations

from functools import partial
from typing import Any

import xarray as xr

from mixjax.plots import COLORS, MARKERS, Figure, decades, level_line, line_key, panels, signed

from .captions import scale_text, theta_label
from .marks import MEASURED, difference_bar, difference_map, largest_size, legend, name_axes

_SHOWN = {  # arm -> its words in the figure
    "Mixup": "Mixup",
    "smoothing": "smoothing",
    "weight decay, Mixup": "decay\n+ Mixup",
    "weight decay, smoothing": "decay\n+ smoothing",
}
_LINEAR = 1e-4
_NOTHING = 1e-6  # of NLL


def regularizers_figures() -> tuple[Figure, ...]:
    return (
        Figure("gain", _gain, _gain_caption),
        Figure("accuracy_identity", partial(_map, "identity"), partial(_map_caption, "identity")),
        Figure("accuracy_decay", partial(_map, "decay"), partial(_map_caption, "decay")),
    )


def _gain(table: xr.Dataset) -> Any:
    """Draw NLL less that of the best weight decay: a row for each arm, without and with a temperature."""
    figure, axes = panels(2 * len(_SHOWN), 2, height=1.15, share_y="row")
    for number, ax in enumerate(axes):
        arm, criterion = list(_SHOWN)[number // 2], str(table["criterion"].values[number % 2])
        ax.axhline(0, color="0.6", linewidth=0.6)
        changes = _changes(table, criterion, "best").sel(arm=arm)
        for order, theta_norm in enumerate(table["theta_norm"]):
            look = {"color": COLORS[order % len(COLORS)], "marker": MARKERS[order % len(MARKERS)]}
            _line(ax, changes.sel(theta_norm=theta_norm), theta_label(theta_norm), **look)
        decaying = rf"$|\theta| = 1$, eigenvalues $k^{{-{table.attrs['decay']:g}}}$"
        _line(ax, _changes(table, criterion, "best_decay").sel(arm=arm), decaying, color="black", linestyle="--")
        ax.set(xscale="log")
        ax.set_yscale("symlog", linthresh=_LINEAR)
        ax.set_yticks([-1e-2, -1e-4, 0] if "," in arm else [-1e-2, 0, 1e-2, 1])
        decades(ax, x=True)
        if number % 2 == 0:
            ax.set_ylabel(_SHOWN[arm])
    axes[0].set_title("no temperature", pad=3)
    axes[1].set_title("best temperature", pad=3)
    name_axes(axes, 2, "$p/n$")
    figure.supylabel("NLL $-$ NLL of the best weight decay", fontsize="medium")
    legend(figure, axes[0], 2, title=_finding(table))
    return figure


def _line(ax: Any, change: xr.DataArray, label: str, **look: Any) -> None:
    ax.plot(change["ratio"], change, markersize=2.4, linewidth=0.9, label=label, **look)


def _finding(table: xr.Dataset) -> str:
    """Say the largest gain of Mixup beside the best weight decay, without a temperature, of both spectra."""
    criterion = str(table["criterion"].values[0])
    equal, decaying = (
        -float(_changes(table, criterion, kind).sel(arm="weight decay, Mixup").min()) for kind in ("best", "best_decay")
    )
    bought = "nothing" if equal < _NOTHING else f"at most {equal:.1g} of NLL"
    rest = f"where eigenvalues decay, at most {max(decaying, 0.0):.1g} of NLL"
    return f"On top of a tuned weight decay Mixup buys {bought};\n{rest}"


def _changes(table: xr.Dataset, criterion: str, kind: str) -> xr.DataArray:
    nll = table[f"{criterion}_{kind}"].sel(criterion=criterion)
    return nll - nll.sel(arm="weight decay")


def _gain_caption(table: xr.Dataset) -> str:
    return (
        "NLL of the best choice of each arm, less that of the best weight decay, in the limit; below 0 it buys "
        "something. Every choice is tuned by minimization; Mixup and smoothing alone have a weak penalty, which is not "
        "chosen. Colors: Sigma = I; where the four lines are at 0, the best choice beside weight decay is none. "
        f"Vertical scale: symmetric logarithmic, linear within {_LINEAR:g} of 0. Right: after the best temperature, "
        "which leaves only the accuracy."
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
        mesh = difference_map(ax, x, y, panel.values, largest)
        level_line(ax, x, y, panel.values, 0.0, **MEASURED[0])
        ax.set_title(rf"$\alpha = \beta = {float(panel['map_alpha']):g}$", pad=3)
        ax.set_ylabel(r"penalty $\mu$")
        decades(ax, x=True)
        ax.set_yticks([1e-4, 1e-2, 1.0])
        ax.minorticks_off()
    axes[-1].set_xlabel("$p/n$")
    finding = f"Mixup changes the accuracy by {signed(round(float(change.min()), 2))} to +{float(change.max()):.2f}"
    legend(figure, [line_key("no change", **MEASURED[0])], 1, title=finding)
    difference_bar(figure, mesh, axes, "change of accuracy by Mixup  (red: better)", largest)
    return figure


def _map_caption(kind: str, table: xr.Dataset) -> str:
    spectrum = "Sigma = I" if kind == "identity" else f"eigenvalues k^-{table.attrs['decay']:g}"
    scale = scale_text(largest_size(table[f"accuracy_{kind}_change"].values)).rstrip()
    return (
        f"Accuracy with Mixup less that of the same penalty without, in the limit, {spectrum}, |theta| = 1: all that "
        f"is left after the best temperature. {scale}"
    )
