"""Classifiers on learned features against the exact inverse: ECE, what learning costs, and Assumption 3.1."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from scipy.special import stdtrit

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


def half_width(table: xr.Dataset, name: str, comparisons: int = 1) -> xr.DataArray:
    """Return half of the 95 % interval of a mean over training seeds, or of several intervals that hold together.

    Student's t, with Bonferroni's correction for `comparisons`.
    """
    seeds = json.loads(table.attrs["config"])["training_seeds"]
    return table[f"{name}_se"] * float(stdtrit(seeds - 1, 1 - 0.025 / comparisons))


def _ece(table: xr.Dataset) -> Any:
    """Draw ECE against n with the h_hat of most rows, over that of the exact inverse."""
    half = half_width(table, "ece").isel(rows=-1)

    def draw(ax: Axes, panel: xr.Dataset) -> None:
        for order, name in enumerate(table["classifier"].values):
            row = panel.isel(rows=-1).sel(classifier=name)
            bar = half.sel(family=panel["family"], classifier=name)
            ax.errorbar(row["n"], row["ece"], bar, label=f"{NAMES[name]}, learned", **_points(order))
            ax.plot(row["n"], row["exact"], color=plots.COLORS[order], linewidth=0.9, label=f"{NAMES[name]}, exact")

    figure, axes = _drawn(table, draw, "training sample size $n$", "ECE", 2, _ece_title(table))
    axes[0].set_ylim(bottom=0)
    return figure


def _ece_title(table: xr.Dataset) -> str:
    """Return up to which n Mixup lowers the ECE with every learned inverse."""
    last = table.isel(rows=-1)
    helps = (last["difference"] + half_width(table, "difference").isel(rows=-1) < 0).all("family").values
    sizes = table["n"].values[helps.cumprod().astype(bool)]
    if not len(sizes):
        return "Mixup does not help with every learned inverse"
    return rf"Mixup helps up to $n = {sizes[-1]}$ with a learned inverse too"


def _excess(table: xr.Dataset) -> Any:
    """Draw ECE with the learned inverse minus ECE with the exact one, against the rows that it was learned from."""
    half = half_width(table, "mean_excess")

    def draw(ax: Axes, panel: xr.Dataset) -> None:
        ax.axhspan(-BAR, BAR, color="0.9", linewidth=0, zorder=0)
        ax.axhline(0, color="0.4", linewidth=0.6, zorder=0)
        for order, name in enumerate(table["classifier"].values):
            row, look = panel.sel(classifier=name), _points(order) | {"linestyle": "-", "label": NAMES[name]}
            ax.errorbar(row["rows"], row["mean_excess"], half.sel(family=panel["family"], classifier=name), **look)

    title = "Learning costs less ECE with more rows"
    return _drawn(table, draw, _ROWS, "ECE, learned $-$ exact", 2, title)[0]


def _assumption(table: xr.Dataset) -> Any:
    """Draw E|delta_u| against the rows that the inverse was learned from."""
    half = half_width(table, "delta")

    def draw(ax: Axes, panel: xr.Dataset) -> None:
        for order, name in enumerate(table["direction"].values):
            row, look = panel.sel(direction=name), _points(order) | {"linestyle": "-"}
            label = name.replace("theta*", r"$\theta^*$")
            above = half.sel(family=panel["family"], direction=name).values
            bar = [np.minimum(above, 0.95 * row["delta"].values), above]  # ends above 0, which the axis does not have
            ax.errorbar(row["rows"], row["delta"], bar, label=label, **look)
        ax.set_yscale("log")

    title = "More rows bring Assumption 3.1 nearer"
    figure, axes = _drawn(table, draw, _ROWS, r"E$|\delta_u|$", 3, title)
    plots.decades(axes[0], y=True)
    return figure


def _drawn(table: xr.Dataset, draw: Draw, x: str, y: str, columns: int, title: str) -> tuple[Any, Sequence[Axes]]:
    """Draw a panel for each family of generators, one below the other, with a key of so many columns."""
    families = table["family"].values
    figure, axes = plots.panels(len(families), 1, height=1.35)
    for ax, family in zip(axes, families, strict=True):
        ax.set_xscale("log")
        ax.set_title(f"{family} $g$", fontsize="medium")
        draw(ax, table.sel(family=family))
    axes[-1].set_xlabel(x)
    figure.supylabel(y, fontsize="medium")
    figure.suptitle(title, fontsize="medium")
    legend(figure, axes[0], columns, where="lower")
    return figure, axes


def _points(order: int) -> dict[str, Any]:
    return {"color": plots.COLORS[order], "marker": plots.MARKERS[order], "markersize": 3, "linestyle": "none",
            "linewidth": 0.9, "elinewidth": 0.8}  # fmt: skip


def _ece_caption(table: xr.Dataset) -> str:
    return (
        "ECE of classifiers on features h_hat(x) against their training sample size n. Points: h_hat learned from "
        f"{int(table['rows'][-1]):,} pairs, with 95 % intervals (Student's t, over training seeds); lines: the exact "
        f"inverse of g, same training sets. A panel is a family of generators x = g(z). {_settings(table)}"
    )


def _excess_caption(table: xr.Dataset) -> str:
    return (
        "ECE with the learned h_hat minus ECE with the exact inverse of g, same training sets, mean over n, against "
        "the number of pairs that h_hat is learned from; bars are 95 % intervals (Student's t, over training seeds). "
        f"Gray: up to {BAR:g}. {_settings(table)}"
    )


def _assumption_caption(table: xr.Dataset) -> str:
    return (
        "E|delta_u| of Assumption 3.1, the relative error of the density of v'h_hat(x) given y, against the number of "
        "pairs that h_hat is learned from, for v along theta*, in random directions, and for v the classifiers; the "
        "larger of both classes, bars are 95 % intervals (Student's t, over training seeds), cut off above 0. Both "
        f"axes are logarithmic. {_settings(table)}"
    )


def _settings(table: xr.Dataset) -> str:
    config = json.loads(table.attrs["config"])
    return (
        f"Settings: p = {config['p']}, d = {config['d']} (coupling: {config['p']}), |theta| = {config['theta_norm']}, "
        f"Mixup weight t = {table.attrs['t']:.3g}, {config['training_seeds']} training seeds, "
        f"{config['training_sets']} training sets each, {config['draws']:,} test draws, seed {config['seed']}. Without "
        f"units. {made_with(table)}"
    )
