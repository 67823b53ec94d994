"""Beyond the paper: what Mixup does to the ECE of the average, of a ridge and of a logistic fit."""

from __future__ import annotations

from typing import Any

import xarray as xr

from mixjax.plots import COLORS, COLUMN_WIDTH, MARKERS, Figure, decades, panels, points_with_bars

from .captions import theta_label
from .marks import legend


def fits_figures() -> tuple[Figure, ...]:
    return (Figure("mixup_of_fits", _changes, _caption),)


def _changes(table: xr.Dataset) -> Any:
    """Draw a row for each theta, and a column for each fit."""
    fits = table["fit"].values
    cells = [(theta, fit) for theta in range(table.sizes["theta_norm"]) for fit in fits]
    figure, axes = panels(len(cells), len(fits), height=1.9, width=2 * COLUMN_WIDTH)
    for ax, (theta, fit) in zip(axes, cells, strict=True):
        panel = table.isel(theta_norm=theta).sel(fit=fit)
        ax.set_title(_title(str(fit)) if theta == 0 else "", pad=3)
        if fit == fits[0]:
            ax.set_ylabel(theta_label(panel["theta_norm"]))
        shown = 0.7 * float(table["ratio"].min()), 1.4 * float(table["ratio"].max())
        _draw(ax, panel.sel(fine_ratio=slice(*shown)))
        ax.set_xscale("log")
        ax.set_xlim(*shown)
        decades(ax, x=True)
    for ax in axes[-len(fits) :]:
        ax.set_xlabel("$p/n$")
    figure.supylabel(r"ECE(mix) $-$ ECE", fontsize="medium")
    legend(figure, axes[0], table.sizes["alpha"])
    return figure


def _title(fit: str) -> str:
    name, _, penalty = fit.partition(" ")
    return rf"{name}, $\mu = {penalty}$" if penalty else name


def _draw(ax: Any, panel: xr.Dataset) -> None:
    ax.axhline(0, color="0.6", linewidth=0.6)
    for number, alpha in enumerate(panel["alpha"].values):
        row, color = panel.sel(alpha=alpha), COLORS[number % len(COLORS)]
        ax.plot(row["fine_ratio"], row["change_limit"], color=color, linewidth=0.9)
        ax.axvline(float(row["boundary"]), color=color, linestyle="dotted", linewidth=0.8)
        points_with_bars(ax, row["ratio"].values, row["change"].values, row["change_se"].values, color=color,
                         marker=MARKERS[number % len(MARKERS)], label=rf"$\alpha = \beta = {alpha:g}$")  # fmt: skip


def _caption(table: xr.Dataset) -> str:
    return (
        "ECE(mix) - ECE against p/n; below 0 Mixup helps. Points: means over "
        f"{int(table.attrs['replicates'])} literal training sets of n = {int(table.attrs['n'])} (paired) with bars of "
        "two standard errors; lines: the limit as n grows, of the logistic fit for all pairs. Dotted: p/n above which "
        "Mixup helps the paper's average, in the limit. Ridge: Mixup in expectation over pairs; logistic: "
        f"{int(table.attrs['epochs'])} n random pairs. mu is the penalty."
    )
