"""Maps of pseudo-labels of another domain: against the labeled data alone, and against Mixup of these."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from mixjax.plots import Figure, decades, heat_map, level_line, line_key, panels

from .captions import omitted, pairs_text, representatives, settings_text
from .marks import LIMIT, MEASURED, difference_bar, largest_size, legend

MOST = 3
OVERSHOOT: dict[str, Any] = {"color": "white", "casing": "black", "linestyle": "solid", "linewidth": 1.2}
_PLAIN = {"final_difference": "ece", "labeled_best_difference": "ece_labeled_best"}  # what each is a difference from
_TITLES = {
    "final_difference": "Shifted pseudo-labels help at large $p/n$\nand mostly harm at small",
    "labeled_best_difference": "Beside Mixup, pseudo-labels help at large $p/n$\nand mostly harm at small",
}
_BARS = {
    "final_difference": "ECE(pseudo-labels) $-$ ECE  (blue: better)",
    "labeled_best_difference": "ECE(both) $-$ ECE(Mixup alone)  (blue: better)",
}
_TEXTS = {
    "final_difference": "ECE with pseudo-labels - ECE of the labeled data alone, both without Mixup",
    "labeled_best_difference": "ECE with pseudo-labels and Mixup in the last step - ECE of the labeled data with "
    "Mixup (its exact expectation), each with the weight that is best in the limit (at most 1/2)",
}


def pseudo_label_shift_figures() -> tuple[Figure, ...]:
    return tuple(Figure(name, partial(_draw, name=name), partial(_caption, name=name)) for name in _TITLES)


def _draw(table: xr.Dataset, name: str) -> Any:
    """Draw a panel for each p/n."""
    if min(table.sizes["unlabeled_norm"], table.sizes["angle"]) < 2:
        return None
    rows = _rows(table)
    largest = largest_size([row[name].values for row in rows])
    figure, axes = panels(len(rows), 1, height=1.2 + 1.4 / len(rows))
    mesh = None
    for ax, row in zip(axes, rows, strict=True):
        mesh = _draw_panel(ax, row, name, largest)
        ax.set_title(rf"$p/n = {float(row['ratio']):g}$", pad=3)
        ax.set_ylabel(r"angle to $\theta$ (°)")
    axes[-1].set_xlabel(r"length of the unlabeled mean, $|\theta_u|/\sigma$")
    if len(rows) > 1:
        figure.suptitle(_TITLES[name], fontsize="medium")
    legend(figure, _keys(name), 3, where="lower", handlelength=2.0, columnspacing=1.0)
    difference_bar(figure, mesh, axes, _BARS[name], largest)
    return figure


def _rows(table: xr.Dataset) -> list[xr.Dataset]:
    """Return a map for some of p/n; other axes are at the first value."""
    first = table.isel(n=0, theta_norm=0, unlabeled_per_label=0)
    positions = representatives(table["ratio"].values, MOST)
    return [first.isel(ratio=position).sortby("unlabeled_norm").sortby("angle") for position in positions]


def _draw_panel(ax: Any, row: xr.Dataset, name: str, largest: float) -> Any:
    x, y = row["unlabeled_norm"].values, row["angle"].values

    def laid_out(values: xr.DataArray) -> np.ndarray:
        return np.asarray(values.transpose("angle", "unlabeled_norm").values)

    mesh = heat_map(ax, x, y, laid_out(row[name]), center=0.0, limit=largest, linear=largest / 30)
    level_line(ax, x, y, laid_out(row["overshoot"]), 0.5, **OVERSHOOT)
    lines = {"": MEASURED[0], "_limit": LIMIT} if name == "final_difference" else {"": MEASURED[0]}
    for end, style in lines.items():
        difference, plain = row[f"{name}{end}"], row[f"{_PLAIN[name]}{end}"]
        level_line(ax, x, y, laid_out(difference / (2.0 * plain + difference)), 0.0, **style)
    ax.plot([float(row["theta_norm"])], [0.0], "*", color="black", markersize=7, clip_on=False)
    ax.set_yticks([0, 45, 90, 135, 180])
    decades(ax, x=True)
    return mesh


def _keys(name: str) -> list[Any]:
    keys = [line_key("equal", **MEASURED[0]), line_key("half overshoot", **OVERSHOOT)]
    if name == "final_difference":
        keys.insert(1, line_key("equal, limit", **LIMIT))
    return keys


def _caption(table: xr.Dataset, name: str) -> str:
    rows = _rows(table)
    worst = max(float(row[f"{name}_se"].max()) for row in rows)
    limit = "yellow, dashed: where the limit has none; " if name == "final_difference" else ""
    shares = " ".join(_counts(row, name) for row in rows)
    return (
        f"Mean over data sets of {_TEXTS[name]}. Black: where there is no difference; {limit}white: where half of the "
        "data sets give an under-confident classifier (rho = mean/var of the score above 1) after pseudo-labels; star: "
        f"no shift. Counts are of the cells of this grid, clear by two standard errors. {shares} "
        f"{_fixed(table)}The largest standard error of a cell is {worst:.2g}; the color is linear up to 1/30 of the "
        "largest difference and logarithmic beyond (symlog). "
        f"{omitted('values of p/n', len(rows), table.sizes['ratio'])}{settings_text(table, pairs_text(table))}"
    )


def _counts(row: xr.Dataset, name: str) -> str:
    """Count the cells that are clearly better and worse, and tell how much of the harm Mixup takes away."""
    better, worse = (sign * row[name] > 2.0 * row[f"{name}_se"] for sign in (-1.0, 1.0))
    text = f"p/n = {float(row['ratio']):g}: better in {int(better.sum())}, worse in {int(worse.sum())} of {worse.size}"
    if name != "final_difference" or not bool(worse.any()):
        return f"{text}."
    gain = -row["best_difference"]
    taken = gain.where(gain < row[name], row[name]).where(worse).sum() / row[name].where(worse).sum()
    below = worse & (-row["repaired_difference"] > 2.0 * row["repaired_difference_se"])
    return (
        f"{text}; there the best Mixup weight in the last step takes away {100 * float(taken):.2g} % of the harm, "
        f"summed over cells, and brings the ECE below that of the labeled data without Mixup in {int(below.sum())}."
    )


def _fixed(table: xr.Dataset) -> str:
    names = {"theta_norm": "|theta|/sigma", "unlabeled_per_label": "unlabeled points / n"}
    return ", ".join(f"{words} = {float(table[dim][0]):g}" for dim, words in names.items()) + ". "
