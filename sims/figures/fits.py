"""Beyond the paper: what Mixup does to the average, to a ridge and to a logistic fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from mixjax.plots import COLORS, MARKERS, Figure, decades, panels, points_with_bars

from .captions import BARS, theta_label
from .marks import legend, name_axes


def fits_figures() -> tuple[Figure, ...]:
    return (
        Figure("mixup_of_fits", _changes, _caption),
        Figure("accuracy_and_confidence", _weakest, _weakest_caption),
    )


def _changes(table: xr.Dataset) -> Any:
    """Draw a row for each fit, and a column for each theta."""
    cells = [(fit, theta) for fit in table["fit"].values for theta in range(table.sizes["theta_norm"])]
    figure, axes = _panels(table, len(cells))
    for ax, (fit, theta) in zip(axes, cells, strict=True):
        panel = table.isel(theta_norm=theta).sel(fit=fit)
        _draw_changes(ax, panel.sel(fine_ratio=slice(*_shown(table))))
        if theta == 0:
            ax.set_ylabel(str(fit).replace(" ", "\n$\\mu = $", 1))
    figure.supylabel(r"ECE(mix) $-$ ECE", fontsize="medium")
    legend(figure, axes[0], table.sizes["alpha"], title="The average's boundary (dotted) is not that of other fits")
    return figure


def _panels(table: xr.Dataset, count: int, height: float = 1.15) -> tuple[Any, Sequence[Any]]:
    """Make panels against p/n, a column for each theta."""
    columns = table.sizes["theta_norm"]
    figure, axes = panels(count, columns, height=height)
    for ax, theta_norm in zip(axes[:columns], table["theta_norm"], strict=True):
        ax.set_title(theta_label(theta_norm), pad=3)
        ax.set(xscale="log", xlim=_shown(table))
        decades(ax, x=True)
    name_axes(axes, columns, "$p/n$")
    return figure, axes


def _shown(table: xr.Dataset) -> tuple[float, float]:
    return 0.7 * float(table["ratio"].min()), 1.4 * float(table["ratio"].max())


def _draw_changes(ax: Any, panel: xr.Dataset) -> None:
    ax.axhline(0, color="0.6", linewidth=0.6)
    for number, alpha in enumerate(panel["alpha"].values):
        row, color = panel.sel(alpha=alpha), COLORS[number % len(COLORS)]
        ax.plot(row["fine_ratio"], row["change_limit"], color=color, linewidth=0.9)
        ax.axvline(float(row["boundary"]), color=color, linestyle="dotted", linewidth=0.8)
        points_with_bars(ax, row["ratio"].values, row["change"].values, row["change_se"].values, color=color,
                         marker=MARKERS[number % len(MARKERS)], label=rf"$\alpha = \beta = {alpha:g}$")  # fmt: skip


def _weakest(table: xr.Dataset) -> Any:
    """Draw accuracy above confidence of the last fit, the logistic one with the last penalty."""
    columns = table.sizes["theta_norm"]
    figure, axes = _panels(table, 2 * columns, height=1.5)
    for number, ax in enumerate(axes):
        name = ("accuracy", "confidence")[number // columns]
        panel = table.isel(fit=-1, theta_norm=number % columns).sel(fine_ratio=slice(*_shown(table)))
        ax.axvline(1.0, color="0.6", linewidth=0.6)
        _draw_arm(ax, panel, f"{name}_plain", color="0.35", marker="x", label="no Mixup")
        for order, alpha in enumerate(panel["alpha"].values):
            style = {"color": COLORS[order % len(COLORS)], "marker": MARKERS[order % len(MARKERS)]}
            _draw_arm(ax, panel.sel(alpha=alpha), f"{name}_mix", label=rf"$\alpha = \beta = {alpha:g}$", **style)
        if number % columns == 0:
            ax.set_ylabel(f"mean {name}" if name == "confidence" else name)
    legend(figure, axes[0], 3, columnspacing=1.2, title=_near_one(table))
    return figure


def _draw_arm(ax: Any, panel: xr.Dataset, name: str, *, color: str, **style: Any) -> None:
    points_with_bars(ax, panel["ratio"].values, panel[name].values, panel[f"{name}_se"].values, within=(0.0, 1.0),
                     color=color, **style)  # fmt: skip
    ax.plot(panel["fine_ratio"], panel[f"{name}_limit"], color=color, linewidth=0.9)


def _near_one(table: xr.Dataset) -> str:
    """Say what the last Mixup does to the accuracy of the last fit at the p/n that is nearest to 1."""
    nearest = int(np.abs(np.log(table["ratio"].values)).argmin())
    cell = table.isel(ratio=nearest, theta_norm=0, fit=-1, alpha=-1)
    return (
        rf"$p/n = {float(cell['ratio']):g}$, $\alpha = {float(cell['alpha']):g}$, {theta_label(cell['theta_norm'])}: "
        rf"accuracy {float(cell['accuracy_plain']):.2f} $\to$ {float(cell['accuracy_mix']):.2f}"
    )


def _caption(table: xr.Dataset) -> str:
    return (
        f"ECE(mix) - ECE against p/n; below 0 Mixup helps. {_settings(table)} Dotted: p/n above which Mixup helps the "
        "paper's average, in the limit. Ridge: Mixup in expectation over pairs; logistic: "
        f"{int(table.attrs['epochs'])} n random pairs. mu is the penalty."
    )


def _weakest_caption(table: xr.Dataset) -> str:
    name, _, penalty = str(table["fit"].values[-1]).partition(" ")
    return (
        f"Accuracy and mean confidence against p/n of the {name} fit{f' with mu = {penalty}' if penalty else ''}, "
        f"without Mixup and with {int(table.attrs['epochs'])} n random pairs. {_settings(table)} Vertical line: p = n."
    )


def _settings(table: xr.Dataset) -> str:
    return (
        f"Points: means over {int(table.attrs['replicates'])} literal training sets of n = {int(table.attrs['n'])} "
        f"(paired); lines: the limit as n grows, of the logistic fit for all pairs. {BARS}".rstrip()
    )
