"""Beyond the paper: what Mixup does to the ECE of the average, of a ridge and of a logistic fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from mixjax.plots import COLORS, COLUMN_WIDTH, MARKERS, decades, panels, points_with_bars

from ..study import Figure
from .captions import last_crossing, theta_label


def fits_figures() -> tuple[Figure, ...]:
    return (Figure("mixup_of_fits", _changes, _caption),)


def _changes(table: xr.Dataset) -> Any:
    """A row for each theta, and a column for each fit."""
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
    handles, _ = axes[0].get_legend_handles_labels()
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)
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
        "two standard errors; lines: the limit as n grows, where it is known. Dotted: p/n above which Mixup helps the "
        "paper's average, in the limit. Ridge: Mixup in expectation over pairs; logistic: "
        f"{int(table.attrs['epochs'])} n random pairs. mu is the penalty."
    )


def fits_report(table: xr.Dataset) -> str:
    """Where Mixup helps each fit, and what it is worth at the largest p/n."""
    rows = [
        "# Mixup of the average, of a ridge, and of a logistic fit",
        "",
        "p/n beyond which Mixup helps for good: the limit (up to 20), and the simulation at n = "
        f"{int(table.attrs['n'])} (interpolated, from {float(table['ratio'].min()):g} to "
        f"{float(table['ratio'].max()):g}). Against: cells whose sign differs from that of the average's boundary by "
        "more than three standard errors.",
        "",
        "| fit | \\|theta\\| / sigma | alpha = beta | average's boundary | limit | simulated | against | "
        "ECE at the largest p/n | with Mixup |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for fit in table["fit"].values:
        for theta in table["theta_norm"].values:
            rows += [_row(table.sel(fit=fit, theta_norm=theta, alpha=alpha)) for alpha in table["alpha"].values]
    lost = float(table["not_converged"].max())
    return "\n".join([*rows, "", f"Training sets without a converged fit: at most {lost:.2%} of a cell."])


def _row(cell: xr.Dataset) -> str:
    ratio, change = cell["ratio"].values, cell["change"].values
    order = np.argsort(ratio)
    known = np.isfinite(cell["change_limit"].values).all()
    limit = last_crossing(cell["fine_ratio"].values, cell["change_limit"].values) if known else "unknown"
    expected = np.where(ratio > float(cell["boundary"]), -1, 1)
    against = int((change * expected < -3 * cell["change_se"].values).sum())
    largest = cell.isel(ratio=int(order[-1]))
    values = [str(cell["fit"].values), f"{float(cell['theta_norm']):g}", f"{float(cell['alpha']):g}"]
    values += [f"{float(cell['boundary']):.3g}", limit, last_crossing(ratio[order], change[order])]
    values += [f"{against} of {len(ratio)}", f"{float(largest['ece_plain']):.4f}", f"{float(largest['ece_mix']):.4f}"]
    return f"| {' | '.join(values)} |"
