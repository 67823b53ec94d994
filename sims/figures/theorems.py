"""One figure a theorem: its signed number and the share of training sets of which it is true, against n."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from mixjax import plots
from mixjax.gaussian.claims import CLAIMS
from mixjax.plots import Figure

from .captions import made_with
from .marks import legend

_NAMES = {
    "theta_norm": r"|\theta|", "ratio": "p/n", "low": "c_1", "high": "c_2", "alpha": r"\alpha", "p": "p",
    "test_norm": r"|\theta'|", "cosine": r"\cos", "relative_norm": r"|\theta|/\sqrt{p/n_l}", "per_label": "n_u/n_l",
}  # fmt: skip


def theorem_figures() -> tuple[Figure, ...]:
    return tuple(
        Figure(f"theorem_{name}", partial(_draw, theorem=name), partial(_caption, theorem=name)) for name in CLAIMS
    )


def _draw(table: xr.Dataset, theorem: str) -> Any:
    row = table.sel(theorem=theorem)
    shown = np.flatnonzero(row["stated"].values == 1)
    figure, (left, right) = plots.panels(2, 2, height=2.9, width=2 * plots.COLUMN_WIDTH, share_y=False)
    for order, k in enumerate(shown):
        one = row.isel(configuration=k)
        look: dict[str, Any] = {"color": plots.COLORS[order], "marker": plots.MARKERS[order], "markersize": 3.2}
        look |= {} if one["met"] == 1 else {"linestyle": "--", "markerfacecolor": "white"}
        look["linewidth"], scale = 0.9, abs(float(one["limit"]))
        label = _label(str(one["cell"].values), theorem)
        left.errorbar(row["n"], one["value"] / scale, 2 * one["value_se"] / scale, label=label, elinewidth=0.8, **look)
        right.plot(row["n"], one["share"], **look)
        right.fill_between(row["n"], one["share_low"], one["share_high"], color=look["color"], alpha=plots.BAND,
                           linewidth=0)  # fmt: skip
    left.axhline(0, color="0.4", linewidth=0.6, zorder=0)
    left.axhline(-1, color="0.4", linewidth=0.6, linestyle=":", zorder=0)
    left.set_ylim(-2.2, 2.2)
    left.set_ylabel("signed number / |limit|")
    right.axhline(0.99, color="0.4", linewidth=0.6, linestyle=":", zorder=0)
    right.set_ylim(-0.03, 1.03)
    right.set_ylabel("share of training sets, true")
    for ax in (left, right):
        ax.set_xscale("log")
        ax.set_xlabel("labelled sample size $n_l$" if theorem.startswith("4") else "training sample size $n$")
    legend(figure, left, 2, where="lower")
    return figure


def _label(cell: str, theorem: str) -> str:
    names = _NAMES | ({"ratio": "p/n_l"} if theorem.startswith("4") else {})
    pairs = (part.split(" = ") for part in cell.split(", "))
    return ", ".join(f"${names[name]} = {value}$" for name, value in pairs)


def _caption(table: xr.Dataset, theorem: str) -> str:
    entry = next(e for e in json.loads(table.attrs["verdicts"]) if e["theorem"] == theorem)
    config = json.loads(table.attrs["config"])
    hollow = " Dashed, hollow: the hypothesis holds and the condition does not." if CLAIMS[theorem].condition else ""
    if entry["verdict"] == "refuted":
        hollow = " Dashed, hollow: false in every configuration."
    return (
        f"Theorem {theorem}: {entry['statement']} Verdict: {entry['verdict']}. Left: the signed number, negative where "
        "this is true of a training set, mean with bars of two standard errors, in units of the size of its limit, "
        f"which is drawn dotted at -1. Right: the share of training sets of which it is true, with 95 % intervals; "
        f"dotted: 99 %.{hollow} {entry['conditions']} Settings: {config['replicates']} training sets a point, seed "
        f"{config['seed']}, sigma = 1. Without units. "
        f"{made_with(table)}"
    )
