"""Beyond the paper: ECE against the number of random pairs, and what Mixup does to the ECE of unequal classes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xarray as xr

from mixjax.numerics.crossings import crossings
from mixjax.plots import COLORS, MARKERS, Figure, decades, line_key, panels, points_with_bars

from .captions import BARS, theta_label
from .marks import legend, name_axes

DASHES = ("solid", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))


def beyond_figures() -> tuple[Figure, ...]:
    return (
        Figure("ece_against_pairs", _pairs, _pairs_caption),
        Figure("unequal_classes", _unequal, _unequal_caption),
        Figure("more_classes", _classes, _classes_caption),
    )


# --- pairs -------------------------------------------------------------------------------------------


def _pairs(table: xr.Dataset) -> Any:
    """Draw a row for each p/n, and a column for each theta."""
    columns = table.sizes["theta_norm"]
    cells = [(ratio, theta) for ratio in range(table.sizes["ratio"]) for theta in range(columns)]
    figure, axes = panels(len(cells), columns, height=1.4, share_y=False)
    for ax, (ratio, theta) in zip(axes, cells, strict=True):
        panel = table.isel(theta_norm=theta, ratio=ratio)
        ax.set_title(rf"$p/n = {float(panel['ratio']):g}$, {theta_label(panel['theta_norm'])}", pad=3, fontsize="small")
        _draw_pairs(ax, panel)
        ax.set(xscale="log", xlim=_shown(table), ylim=(0, None))
        decades(ax, x=True)
    name_axes(axes, columns, "random pairs / $n$")
    figure.supylabel("ECE", fontsize="medium")
    keys = [*axes[0].get_legend_handles_labels()[0], line_key("limit", color=COLORS[0])]
    keys.append(line_key("expectation", color="0.3", linestyle="dashed"))
    legend(figure, keys, 3, columnspacing=1.2, title="Many random pairs approach the expectation (dashed)")
    return figure


def _shown(table: xr.Dataset) -> tuple[float, float]:
    """Return the range of epochs that is drawn."""
    return 0.6 * float(table["epochs"].min()), 1.6 * float(table["epochs"].max())


def _draw_pairs(ax: Any, panel: xr.Dataset) -> None:
    ax.axhline(float(panel["ece_plain"].mean()), color="0.35", linewidth=1.0, label="no Mixup")
    for number, alpha in enumerate(panel["alpha"].values):
        row, color = panel.sel(alpha=alpha), COLORS[number]
        name = rf"$\alpha = \beta = {alpha:g}$"
        points_with_bars(ax, row["epochs"].values, row["ece_pairs"].values, row["ece_pairs_se"].values, color=color,
                         marker=MARKERS[number], label=name)  # fmt: skip
        shown = row.sel(fine_epochs=slice(*_shown(panel)))
        ax.plot(shown["fine_epochs"], shown["ece_pairs_limit"], color=color, linewidth=0.8)
        ax.axhline(float(row["ece_expectation"]), color=color, linestyle="dashed", linewidth=0.8)


def _pairs_caption(table: xr.Dataset) -> str:
    return (
        f"Mean ECE over training sets of n = {int(table.attrs['n'])} (exact law) of Mixup with finitely many random "
        f"pairs, each with its own lambda, against their number over n. {BARS}Lines: the limit as n grows. "
        "Dashed: the paper's Mixup, the expectation over pairs. Gray: no Mixup. Few pairs are worse than no "
        "Mixup wherever a point is above the gray line."
    )


# --- unequal classes ---------------------------------------------------------------------------------

_TITLES = {
    "top-label, no bias": "predicted class, no bias",
    "top-label, bias": "predicted class, bias",
    "class, bias": "class $y = +1$, bias",
}


def _unequal(table: xr.Dataset) -> Any:
    errors = table["error"].values
    figure, axes = panels(len(errors), 1, height=1.4)
    for ax, error in zip(axes, errors, strict=True):
        ax.axhline(0, color="0.6", linewidth=0.6)
        for number, rate in enumerate(table["positive_rate"].values):
            row = table.sel(error=error, positive_rate=rate)
            color = (*COLORS, "0.3")[number % 7]
            ax.plot(row["fine_ratio"], row["change_limit"], color=color, linewidth=0.9)
            points_with_bars(ax, row["imbalanced_ratio"].values, row["change"].values, row["change_se"].values,
                             color=color, marker=MARKERS[number % 6], label=f"$P(y = +1) = {rate:g}$")  # fmt: skip
        ax.set_title(_TITLES[str(error)], pad=3)
        ax.set_xscale("log")
        ax.set_xlim(0.5 * float(table["imbalanced_ratio"].min()), 1.5 * float(table["imbalanced_ratio"].max()))
        decades(ax, x=True)
    axes[-1].set_xlabel("$p/n$")
    figure.supylabel(r"ECE(mix) $-$ ECE", fontsize="medium")
    legend(figure, axes[0], 2, title=_gains(table))
    return figure


def _gains(table: xr.Dataset) -> str:
    """Say how much Mixup gains at most, at both ends of the rate of the positive class."""
    most = -table["change_limit"].isel(error=0).min("fine_ratio").sortby("positive_rate")[[0, -1]]
    ends = [f"{max(float(gain), 0):.2g} ($P = {float(gain['positive_rate']):g}$)" for gain in most]
    return f"Largest gain by Mixup: {', '.join(ends)}"


def _unequal_caption(table: xr.Dataset) -> str:
    return (
        f"ECE(mix) - ECE for lambda ~ Beta({float(table['alpha'][-1]):g}, {float(table['alpha'][-1]):g}), "
        f"|theta|/sigma = 1 and classes of unequal size; below 0 Mixup helps. Points: means over training sets of "
        f"n = {int(table.attrs['n'])} (exact law); lines: the limit as n grows. {BARS}Above: "
        "ECE of the predicted class for the paper's score. Middle: with the log-odds of the classes as bias. Below: "
        "ECE of the claim about y = +1, with that bias."
    )


# --- K classes ---------------------------------------------------------------------------------------


def _classes(table: xr.Dataset) -> Any:
    """Draw the change against p/n, against (K - 1) p/n, and class by class."""
    kinds = table["kind"].values
    shown = ((kinds[0], False, "predicted class"), (kinds[0], True, "predicted class"), (kinds[1], False, "class-wise"))
    figure, axes = panels(3, 1, height=1.5, share_y=False)
    for ax, (kind, effective, title) in zip(axes, shown, strict=True):
        ax.axhline(0, color="0.6", linewidth=0.6)
        for number, count in enumerate(table["classes"].values):
            row = table.sel(classes=count, kind=kind).assign_attrs(table.attrs)
            _draw_class_change(ax, row, number, (count - 1) if effective else 1)
        ax.set_title(title, pad=3)
        ax.set_xscale("log")
        ax.set_xlim(*table["class_ratio"].values[[0, -1]])
        ax.set_xlabel(r"$(K-1)\,p/n$" if effective else "$p/n$")
        decades(ax, x=True)
        ax.tick_params(labelbottom=True)
    figure.supylabel(r"ECE(mix) $-$ ECE", fontsize="medium")
    legend(figure, axes[0], 4, columnspacing=1.2, title=_turns(table))
    return figure


def _turns(table: xr.Dataset) -> str:
    """Say beyond which (K - 1) p/n Mixup first lowers the ECE of the predicted class, over all K that have one."""
    change = (table["classes_mix"] - table["classes_plain"]).isel(kind=0).transpose("classes", "class_ratio").values
    ratio, found = np.log(table["class_ratio"].values), []
    for row, count in zip(change, table["classes"].values, strict=True):
        at, falls = crossings(ratio, row)
        found += [(count - 1) * np.exp(first) for first in at[falls][:1]]
    if not found:
        return r"Mixup of $K$ classes against $p/n$"
    ends = " to ".join(dict.fromkeys(f"{end:.2g}" for end in (min(found), max(found))))
    return rf"Mixup helps beyond $(K-1)\,p/n = {ends.replace(' to ', '$ to $')}$"


def _draw_class_change(ax: Any, row: xr.Dataset, number: int, factor: int) -> None:
    """Draw the limit of one K as a line, and training sets as points at their p/n, where p is at least K."""
    n, count = int(row.attrs["n"]), int(row["classes"])
    realized = np.maximum(count, np.rint(row["classes_ratio"].values * n)) / n
    color = (*COLORS, "0.3")[number % 7]
    ax.plot(row["class_ratio"] * factor, row["classes_mix"] - row["classes_plain"], color=color, linewidth=0.9,
            linestyle=DASHES[number % len(DASHES)])  # fmt: skip
    points_with_bars(ax, realized * factor, row["classes_change"].values, row["classes_change_se"].values,
                     color=color, marker=MARKERS[number % 6], label=f"$K = {count}$")  # fmt: skip


def _classes_caption(table: xr.Dataset) -> str:
    worst = max(float(table[f"classes_{name}_se"].max()) for name in ("plain", "mix"))
    sets = json.loads(table.attrs["config"])["class_sets"]
    return (
        f"ECE(mix) - ECE of K classes for lambda ~ Beta({float(table['alpha'][-1]):g}, {float(table['alpha'][-1]):g}) "
        f"and |theta|/sigma = 1; below 0 Mixup helps. Points: means over {sets} training sets of n = "
        f"{int(table.attrs['n'])} and K dimensions or more (exact law); lines: the limit as n grows, with "
        f"standard errors of each ECE of at most {worst:.2g}. {BARS}Above and middle: predicted class, against p/n and "
        "against (K - 1) p/n, of which the best Mixup weight is a function. Below: class-wise, mean of the K claims."
    )
