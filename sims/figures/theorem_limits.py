"""Exact limits behind the theorems, with the configurations that are measured: 3.3, 4.1, 5.3, and the step of 5.3."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from mixjax import plots

from .theorem_shares import cells_of, one_panel, titled

PEAK = 0.7717  # of v sech^2 v


def draw_turning_ratio(table: xr.Dataset) -> Any:
    """3.3: how large theta must be for c_max, and the configurations that are true and false."""
    figure, ax, row = one_panel(table, "3.3", height=2.4)
    norm, turning = table["turning_norm"].values, table["turning"].values
    ax.fill_between(norm, 0.3, np.maximum(turning, 0.3), color=plots.COLORS[0], alpha=plots.BAND, linewidth=0)
    ax.plot(norm, np.where(turning > 0, turning, np.nan), color=plots.COLORS[0], label=r"turning ratio of $|\theta|$")
    for true, face in ((True, "black"), (False, "white")):
        shown = [cell for k, cell in cells_of(row).items() if _true(row.isel(configuration=k)) == true]
        x, y = ([float(cell[name]) for cell in shown] for name in ("|theta|", "c_max"))
        label = "99 % of training sets or more" if true else "fewer"
        ax.plot(x, y, "o", markersize=4, markeredgecolor="black", markerfacecolor=face, label=label)
    ax.text(4.3, 3, "derivative negative\nand falling", fontsize=7, ha="center", va="center")
    ax.set(yscale="log", xlabel=r"$|\theta|$", ylabel=r"$c_{\max}$", ylim=(0.5, 1500), xlim=(0.8, 6))
    return titled(figure, ax, r"3.3 holds; how large $\theta$ must be for $c_{\max}$", 2, columnspacing=1.0)


def _true(one: xr.Dataset) -> bool:
    return bool(one["share"].values[-1] >= 0.99)


def draw_few_labels(table: xr.Dataset) -> Any:
    """4.1: how large theta must be for C1 and n_u, and the configurations that are true and false."""
    figure, ax, row = one_panel(table, "4.1", height=2.6)
    names = {"n^0.5": r"$n_u = \sqrt{n_l}$", "n": "$n_u = n_l$", "10 n": "$10\\,n_l$", "200 n": "$200\\,n_l$"}
    for order, (n_u, label) in enumerate(names.items()):
        color, marker = plots.COLORS[order], plots.MARKERS[order]
        ax.plot(table["relative_norm"], table["sufficient_norm"].isel(per_label=order), color=color)
        for k, cell in cells_of(row).items():
            if cell["n_u"] == n_u:
                relative = float(cell["|theta| / sqrt(p/n_l)"])
                norm = relative * np.sqrt(float(cell["p/n_l"]))
                face = color if _true(row.isel(configuration=k)) else "white"
                ax.plot(
                    relative * 1.05 ** (order - 1.5), norm, marker, color=color, markersize=3.5, markerfacecolor=face
                )
        ax.plot([], [], marker + "-", color=color, markersize=4, label=label)
    ax.set(xscale="log", yscale="log", xlim=(0.05, 3), ylim=(0.03, 20))
    ax.set(xlabel=r"$|\theta|\,/\sqrt{p/n_l}$", ylabel=r"$|\theta|$")
    plots.decades(ax, x=True)
    return titled(figure, ax, r"4.1 holds; how large $|\theta|$ must be for $C_1$ and $n_u$", 4, columnspacing=1.0)


def draw_mce_derivative(table: xr.Dataset) -> Any:
    """5.3: the derivative of the MCE against p/n, and the levels at which it is measured."""
    figure, ax, row = one_panel(table, "5.3", height=2.4)
    ratio = table["derivative_ratio"].values
    tested = {float(cell["|theta|"]): float(cell["c_max"]) for cell in cells_of(row).values()}
    for order, norm in enumerate(table["derivative_norm"].values):
        line = table["mce_derivative"].isel(derivative_norm=order).values
        levels = tested[float(norm)] * np.array([0.25, 0.5, 0.75, 1.0])
        ax.plot(ratio, line, color=plots.COLORS[order], label=rf"$|\theta| = {norm:g}$")
        ax.plot(levels, np.interp(np.log(levels), np.log(ratio), line), plots.MARKERS[order], markersize=3,
                color=plots.COLORS[order])  # fmt: skip
    ax.annotate("", (0.2, -0.1), (0.02, -0.055), arrowprops={"arrowstyle": "->", "color": "0.3", "linewidth": 0.9})
    ax.text(0.012, -0.045, "claimed direction", fontsize=7, color="0.3")
    ax.set(xscale="log", xlabel="$p/n$", ylabel=r"$d\,$MCE(mix)$/d\alpha$ at $0^+$")
    return titled(figure, ax, "5.3 is refuted: the derivative rises with $p/n$", 3, columnspacing=1.0)


def draw_step(table: xr.Dataset) -> Any:
    """The step of the proof of 5.3: the paper's Figure 5 with the v* of every rho on it."""
    figure, (ax,) = plots.panels(1, 1, height=2.4)
    x = np.linspace(0, 3.6, 300)
    ax.plot(x, x / np.cosh(x) ** 2, color="0.35", linewidth=0.9, label=r"$x/\cosh^2 x$ (the paper's Figure 5)")
    v, value, slope = (table[name].values for name in ("widest", "widest_value", "slope"))
    ax.plot(v, value, color=plots.COLORS[1], linewidth=2.2, label=r"at $v^*(\rho)$, $0 < \rho < 1$")
    ax.axvline(PEAK, color="0.4", linewidth=0.6, linestyle=":", zorder=0)
    ax.text(PEAK - 0.06, 0.03, f"peak\nat {PEAK:g}", fontsize=7, ha="right")
    for wanted in (0.9, 0.5, 0.2, 0.05, 0.01):
        k = int(np.argmin(np.abs(slope - wanted)))
        ax.plot(v[k], value[k], "o", color=plots.COLORS[1], markersize=3)
        ax.annotate(rf"$\rho = {wanted:g}$", (v[k], value[k]), (6, 2), textcoords="offset points", fontsize=7)
    ax.set(xlabel="$x$", ylabel=r"$x/\cosh^2 x$", xlim=(0, 3.6), ylim=(0, 0.5))
    return titled(figure, ax, r"Every $v^*$ is on the falling side", 1)
