"""Fits to real features: predicted against measured, a point for each cell."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xarray as xr

from mixjax import plots
from mixjax.plots import Figure

from ..reports.real_fits import NEAR, sets_text, share_near
from .captions import BARS, made_with
from .marks import legend

_PANELS = {
    "signed": "mean confidence \N{MINUS SIGN} accuracy",
    "signed_change": "its change by Mixup",
    "ece": "ECE",
    "accuracy": "accuracy",
    "mean": "mean of $y v$",
}
_KINDS = {"plain": "plain", "Mixup": "Mixup", "smoothing": "label smoothing"}
_WITHIN = {"ece": (0.0, 1.0), "accuracy": (0.0, 1.0)}  # what no interval leaves


def real_fits_figures() -> tuple[Figure, ...]:
    return (Figure("predicted_and_measured", _draw, _caption),)


def _draw(table: xr.Dataset) -> Any:
    """Draw the signed gap, and below it what it consists of, on diagonals."""
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(plots.COLUMN_WIDTH, 6.0), layout="constrained")
    axes = figure.subplot_mosaic([["signed", "signed"], ["signed_change", "ece"], ["accuracy", "mean"]],
                                 height_ratios=[1.9, 1.0, 1.0])  # fmt: skip
    for name, ax in axes.items():
        for order, kind in enumerate(_KINDS):
            _points(ax, table, name, kind, order)
        _diagonal(ax, band=NEAR if name == "signed" else 0.0)
        ax.set_title(_PANELS[name], pad=3)
    figure.supxlabel("predicted from moments and $n$", fontsize="medium")
    figure.supylabel("measured", fontsize="medium")
    near, measured = share_near(table)
    finding = f"{100 * near / max(measured, 1):.0f} % of the signed gaps are predicted within {NEAR:g}"
    legend(figure, axes["signed"], 3, markerscale=2, title=finding)
    return figure


def _points(ax: Any, table: xr.Dataset, name: str, kind: str, order: int) -> None:
    part = table.isel(fit=[str(fit).startswith(kind) for fit in table["fit"].values])
    x, y, error = (part[f"{name}{end}"].transpose("pair", "n", "penalty", "fit").values.ravel()
                   for end in ("_predicted", "", "_se"))  # fmt: skip
    kept = np.isfinite(y)
    if (name == "signed_change" and kind != "Mixup") or not kept.any():
        return
    within = _WITHIN.get(name, (-np.inf, np.inf))
    plots.points_with_bars(ax, x[kept], y[kept], error[kept], within=within, marker=plots.MARKERS[order],
                           color=plots.COLORS[order], markersize=2, markeredgewidth=0, alpha=0.6, elinewidth=0.5,
                           label=_KINDS[kind])  # fmt: skip


def _diagonal(ax: Any, band: float) -> None:
    """Give both axes the same ends, and draw the diagonal, within a band."""
    ends = np.array([min(ax.get_xlim()[0], ax.get_ylim()[0]), max(ax.get_xlim()[1], ax.get_ylim()[1])])
    ax.plot(ends, ends, color="0.3", linewidth=0.7, zorder=0)
    if band:
        ax.fill_between(ends, ends - band, ends + band, color="0.5", alpha=plots.BAND, linewidth=0, zorder=0)
    if ends[0] < 0 < ends[1]:
        ax.axhline(0, color="0.7", linewidth=0.5, zorder=0)
        ax.axvline(0, color="0.7", linewidth=0.5, zorder=0)
    ax.set(xlim=ends, ylim=ends, aspect="equal")
    ax.xaxis.set_major_formatter(plots.signed)
    ax.yaxis.set_major_formatter(plots.signed)


def _caption(table: xr.Dataset) -> str:
    config = json.loads(table.attrs["config"])
    data = ", ".join(dict.fromkeys(map(str, table["data_set"].values)))
    return (
        "Penalized logistic fits to n rows of two classes: measured on all other rows against predicted from the "
        f"moments of the classes and n, without a fit. A point for each of {table.sizes['pair']} pairs of classes, n, "
        f"penalty and fit, mean of {sets_text(table)} training sets. {BARS}Gray: within {NEAR:g} of the diagonal. "
        "The change by Mixup is that of the plain fit to the same rows (paired); the ECE is the plug-in of 15 bins of "
        f"equal mass. Settings: {data}; n = {config['n']}, penalties {config['penalty']}, "
        f"alpha = beta = {config['alpha']}, smoothing {config['smoothing']}, seed {config['seed']}. Without units. "
        f"{made_with(table)}"
    )
