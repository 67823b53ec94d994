"""Mixup on real images: the difference of errors along p/n, its boundary, and how Gaussian the rows are."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from mixjax import plots
from mixjax.plots import Figure

from .captions import made_with, setting_label, setting_positions
from .marks import legend

_DATA = {"control": "o", "digits": "s", "fashion_mnist": "^"}
_DATA_NAMES = {"control": "control", "digits": "digits", "fashion_mnist": "Fashion-MNIST"}
_NAMES = {"square": "ECE$_2^2$, debiased", "ece": "ECE, plug-in"}


def real_images_figures() -> tuple[Figure, ...]:
    return (
        Figure("square_difference", partial(_difference, name="square"), partial(_difference_caption, name="square")),
        Figure("boundary", _boundary, _boundary_caption),
        Figure("scores", _scores, _scores_caption),
        Figure("ece_difference", partial(_difference, name="ece"), partial(_difference_caption, name="ece")),
    )


def _difference(table: xr.Dataset, name: str) -> Any:
    """Draw a panel for each pair: images as points, Gaussian rows dotted, the exact law as lines."""
    figure, axes = _panels(table, height=1.6)
    for ax, pair in zip(axes, table["pair"].values, strict=True):
        one = table.sel(pair=pair)
        ratio = one["p"] / one["n"]
        for order, position in enumerate(setting_positions(table)):
            cell, color = one.isel(mixup=position), plots.COLORS[order]
            difference, error = cell[f"{name}_difference"], cell[f"{name}_difference_se"].sel(rows="images")
            ax.plot(ratio, cell[f"{name}_difference_exact"], color=color, linewidth=0.9)
            ax.plot(ratio, difference.sel(rows="Gaussian rows"), color=color, linewidth=0.9, linestyle=":")
            plots.points_with_bars(ax, ratio.values, difference.sel(rows="images").values, error.values, color=color,
                                   marker=plots.MARKERS[order], label=setting_label(cell))  # fmt: skip
        ax.axhline(0, color="0.4", linewidth=0.6, zorder=0)
        ax.set_xscale("log")
        ax.set_yscale("symlog", linthresh=1e-3 if name == "square" else 1e-2, linscale=1.2)
        plots.decades(ax, x=True)
        ax.set_title(rf"{pair} ($|\theta| = {float(one['theta_norm']):.2f}$)")
        ax.set_xlabel("$p/n$")
        ax.label_outer()
    figure.supylabel(f"{_NAMES[name]}: Mixup \N{MINUS SIGN} plain", fontsize="medium")
    keys = [plots.line_key("Definition 3.1, exact", color="0.3"),
            plots.line_key("Gaussian rows, same moments", color="0.3", linestyle=":")]  # fmt: skip
    legend(figure, [*axes[0].get_legend_handles_labels()[0], *keys], 3, where="lower")
    return figure


def _boundary(table: xr.Dataset) -> Any:
    """Draw the measured boundary against that of Definition 3.1, a point for each pair and weight."""
    figure, axes = plots.panels(2, 2, height=3.0, width=2 * plots.COLUMN_WIDTH)
    law = table["square_critical_exact"]
    lowest, highest = (float(end) for end in (table["ratio"].min(), table["ratio"].max()))
    for ax, rows in zip(axes, ("Gaussian rows", "images"), strict=True):
        for order, position in enumerate(setting_positions(table)):
            for data, marker in _DATA.items():
                kept = (table["data_set"] == data).values
                found = table["square_critical"].sel(rows=rows).isel(mixup=position).values[kept]
                error = table["square_critical_se"].sel(rows=rows).isel(mixup=position).values[kept]
                look: dict[str, Any] = {"color": plots.COLORS[order], "markersize": 4.5, "linewidth": 0}
                none, x = np.isnan(found), law.isel(mixup=position).values[kept]
                bars = np.nan_to_num(np.array([np.minimum(error, found * 0.999), error]), nan=0.0)
                ax.errorbar(x[~none], found[~none], bars[:, ~none], marker=marker, elinewidth=0.7, **look)
                ax.plot(x[none], np.full(none.sum(), lowest), marker=marker, markerfacecolor="white", **look)
        ends = [lowest * 0.8, highest]
        ax.plot(ends, ends, color="0.4", linewidth=0.6, zorder=0)
        ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends, title=rows)
        ax.set_xlabel("boundary of Definition 3.1, $p/n$")
        plots.decades(ax, x=True, y=True)
    axes[0].set_ylabel("measured boundary, $p/n$")
    return _with_boundary_legend(figure, table)


def _with_boundary_legend(figure: Any, table: xr.Dataset) -> Any:
    from matplotlib.lines import Line2D

    plain: dict[str, Any] = {"linewidth": 0, "markersize": 4.5}
    keys = [
        Line2D([], [], marker="o", color=plots.COLORS[order], label=setting_label(table.isel(mixup=position)), **plain)
        for order, position in enumerate(setting_positions(table))
    ]
    here = [data for data in _DATA if data in table["data_set"].values]
    keys += [Line2D([], [], marker=_DATA[data], color="0.3", label=_DATA_NAMES[data], **plain) for data in here]
    keys.append(Line2D([], [], marker="o", color="0.3", markerfacecolor="white", label="none found", **plain))
    legend(figure, keys, 4, where="lower")
    return figure


def _scores(table: xr.Dataset) -> Any:
    """Draw the density of the score along theta in each class, on a logarithmic axis, beside that of Definition 3.1."""
    figure, axes = _panels(table, height=1.35)
    score = table["score"].values
    for ax, pair in zip(axes, table["pair"].values, strict=True):
        one = table.sel(pair=pair)
        for color, side in ((plots.COLORS[0], 1.0), (plots.COLORS[1], -1.0)):
            density = one["histogram"].sel({"class": f"{side:+.0f}"}).values
            mean = side * float(one["theta_norm"])
            ax.plot(score, np.exp(-0.5 * (score - mean) ** 2) / np.sqrt(2 * np.pi), color=color, linewidth=0.8)
            ax.step(score, np.where(density > 0, density, np.nan), color=color, where="mid", linewidth=0.8)
            ax.fill_between(score, density, 1e-6, color=color, step="mid", alpha=plots.BAND, linewidth=0)
        ax.set(yscale="log", ylim=(1e-4, 1), title=pair)
    figure.supxlabel(r"score along $\theta$", fontsize="medium")
    figure.supylabel("density in each class", fontsize="medium")
    keys = [plots.line_key(f"class ${sign}1$", color=color) for sign, color in zip("+-", plots.COLORS, strict=False)]
    legend(figure, keys, 2)
    return figure


def _panels(table: xr.Dataset, *, height: float) -> tuple[Any, Any]:
    return plots.panels(table.sizes["pair"], 3, height=height, width=2 * plots.COLUMN_WIDTH)


def _difference_caption(table: xr.Dataset, name: str) -> str:
    biased = " The plug-in is biased upwards where an error is small and test rows are few." if name == "ece" else ""
    return (
        f"{_NAMES[name].replace('$_2^2$', '_2 squared')}: Mixup minus plain against p/n, for two whitened classes. "
        "Points: images, with bars of two standard errors; dotted: Gaussian rows of the same class means and "
        "covariances; lines: the exact law of Definition 3.1 at the same n, p and |theta|. Below 0 Mixup is better "
        f"calibrated.{biased} {_settings(table)}"
    )


def _boundary_caption(table: xr.Dataset) -> str:
    return (
        "The p/n above which Mixup lowers ECE_2, measured (debiased, with bars of one standard error) against that of "
        "Definition 3.1 at the same p and |theta|; a point for each pair of classes and each (alpha, beta). Left: "
        "Gaussian rows of the same class means and covariances. Right: images. Hollow, at the lower edge: the measured "
        f"difference never falls from above 0, it is below 0 or noise at every p/n. {_settings(table)}"
    )


def _scores_caption(table: xr.Dataset) -> str:
    return (
        "Density of theta'z/|theta| in each class of whitened rows that had no part in the whitening (filled steps), "
        f"beside the normal densities of Definition 3.1 (lines). {_settings(table)}"
    )


def _settings(table: xr.Dataset) -> str:
    config = json.loads(table.attrs["config"])
    dimensions = dict(zip(table["data_set"].values, table["p"].values, strict=True))
    sizes = ", ".join(f"p = {p} ({_DATA_NAMES[data]})" for data, p in dimensions.items())
    return (
        f"Settings: {sizes}; {int(table['divisions'].min())} to {int(table['divisions'].max())} divisions of the rows "
        f"of a pair with 20 training sets each, seed {config['seed']}. Without units. "
        f"{made_with(table)}"
    )
