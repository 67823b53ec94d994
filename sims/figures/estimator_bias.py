"""Bias and coverage of the estimators, against the sample size."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import xarray as xr

from mixjax import plots
from mixjax.plots import Figure, points_with_bars, points_with_intervals

from .captions import BARS, SHARE_BARS, made_with, usual_bins
from .marks import legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEANS = ("signed gap", "NLL", "Brier score")
SHOWN = ("ECE, equal width", "ECE, equal mass", "ECE, sweep", "smooth ECE", "KDE ECE", "ECE_2, debiased", "signed gap")


def estimator_bias_figures() -> tuple[Figure, ...]:
    return (
        Figure("bias", _bias, _bias_caption),
        Figure("coverage", _coverage, _coverage_caption),
    )


def _bias(table: xr.Dataset) -> Any:
    """Draw the bias with its interval against the sample size, on an axis that is linear near 0."""

    def draw(ax: Axes, panel: xr.Dataset) -> None:
        for number, name in enumerate(SHOWN):
            row = panel.sel(estimator=name)
            points_with_bars(ax, row["size"].values, row["bias"].values, row["bias_se"].values, **_style(number, name))
        ax.axhline(0, color="0.4", linewidth=0.6, zorder=0)
        ax.set_yscale("symlog", linthresh=1e-3, linscale=0.6)

    finding = "Small samples bias every ECE, and not the signed gap"
    return _drawn(table, draw, "bias (symmetric log scale)", finding)


def _coverage(table: xr.Dataset) -> Any:
    """Draw the share of 95 % intervals that hold the exact value, with its own interval."""

    def draw(ax: Axes, panel: xr.Dataset) -> None:
        for number, name in enumerate(table["interval"].values):
            row = panel.sel(interval=name)
            share, low, high = (row[f"coverage{end}"].values for end in ("", "_low", "_high"))
            points_with_intervals(ax, panel["size"].values, share, low, high, **_style(number, str(name)))
        ax.axhline(0.95, color="0.4", linewidth=0.6, linestyle="--", zorder=0)
        ax.set_ylim(0, 1.05)

    return _drawn(table, draw, "coverage of 95 % intervals", _least_covered(table))


def _least_covered(table: xr.Dataset) -> str:
    """Say the least coverage of the intervals of means, and of those of binned errors."""
    least = table["coverage"].sel(bins=usual_bins(table)).min(("law", "size"))
    binned, means = (float(least.sel(interval=least["interval"].isin(MEANS) == of).min()) for of in (False, True))
    return f"Least coverage: {means:.2f} (gap, losses), {binned:.2f} (binned)"


def _drawn(table: xr.Dataset, draw: Callable[[Axes, xr.Dataset], None], label: str, finding: str) -> Any:
    """Draw a panel for each law."""
    laws = table.sizes["law"]
    figure, axes = plots.panels(laws, 1, height=1.3 if laws > 1 else 2.6)
    for ax, law in zip(axes, table["law"].values, strict=True):
        draw(ax, table.sel(law=law, bins=usual_bins(table)))
        truth = float(table["truth"].sel(law=law, estimator="ECE, equal width"))
        ax.set_xscale("log")
        ax.set_title(f"{law}: ECE = {truth:.3f}", pad=3)
    axes[-1].set_xlabel("sample size N")
    figure.supylabel(label, fontsize="medium")
    legend(figure, axes[0], 2, columnspacing=1.2, title=finding)
    return figure


def _style(number: int, name: str) -> dict[str, Any]:
    colors, markers = (*plots.COLORS, "0.35"), (*plots.MARKERS, "x")
    label = name.replace("ECE_2", "ECE$_2$")
    return {"color": colors[number], "marker": markers[number], "label": label, "linestyle": "solid", "linewidth": 0.9}


def _bias_caption(table: xr.Dataset) -> str:
    return (
        "Bias of estimators of calibration error: mean over samples minus the exact population value, against the "
        f"sample size; symmetric logarithmic scale, linear within 0.001 of 0. A panel is a law of the score. {BARS}"
        f"{_settings(table)}"
    )


def _coverage_caption(table: xr.Dataset) -> str:
    return (
        "Share of 95 % intervals that hold the exact population value: those of binned errors are bootstrap "
        "intervals, which inherit the bias of their estimates; those of means (NLL, Brier score) are normal, and "
        "that of the signed gap comes from a posterior. "
        f"{SHARE_BARS}{_settings(table)}"
    )


def _settings(table: xr.Dataset) -> str:
    config = json.loads(table.attrs["config"])
    return (
        f"Settings: scores of the Gaussian model, {usual_bins(table)} bins, {int(table['samples'].min())} to "
        f"{int(table['samples'].max())} samples ({int(table['interval_samples'].min())} to "
        f"{int(table['interval_samples'].max())} for intervals), seed {config['seed']}. Without units. "
        f"{made_with(table)}"
    )
