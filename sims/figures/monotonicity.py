"""The derivative at alpha = 0+ in the limit: three ways to compute it, and where it falls with p/n."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from mixjax.plots import COLORS, Figure, cased_line, decades, level_line, line_key, panels

from .captions import NAMES, omitted, representatives, scale_text
from .marks import LIMIT, MEASURED, difference_bar, difference_map, legend

LINEAR = 0.001  # size of the growth up to which its color is linear
THEOREMS = {"ece": "3.3", "mce": "5.3"}
FINDINGS = {  # of the limit, for every theta > 0
    "ece": r"The ECE's slope falls with $p/n$ at some $|\theta|$ only",
    "mce": r"The MCE's slope rises with $p/n$ at every $|\theta|$",
}


def monotonicity_figures() -> tuple[Figure, ...]:
    return (
        Figure("derivative_three_ways", _three_ways, _three_ways_caption),
        Figure("monotonicity", _map, _map_caption),
    )


def _three_ways(table: xr.Dataset) -> Any:
    figure, axes = panels(2, 1, height=1.75)
    for ax, metric in zip(axes, THEOREMS, strict=True):
        for order, position in enumerate(_thetas(table)):
            line = table.isel(exact_theta_curve=position)
            style: dict[str, Any] = {"color": COLORS[order], "linewidth": 0.0, "markeredgewidth": 0.7}
            label = rf"$|\theta|/\sigma = {float(line['exact_theta_curve']):g}$"
            ax.plot(line["exact_ratio_curve"], line[f"{metric}_closed"], color=COLORS[order], label=label)
            points = line["check_ratio_curve"]
            ax.plot(points, line[f"{metric}_autodiff"], "o", markersize=4.5, markerfacecolor="none", **style)
            ax.plot(points, line[f"{metric}_differences"], "x", markersize=3, **style)
        ax.set_xscale("log")
        ax.set_title(FINDINGS[metric], pad=3)
        ax.set_ylabel(rf"d{NAMES[metric]} / d$\alpha$ at $\alpha = 0^+$")
        decades(ax, x=True)
    axes[1].set_xlabel("$p/n$")
    keys = [*axes[0].get_legend_handles_labels()[0], line_key("closed form", color="0.3")]
    ways = {"autodiff": "o", "finite differences": "x"}
    keys += [line_key(way, linewidth=0.0, marker=m, color="0.3", markerfacecolor="none") for way, m in ways.items()]
    legend(figure, keys, 2, columnspacing=1.2)
    return figure


def _thetas(table: xr.Dataset) -> list[int]:
    return representatives(table["exact_theta_curve"].values, len(COLORS))


def _three_ways_caption(table: xr.Dataset) -> str:
    apart = {
        way: max(
            float(np.abs(table[f"{metric}_{way}"].values - table[f"{metric}_closed"].values[:, ::10]).max())
            for metric in THEOREMS
        )
        for way in ("autodiff", "differences")
    }
    return (
        "Derivative of ECE and MCE in alpha at alpha = 0+ for lambda ~ Beta(alpha, 1), in the limit p/n -> c. Lines: "
        "closed form; circles: automatic differentiation of the limit's error, at most "
        f"{apart['autodiff']:.1g} apart; crosses: finite differences, at most {apart['differences']:.1g} apart. The "
        "theorems claim that the curves fall for large theta: those of the MCE rise for every theta. "
        f"{omitted('values of theta', len(_thetas(table)), table.sizes['exact_theta_curve'])}Without units."
    )


def _map(table: xr.Dataset) -> Any:
    figure, axes = panels(2, 1, height=1.75)
    x, y = table["map_theta_curve"].values, table["map_ratio_curve"].values
    mesh = None
    for ax, metric in zip(axes, THEOREMS, strict=True):
        growth = table[f"{metric}_growth"].values
        mesh = difference_map(ax, x, y, growth, 1.0, linear=LINEAR, cmap="PuOr")
        level_line(ax, x, y, growth, 0.0, **MEASURED[0])
        if metric == "ece":
            turning = table["turning_ratio"].values
            cased_line(ax, x, np.where(turning > 0, turning, np.nan), **LIMIT)
        ax.set_title(FINDINGS[metric], pad=3)
        ax.set(ylabel="$p/n$", ylim=(y[0], y[-1]))
        decades(ax, x=True)
    axes[1].set_xlabel(r"$|\theta|/\sigma$")
    keys = [line_key("no growth", **MEASURED[0]), line_key("turning ratio", **LIMIT)]
    legend(figure, keys, 2, handlelength=3.2)
    label = "growth of |slope| with $p/n$  (purple: as claimed)"
    difference_bar(figure, mesh, axes, label, 1.0, extend="both")
    return figure


def _map_caption(table: xr.Dataset) -> str:
    ece = float((table["ece_growth"] > 0).mean())
    mce = float(table["mce_growth"].max())
    x, y = table["map_theta_curve"].values, table["map_ratio_curve"].values
    return (
        "Where the derivative at alpha = 0+ falls with p/n, as Theorems 3.3 and 5.3 claim (purple), and where it rises "
        "(orange), in the limit: the growth of its size, d log |derivative| / d log p/n. Black: no growth; yellow, "
        "dashed: the p/n up to "
        f"which it falls (`turning_ratio`). For the ECE it falls on {100 * ece:.0f} % of the area in log |theta| from "
        f"{x[0]:g} to {x[-1]:g} and log p/n from {y[0]:g} to {y[-1]:g}; for the MCE nowhere, the largest growth being "
        f"{mce:.1g}. {scale_text(1.0, LINEAR)}They end at a growth of 1 and -1. Without units."
    )
