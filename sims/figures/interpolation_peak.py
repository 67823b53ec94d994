"""Accuracy and confidence through p = n, and what makes the peak larger or smaller."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from mixjax.gaussian import separable_ratio
from mixjax.plots import COLORS, COLUMN_WIDTH, MARKERS, Figure, decades, panels, points_with_bars

from .marks import legend

_CURVES = {"accuracy": "accuracy", "confidence": "mean confidence"}


def interpolation_peak_figures() -> tuple[Figure, ...]:
    return (
        Figure("peak", _peak, _peak_caption),
        Figure("penalties", _penalties, _penalties_caption),
        Figure("conditions", _conditions, _conditions_caption),
    )


def _peak(table: xr.Dataset) -> Any:
    """Draw accuracy above confidence at the weakest penalty."""
    figure, axes = panels(2, 1, height=1.6, share_y=False)
    weakest = table.isel(penalty=int(np.argmin(table["penalty"].values)))
    for ax, (name, label) in zip(axes, _CURVES.items(), strict=True):
        _draw_arms(ax, weakest, name)
        ax.set_ylabel(label)
    axes[0].set_title("Soft labels peak at $p = n$, hard labels do not", pad=3)
    _finish(figure, axes[-1:], axes[0])
    return figure


def _penalties(table: xr.Dataset) -> Any:
    """Draw accuracy above confidence, a column for each penalty."""
    columns = table.sizes["penalty"]
    figure, axes = panels(2 * columns, columns, height=1.5, width=2 * COLUMN_WIDTH)
    for number, ax in enumerate(axes):
        row, column = divmod(number, columns)
        panel = table.isel(penalty=column)
        _draw_arms(ax, panel, list(_CURVES)[row])
        if row == 0:
            ax.set_title(rf"$\mu = {float(panel['penalty']):g}$", pad=3)
        if column == 0:
            ax.set_ylabel(list(_CURVES.values())[row])
    _finish(figure, axes[-columns:], axes[0])
    return figure


def _finish(figure: Any, lowest: Any, keyed: Any) -> None:
    for ax in lowest:
        ax.set_xlabel("$p/n$")
    legend(figure, keyed, 3)


def _draw_arms(ax: Any, panel: xr.Dataset, name: str) -> None:
    """Draw the limit of each arm as a line, and its literal fits as points."""
    ax.axvline(1.0, color="0.6", linewidth=0.6)
    ax.axvline(float(separable_ratio(panel.attrs["theta_norm"])), color="0.6", linewidth=0.8, linestyle="dotted")
    for number, arm in enumerate(panel["arm"].values):
        row, color = panel.sel(arm=arm), COLORS[number]
        ax.plot(row["ratio"], _curve(row, name), color=color, linewidth=1.0)
        mean = _curve(row, name, "_fitted").values
        error = row["accuracy_fitted_se"].values if name == "accuracy" else np.zeros_like(mean)
        points_with_bars(
            ax, row["point_ratio"].values, mean, error, color=color, marker=MARKERS[number], label=str(arm)
        )
    ax.set_xscale("log")
    decades(ax, x=True)


def _curve(row: xr.Dataset, name: str, end: str = "") -> xr.DataArray:
    accuracy = row[f"accuracy{end}"]
    return accuracy if name == "accuracy" else accuracy + row[f"signed{end}"]


def _conditions(table: xr.Dataset) -> Any:
    """Draw the accuracy with epochs of random pairs, for decaying spectra, and on real classes."""
    real = "rows" in table.dims
    figure, axes = panels(3 if real else 2, 1, height=1.5, share_y=False)
    figure.get_layout_engine().set(hspace=0.08)
    _draw_epochs(axes[0], table)
    _draw_decays(axes[1], table)
    if real:
        _draw_rows(axes[2], table)
    for ax in axes:
        ax.set_ylabel("accuracy")
        ax.legend(frameon=False, fontsize=6, ncols=2)
    return figure


def _draw_epochs(ax: Any, table: xr.Dataset) -> None:
    weakest = table.isel(penalty=int(np.argmin(table["penalty"].values)))
    points_with_bars(ax, table["epochs"].values, table["accuracy_pairs"].values, table["accuracy_pairs_se"].values,
                     color=COLORS[2], marker="^", label="random pairs, $p = n$")  # fmt: skip
    for arm, color in (("plain", COLORS[0]), ("Mixup", COLORS[2])):
        at = weakest["accuracy"].sel(arm=arm).interp(ratio=1.0)
        ax.axhline(float(at), color=color, linewidth=0.8, linestyle="dashed", label=f"{arm}, limit")
    ax.set(xscale="log", xlabel="epochs of random pairs")
    decades(ax, x=True)


def _draw_decays(ax: Any, table: xr.Dataset) -> None:
    for number, decay in enumerate(table["decay"].values):
        row = table["accuracy_decay"].sel(decay=decay)
        style = {"color": COLORS[number + 3 - 3 * (number > 2)], "linewidth": 0.9}
        ax.plot(row["ratio"], row.sel(arm="plain"), linestyle="dashed", **style)
        ax.plot(row["ratio"], row.sel(arm="Mixup"), label=f"$s_k = k^{{-{decay:g}}}$", **style)
    ax.axvline(1.0, color="0.6", linewidth=0.6)
    ax.set(xscale="log", xlabel="$p/n$ (solid: Mixup, dashed: plain)")
    decades(ax, x=True)


def _draw_rows(ax: Any, table: xr.Dataset) -> None:
    for number, arm in enumerate(table["arm"].values):
        row, color = table.sel(arm=arm), COLORS[number]
        ax.plot(row["rows"], row["accuracy_rows_predicted"], color=color, linewidth=0.9)
        points_with_bars(ax, row["rows"].values, row["accuracy_rows"].values, row["accuracy_rows_se"].values,
                         color=color, marker=MARKERS[number], label=str(arm))  # fmt: skip
    ax.axvline(784, color="0.6", linewidth=0.6)
    ax.set_xlabel(f"$n$ ({table.attrs['pair']}; line: $n = p = 784$)")


def _settings(table: xr.Dataset) -> str:
    return (
        "Lines: the limit. Points: means over "
        f"{int(table.attrs['replicates'])} literal training sets of n = {int(table.attrs['n'])}, fitted to all pairs "
        "(bars of two standard errors, smaller than most points). Dotted: p/n from which on the classes are separable. "
        f"|theta| = {table.attrs['theta_norm']:g}."
    )


def _peak_caption(table: xr.Dataset) -> str:
    return (
        "Accuracy and mean confidence of a logistic fit with a weak penalty, mu = "
        f"{float(table['penalty'].min()):g}, with hard labels, smoothed labels and Mixup. {_settings(table)}"
    )


def _penalties_caption(table: xr.Dataset) -> str:
    return f"Accuracy and mean confidence against p/n at each penalty mu. {_settings(table)}"


def _conditions_caption(table: xr.Dataset) -> str:
    real = "; on real classes, predicted (lines) and measured (points, 3 training sets)" if "rows" in table.dims else ""
    return (
        "Accuracy with the weakest penalty: of Mixup with ever more random pairs at p = n; predicted for decaying "
        f"eigenvalues{real}. Bars: two standard errors."
    )
