"""Mixup on real images: the difference of errors along p/n, its boundary, and how Gaussian the rows are."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from mixjax import plots
from mixjax.plots import Figure

from ..reports.real_images import NAMES, boundary_interval, signs
from .captions import made_with, setting_label, setting_positions
from .marks import legend

_ERRORS = {"square": "ECE$_2^2$, debiased", "ece": "ECE, plug-in"}
_LINEAR = {"square": 1e-3, "ece": 1e-2}  # up to here the axis of a difference is linear
_KINDS = {"images": {}, "Gaussian rows": {"markerfacecolor": "white"}}
_BARS = (
    "95 % intervals (Student's t; of images with the correction of Nadeau and Bengio for divisions of the same rows, "
    "of controls over row sets)"
)


def real_images_figures() -> tuple[Figure, ...]:
    parts = (("fashion_mnist", "square"), ("digits", "square"), ("control", "square"), ("fashion_mnist", "ece"))
    differences = [
        Figure(f"{name}_{data}", partial(_difference, data=data, name=name), partial(_difference_caption, name=name))
        for data, name in parts
    ]
    boundary, scores = Figure("boundary", _boundary, _boundary_caption), Figure("scores", _scores, _scores_caption)
    return (differences[0], boundary, scores, *differences[1:])


def _difference(table: xr.Dataset, data: str, name: str) -> Any:
    """Draw a panel for each pair of a data set: rows as points, Gaussian rows dotted, the exact law as lines."""
    table = table.isel(pair=(table["data_set"] == data).values)
    if not table.sizes["pair"]:
        return None
    figure, axes = _panels(table, 2, height=0.95, margin=1.6)
    for ax, pair in zip(axes, table["pair"].values, strict=True):
        _difference_panel(ax, table.sel(pair=pair), name)
    figure.suptitle(_finding(table, data, name), fontsize="medium")
    scale = rf"linear to $\pm${_LINEAR[name]:g}"
    figure.supylabel(
        f"{_ERRORS[name]}:\nMixup \N{MINUS SIGN} plain ({scale})", fontsize="medium", multialignment="center"
    )
    rows = "drawn rows" if data == "control" else "images"
    keys = [*_weights(table), plots.line_key("Definition 3.1", color="0.3"),
            plots.line_key("Gaussian rows", color="0.3", linestyle=":")]  # fmt: skip
    legend(figure, [*keys, _mark(rows, color="0.3")], 2, where="lower")
    return figure


def _difference_panel(ax: Any, one: xr.Dataset, name: str) -> None:
    ratio = (one["p"] / one["n"]).values
    for order, position in enumerate(setting_positions(one)):
        cell, color = one.isel(mixup=position), plots.COLORS[order]
        measured = cell[f"{name}_difference"]
        half = (cell["half_width"] * cell[f"{name}_difference_se"]).sel(rows="images")
        ax.plot(ratio, cell[f"{name}_difference_exact"], color=color, linewidth=0.8)
        ax.plot(ratio, measured.sel(rows="Gaussian rows"), color=color, linewidth=0.8, linestyle=":")
        look: dict[str, Any] = {"color": color, "markersize": 2.2, "elinewidth": 0.7, "linewidth": 0}
        ax.errorbar(ratio, measured.sel(rows="images"), half, marker=plots.MARKERS[order], **look)
    ax.axhline(0, color="0.4", linewidth=0.6, zorder=0)
    ax.set_xscale("log")
    ax.set_yscale("symlog", linthresh=_LINEAR[name], linscale=1.2)
    plots.decades(ax, x=True)
    ax.set_xlabel("$p/n$")
    ax.label_outer()
    ax.set_title(
        f"{one['pair'].item().split(': ')[-1]}\n$|\\theta| = {float(one['theta_norm']):.2f}$", fontsize=7, pad=3
    )


def _finding(table: xr.Dataset, data: str, name: str) -> str:
    counts = signs(table, name).sel(rows="images").sum("pair")
    clear, agree = (int(counts[f"helps_{end}"] + counts[f"hurts_{end}"]) for end in ("clear", "agree"))
    if data == "control":
        return f"Controls: {agree} of {clear} clear signs are those of Definition 3.1"
    label = NAMES[data].replace("digits", "Digits")
    if not counts["hurts_clear"]:
        return f"{label}: no cell is clear where\nDefinition 3.1 says that Mixup hurts"
    return (
        f"{label}: of {int(counts['hurts_clear'])} clear cells where Definition 3.1 says\n"
        f"that Mixup hurts, it hurts in {int(counts['hurts_agree'])}"
    )


def _boundary(table: xr.Dataset) -> Any:
    """Draw a line for each pair and weight: the boundary of Definition 3.1, of Gaussian rows, and of the rows."""
    positions = setting_positions(table)
    figure, (ax,) = plots.panels(1, 1, height=1.9 + 0.24 * table.sizes["pair"])
    edge = 0.8 * float(table["ratio"].min())
    for place, pair in enumerate(table["pair"].values):
        for order, position in enumerate(positions):
            one, height = table.sel(pair=pair).isel(mixup=position), place + 0.8 * (order + 0.5) / len(positions) - 0.4
            color, law = plots.COLORS[order], float(one["square_critical_exact"])
            ax.plot(law, height, marker="|", color="black", markersize=5, linewidth=0)
            for shift, (rows, look) in zip((0.04, -0.08), _KINDS.items(), strict=True):
                _boundary_mark(ax, one.sel(rows=rows), height + shift, edge, marker=plots.MARKERS[order], color=color,
                               look=look)  # fmt: skip
    ax.set(xscale="log", xlim=(edge, 1.25 * float(table["ratio"].max())), ylim=(table.sizes["pair"] - 0.5, -0.5))
    ax.set_yticks(range(table.sizes["pair"]), table["pair"].values)
    ax.hlines(np.arange(1, table.sizes["pair"]) - 0.5, *ax.get_xlim(), color="0.85", linewidth=0.5, zorder=0)
    ax.set_xlabel("$p/n$ above which Mixup lowers ECE$_2$")
    plots.decades(ax, x=True)
    figure.suptitle(_boundary_finding(table), fontsize="medium")
    keys = [*_weights(table), plots.line_key("Definition 3.1", color="black", marker="|", linestyle="none"),
            _mark("drawn rows, images", color="0.3"), _mark("Gaussian rows", color="0.3", **_KINDS["Gaussian rows"]),
            plots.line_key("lower at each $p/n$", color="0.3", marker="<", linestyle="none", markersize=4)]  # fmt: skip
    legend(figure, keys, 2, where="lower")
    return figure


def _boundary_mark(ax: Any, one: xr.Dataset, height: float, edge: float, *, marker: str, color: str, look: Any) -> None:
    ratio, low, high = (float(value) for value in boundary_interval(one))
    style: dict[str, Any] = {"color": color, "markersize": 2.8, "markeredgewidth": 0.7, "linewidth": 0} | look
    if np.isnan(ratio):
        ax.plot(1.13 * edge, height, marker="<", **style)
        return
    if np.isfinite(low):
        ax.hlines(height, low, high, color=color, linewidth=0.7)
    ax.plot(ratio, height, marker=marker, **style)


def _boundary_finding(table: xr.Dataset) -> str:
    of_images = table["square_difference"].isel(pair=(table["data_set"] != "control").values)
    lower = (of_images.fillna(-1.0) < 0).all("ratio")  # at every p/n that was measured
    total = lower.sizes["pair"] * lower.sizes["mixup"]
    images, gaussian = (int(lower.sel(rows=rows).sum()) for rows in _KINDS)
    text = f"Mixup lowers ECE$_2$ at every $p/n$: on images in {images}"
    return f"{text}\nof {total} cases, on Gaussian rows of their moments in {gaussian}"


def _scores(table: xr.Dataset) -> Any:
    """Draw the density of the score along theta in each class, on a logarithmic axis, beside that of Definition 3.1."""
    figure, axes = _panels(table, 3, height=0.7, margin=1.1)
    score = table["score"].values
    for ax, pair in zip(axes, table["pair"].values, strict=True):
        one = table.sel(pair=pair)
        for color, side in ((plots.COLORS[0], 1.0), (plots.COLORS[1], -1.0)):
            density = one["histogram"].sel({"class": f"{side:+.0f}"}).values
            mean = side * float(one["theta_norm"])
            ax.plot(score, np.exp(-0.5 * (score - mean) ** 2) / np.sqrt(2 * np.pi), color=color, linewidth=0.8)
            ax.fill_between(score, density, 1e-6, color=color, step="mid", alpha=2 * plots.BAND, linewidth=0)
        ax.set(yscale="log", ylim=(1e-4, 1), yticks=(1e-4, 1e-2, 1), xticks=(-5, 0, 5))
        ax.set_xlabel(r"score along $\theta$")
        ax.label_outer()
        ax.set_title(pair, fontsize=7)
    of_images = (table["skewness"] < 0).isel(pair=(table["data_set"] != "control").values)
    title = f"{int(of_images.sum())} of {of_images.size} classes of images lean towards the other class"
    figure.suptitle(title, fontsize="medium")
    figure.supylabel("density in each class", fontsize="medium")
    keys = [plots.line_key(f"class ${sign}1$", color=color) for sign, color in zip("+-", plots.COLORS, strict=False)]
    legend(figure, keys, 2, where="lower")
    return figure


def _panels(table: xr.Dataset, columns: int, *, height: float, margin: float) -> tuple[Any, Any]:
    """Make a panel for each pair, of a height a row, with a margin for title, labels and legend."""
    rows = -(-table.sizes["pair"] // columns)
    return plots.panels(table.sizes["pair"], columns, height=height + margin / rows)


def _weights(table: xr.Dataset) -> list[Any]:
    """Make the entry of each weight."""
    return [
        _mark(setting_label(table.isel(mixup=position)), color=plots.COLORS[order], marker=plots.MARKERS[order])
        for order, position in enumerate(setting_positions(table))
    ]


def _mark(label: str, *, marker: str = "o", **style: Any) -> Any:
    return plots.line_key(label, marker=marker, linestyle="none", markersize=3, **style)


def _difference_caption(table: xr.Dataset, name: str) -> str:
    biased = " The plug-in is biased upwards where an error is small and test rows are few." if name == "ece" else ""
    return (
        f"{_ERRORS[name].replace('$_2^2$', '_2 squared')}: Mixup minus plain against p/n, for two whitened classes. "
        "Points: images, or rows drawn from Definition 3.1 (control), with "
        f"{_BARS}; dotted: Gaussian rows of the same class means and covariances; lines: the exact law of Definition "
        "3.1 at the same n, p and |theta|. Below 0 Mixup is better calibrated. Clear cells of the title: p/n and "
        f"weights whose interval is without 0. Symmetric log scale, linear up to {_LINEAR[name]:g} on either side of 0."
        f"{biased} {_settings(table)}"
    )


def _boundary_caption(table: xr.Dataset) -> str:
    return (
        "The p/n above which Mixup lowers ECE_2 (debiased) for each pair of classes and each (alpha, beta): that of "
        "Definition 3.1 at the same n, p and |theta| (black), and measured, with Gaussian rows of the same class means "
        f"and covariances (hollow) and with the images, or rows drawn from Definition 3.1 (filled). Bars: {_BARS}, of "
        "the logarithm; no bar where leaving one division out leaves no boundary. Arrows at the left edge: the "
        f"measured difference is below 0 at every p/n, so that there is no boundary in this range. {_settings(table)}"
    )


def _scores_caption(table: xr.Dataset) -> str:
    return (
        "Density of theta'z/|theta| in each class of whitened rows that had no part in the whitening (filled), beside "
        "the normal densities of Definition 3.1 (lines). A class leans towards the other one where its skewness "
        f"outwards is negative. {_settings(table)}"
    )


def _settings(table: xr.Dataset) -> str:
    config = json.loads(table.attrs["config"])
    sizes = "; ".join(_sizes_of(table, data) for data in NAMES if data in table["data_set"].values)
    return f"Settings: {sizes}; 20 training sets a division, seed {config['seed']}. Without units. {made_with(table)}"


def _sizes_of(table: xr.Dataset, data: str) -> str:
    part = table.isel(pair=(table["data_set"] == data).values)
    low, high, sets = (int(value) for value in (part["divisions"].min(), part["divisions"].max(), part["row_sets"][0]))
    rows = f"{sets} row sets with {low} divisions each" if sets > 1 else f"{low} to {high} divisions of the rows"
    return f"{NAMES[data]}: p = {int(part['p'][0])}, {rows}"
