"""Words that the figures share, and the part of a table that is drawn where all of it would be too much."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import xarray as xr

from .marks import linear_within

NAMES = {"ece": "ECE", "rms_ece": "ECE$_2$", "mce": "MCE"}
PLAIN_NAMES = {"ece": "ECE", "rms_ece": "ECE_2", "mce": "MCE"}
BARS = "Bars: 95 % intervals (1.96 standard errors to either side). "
SHARE_BARS = "Bars of shares: 95 % intervals (Wilson). "
MOST = 6  # panels of a figure, and lines of a panel: as many as there are colors that differ for every reader


def representatives(values: np.ndarray, most: int = MOST) -> list[int]:
    """Return the positions of at most `most` values, in increasing order: both ends, and some evenly between."""
    order = np.argsort(values, kind="stable")
    return [int(order[round(position)]) for position in np.linspace(0, len(values) - 1, min(len(values), most))]


def setting_positions(table: xr.Dataset) -> list[int]:
    """Return the positions of the Mixup settings to draw, from the smallest weight to the largest."""
    return representatives(table["t"].values)


def panel_positions(table: xr.Dataset, *dims: str) -> list[dict[str, int]]:
    """Return the positions of the panels, one for each combination of values along some axes, in increasing order."""
    orders = [np.argsort(table["beta" if dim == "mixup" else dim].values, kind="stable") for dim in dims]
    positions = [dict(zip(dims, map(int, position), strict=True)) for position in product(*orders)]
    return [positions[index] for index in representatives(np.arange(len(positions)))]


def scale_text(largest: float, linear: float | None = None) -> str:
    """Return the sentence about the colors of a map of differences."""
    return f"Colors: symmetric logarithmic scale, linear within {linear or linear_within(largest):g} of 0. "


def omitted(what: str, shown: int, size: int) -> str:
    """Return a sentence about how many are drawn, if not all are."""
    return "" if shown == size else f"Drawn: {shown} of the {size} {what}, evenly spread. "


def pair_label(panel: xr.Dataset) -> str:
    alpha, beta = (float(panel[name]) for name in ("alpha", "beta"))
    return rf"$\alpha=\beta={alpha:g}$" if alpha == beta else rf"$\alpha={alpha:g}, \beta={beta:g}$"


def setting_label(panel: xr.Dataset) -> str:
    return rf"{pair_label(panel)} ($t={float(panel['t']):.3g}$)"


def theta_label(theta_norm: xr.DataArray) -> str:
    return rf"$|\theta|/\sigma = {float(theta_norm):g}$"


def listed(values: np.ndarray) -> str:
    """List values, or their range and number if there are many."""
    if len(values) <= MOST:
        return ", ".join(f"{value:.10g}" for value in values)
    return f"{min(values):.10g} to {max(values):.10g} ({len(values)} values)"


def settings_text(table: xr.Dataset, settings: str) -> str:
    """Describe the model, sizes, settings, replicates and origin of a table."""
    fixed = f"; p = {listed(table['p'].values)}" if "p" in table.dims else ""
    return (
        f"Settings: Gaussian model, sigma = 1 (theta in units of sigma); n = {listed(table['n'].values)}{fixed}; "
        f"{settings}; {table.attrs['replicates']} training sets a cell, seed {table.attrs['seed']}. Without units. "
        f"{made_with(table)}"
    )


def made_with(table: xr.Dataset) -> str:
    """Return the sentence about the versions that made a table."""
    made = json.loads(table.attrs["provenance"])
    return f"Made with mixjax {made['mixjax']} ({made['commit']}), jax {made['jax']}, on {made['platform']}."


def pairs_text(table: xr.Dataset) -> str:
    pairs = ", ".join(f"({float(a):g}, {float(b):g})" for a, b in zip(table["alpha"], table["beta"], strict=True))
    return f"(alpha, beta) = {pairs}"


def usual_bins(table: xr.Dataset, wanted: int = 15) -> int:
    """Return the number of bins of a table that is nearest to the usual one."""
    return int(min(table["bins"].values, key=lambda bins: abs(bins - wanted)))
