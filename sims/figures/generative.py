"""Classifiers on learned features against the exact inverse: ECE, what learning costs, and Assumption 3.1."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import xarray as xr

from mixjax import plots
from mixjax.plots import Figure

from .captions import made_with
from .marks import legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAR = 0.005  # what learning may cost in ECE
NAMES = {"plain": "without Mixup", "mixup": "with Mixup"}
_ROWS = r"rows that $\hat h$ is learned from"
Draw = Callable[["Axes", xr.Dataset], None]


def generative_figures() -> tuple[Figure, ...]:
    return (
        Figure("ece", _ece, _ece_caption),
        Figure("excess", _excess, _excess_caption),
        Figure("assumption", _assumption, _assumption_caption),
    )


def _ece(table: xr.Dataset) -> Any:
    """Draw ECE against n with the h_hat of most rows, over that of the exact inverse."""

    def draw(ax: Axes, panel: xr.Dataset) -> None:
        for order, name in enumerate(table["classifier"].values):
            row = panel.isel(rows=-1).sel(classifier=name)
            ax.errorbar(row["n"], row["ece"], 2 * row["ece_se"], label=f"{NAMES[name]}, learned", **_points(order))
            ax.plot(row["n"], row["exact"], color=plots.COLORS[order], linewidth=0.9, label=f"{NAMES[name]}, exact")

    figure, axes = _drawn(table, draw, "training sample size $n$", "ECE", 4)
    axes[0].set_ylim(bottom=0)
    return figure


def _excess(table: xr.Dataset) -> Any:
    """Draw ECE with the learned inverse minus ECE with the exact one, against the rows that it was learned from."""

    def draw(ax: Axes, panel: xr.Dataset) -> None:
        ax.axhspan(-BAR, BAR, color="0.9", linewidth=0, zorder=0)
        ax.axhline(0, color="0.4", linewidth=0.6, zorder=0)
        for order, name in enumerate(table["classifier"].values):
            row, look = panel.sel(classifier=name), _points(order) | {"linestyle": "-", "label": NAMES[name]}
            ax.errorbar(row["rows"], row["mean_excess"], 2 * row["mean_excess_se"], **look)

    return _drawn(table, draw, _ROWS, "ECE, learned minus exact", 2)[0]


def _assumption(table: xr.Dataset) -> Any:
    """Draw E|delta_u| against the rows that the inverse was learned from."""

    def draw(ax: Axes, panel: xr.Dataset) -> None:
        for order, name in enumerate(table["direction"].values):
            row, look = panel.sel(direction=name), _points(order) | {"linestyle": "-"}
            label = name.replace("theta*", r"$\theta^*$")
            ax.errorbar(row["rows"], row["delta"], 2 * row["delta_se"], label=label, **look)
        ax.set_yscale("log")

    figure, axes = _drawn(table, draw, _ROWS, r"E$|\delta_u|$", 3)
    plots.decades(axes[0], y=True)
    return figure


def _drawn(table: xr.Dataset, draw: Draw, x: str, y: str, columns: int) -> tuple[Any, Sequence[Axes]]:
    """Draw a panel for each family of generators, with a key of so many columns."""
    families = table["family"].values
    figure, axes = plots.panels(len(families), 3, height=2.3, width=2 * plots.COLUMN_WIDTH)
    for ax, family in zip(axes, families, strict=True):
        ax.set(xscale="log", title=f"{family} $g$", xlabel=x)
        draw(ax, table.sel(family=family))
    axes[0].set_ylabel(y)
    legend(figure, axes[0], columns, where="lower")
    return figure, axes


def _points(order: int) -> dict[str, Any]:
    return {"color": plots.COLORS[order], "marker": plots.MARKERS[order], "markersize": 3, "linestyle": "none",
            "linewidth": 0.9, "elinewidth": 0.8}  # fmt: skip


def _ece_caption(table: xr.Dataset) -> str:
    return (
        "ECE of classifiers on features h_hat(x) against their training sample size n. Points: h_hat learned from "
        f"{int(table['rows'][-1]):,} pairs, with bars of two standard errors over training seeds; lines: the exact "
        f"inverse of g, same training sets. A panel is a family of generators x = g(z). {_settings(table)}"
    )


def _excess_caption(table: xr.Dataset) -> str:
    return (
        "ECE with the learned h_hat minus ECE with the exact inverse of g, same training sets, mean over n, against "
        "the number of pairs that h_hat is learned from; bars of two standard errors over training seeds. Grey: up to "
        f"{BAR:g}. "
        f"{_settings(table)}"
    )


def _assumption_caption(table: xr.Dataset) -> str:
    return (
        "E|delta_u| of Assumption 3.1, the relative error of the density of v'h_hat(x) given y, against the number of "
        "pairs that h_hat is learned from, for v along theta*, in random directions, and for v the classifiers; the "
        f"larger of both classes, bars of two standard errors over training seeds. {_settings(table)}"
    )


def _settings(table: xr.Dataset) -> str:
    config = json.loads(table.attrs["config"])
    return (
        f"Settings: p = {config['p']}, d = {config['d']} (coupling: {config['p']}), |theta| = {config['theta_norm']}, "
        f"Mixup weight t = {table.attrs['t']:.3g}, {config['training_seeds']} training seeds, "
        f"{config['training_sets']} training sets each, {config['draws']:,} test draws, seed {config['seed']}. Without "
        f"units. {made_with(table)}"
    )
