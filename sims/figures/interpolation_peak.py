"""Accuracy and confidence through p = n, and what makes the peak larger or smaller."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from mixjax.gaussian import separable_ratio
from mixjax.plots import COLORS, MARKERS, Figure, decades, line_key, panels, points_with_bars, signed

from .captions import BARS
from .marks import legend, name_axes

_CURVES = {"accuracy": "accuracy", "confidence": "mean confidence"}


def interpolation_peak_figures() -> tuple[Figure, ...]:
    return (
        Figure("peak", _peak, _peak_caption),
        Figure("penalties", _penalties, _penalties_caption),
        Figure("epochs", _epochs, _epochs_caption),
        Figure("spectra", _spectra, _spectra_caption),
        Figure("real_rows", _real_rows, _real_rows_caption),
    )


def _peak(table: xr.Dataset) -> Any:
    """Draw accuracy above confidence at the weakest penalty."""
    figure, axes = panels(2, 1, height=1.6, share_y=False)
    weakest = table.isel(penalty=int(np.argmin(table["penalty"].values)))
    for ax, (name, label) in zip(axes, _CURVES.items(), strict=True):
        _draw_arms(ax, weakest, name)
        ax.set_ylabel(label)
    name_axes(axes, 1, "$p/n$")
    legend(figure, axes[0], 3, title=_peak_finding(table))
    return figure


def _penalties(table: xr.Dataset) -> Any:
    """Draw accuracy beside confidence, a row for each penalty."""
    figure, axes = panels(2 * table.sizes["penalty"], 2, height=1.3)
    for number, ax in enumerate(axes):
        panel = table.isel(penalty=number // 2)
        _draw_arms(ax, panel, list(_CURVES)[number % 2])
        if number % 2 == 0:
            ax.set_ylabel(rf"$\mu = {float(panel['penalty']):g}$")
    for ax, label in zip(axes, _CURVES.values(), strict=False):
        ax.set_title(label, pad=3)
    name_axes(axes, 2, "$p/n$")
    legend(figure, axes[0], 3, title=_ends(table["accuracy"], "penalty", r"$\mu = {:g}$"))
    return figure


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


def _epochs(table: xr.Dataset) -> Any:
    """Draw accuracy at p = n against epochs of random pairs, beside the limits."""
    figure, (ax,) = panels(1, 1, height=1.9)
    points_with_bars(ax, table["epochs"].values, table["accuracy_pairs"].values, table["accuracy_pairs_se"].values,
                     color=COLORS[2], marker="^", label="Mixup, random pairs")  # fmt: skip
    weakest = table.isel(penalty=int(np.argmin(table["penalty"].values)))
    for arm, color in (("plain", COLORS[0]), ("Mixup", COLORS[2])):
        at = weakest["accuracy"].sel(arm=arm).interp(ratio=1.0)
        label = "no Mixup, limit" if arm == "plain" else "Mixup, all pairs, limit"
        ax.axhline(float(at), color=color, linewidth=0.8, linestyle="dashed", label=label)
    ax.set(xscale="log", xlabel="random pairs / $n$", ylabel="accuracy at $p = n$")
    decades(ax, x=True)
    legend(figure, ax, 2, title=_epochs_finding(table))
    return figure


def _spectra(table: xr.Dataset) -> Any:
    """Draw the predicted accuracy of hard labels and of Mixup for each spectrum."""
    figure, (ax,) = panels(1, 1, height=1.9)
    for number, decay in enumerate(table["decay"].values):
        row, color = table["accuracy_decay"].sel(decay=decay), COLORS[number % len(COLORS)]
        ax.plot(row["ratio"], row.sel(arm="plain"), color=color, linewidth=0.9, linestyle="dashed")
        ax.plot(row["ratio"], row.sel(arm="Mixup"), color=color, linewidth=0.9, label=f"$s_k = k^{{-{decay:g}}}$")
    ax.axvline(1.0, color="0.6", linewidth=0.6)
    ax.set(xscale="log", xlabel="$p/n$", ylabel="accuracy")
    decades(ax, x=True)
    keys = [*ax.get_legend_handles_labels()[0], line_key("Mixup", color="0.3")]
    keys.append(line_key("hard labels", color="0.3", linestyle="dashed"))
    legend(figure, keys, 3, title=_ends(table["accuracy_decay"], "decay", "$k^{{-{:g}}}$"))
    return figure


def _real_rows(table: xr.Dataset) -> Any:
    """Draw accuracy on real classes against n, predicted and measured; nothing where there is none."""
    if "rows" not in table.dims:
        return None
    figure, (ax,) = panels(1, 1, height=1.9)
    for number, arm in enumerate(table["arm"].values):
        row, color = table.sel(arm=arm), COLORS[number]
        ax.plot(row["rows"], row["accuracy_rows_predicted"], color=color, linewidth=0.9)
        points_with_bars(ax, row["rows"].values, row["accuracy_rows"].values, row["accuracy_rows_se"].values,
                         color=color, marker=MARKERS[number], label=str(arm))  # fmt: skip
    ax.set(xscale="log", xlabel=f"$n$ ({table.attrs['pair']})", ylabel="accuracy")
    decades(ax, x=True)
    missed = float(np.nanmedian(np.abs((table["accuracy_rows"] - table["accuracy_rows_predicted"]).values)))
    legend(figure, ax, 3, title=f"Predicted accuracy (lines) is {missed:.3f} from the fits (median)")
    return figure


def _near_one(values: xr.DataArray) -> xr.DataArray:
    """Return the values at the p/n that is nearest to 1."""
    return values.isel(ratio=int(np.abs(np.log(values["ratio"].values)).argmin()))


def _peak_finding(table: xr.Dataset) -> str:
    accuracy = _near_one(table["accuracy"].isel(penalty=int(np.argmin(table["penalty"].values))))
    plain, mixed = (float(accuracy.sel(arm=arm)) for arm in ("plain", "Mixup"))
    return f"$p/n = {float(accuracy['ratio']):.2g}$: accuracy {plain:.2f} with hard labels, {mixed:.2f} with Mixup"


def _ends(accuracy: xr.DataArray, dim: str, words: str) -> str:
    """Say how Mixup changes the accuracy near p = n at both ends of an axis."""
    near = _near_one(accuracy)
    change = (near.sel(arm="Mixup") - near.sel(arm="plain")).sortby(dim)
    parts = [f"{signed(round(float(end), 2))} ({words.format(float(end[dim]))})" for end in (change[0], change[-1])]
    return f"Mixup at $p/n = {float(near['ratio']):.2g}$: accuracy {', '.join(parts)}"


def _epochs_finding(table: xr.Dataset) -> str:
    accuracy = table["accuracy_pairs"][[0, -1]]
    fewest, most = (f"{float(count):g} $n$" for count in accuracy["epochs"])
    return f"{fewest} to {most} random pairs: accuracy {float(accuracy[0]):.2f} to {float(accuracy[-1]):.2f}"


def _settings(table: xr.Dataset) -> str:
    return (
        "Lines: the limit. Points: means over "
        f"{int(table.attrs['replicates'])} literal training sets of n = {int(table.attrs['n'])}, fitted to all pairs "
        f"(of confidences without bars). {BARS}Dotted: p/n from which on the classes are separable. "
        f"|theta| = {table.attrs['theta_norm']:g}."
    )


def _peak_caption(table: xr.Dataset) -> str:
    return (
        "Accuracy and mean confidence of a logistic fit with a weak penalty, mu = "
        f"{float(table['penalty'].min()):g}, with hard labels, smoothed labels and Mixup. {_settings(table)}"
    )


def _penalties_caption(table: xr.Dataset) -> str:
    return f"Accuracy and mean confidence against p/n at each penalty mu. {_settings(table)}"


def _weakest(table: xr.Dataset) -> str:
    return f"mu = {float(table['penalty'].min()):g}"


def _epochs_caption(table: xr.Dataset) -> str:
    return (
        f"Accuracy of a logistic fit to random pairs at p = n = {int(table.attrs['n'])}, {_weakest(table)}, against "
        f"their number / n: means over {int(table.attrs['replicates'])} training sets. {BARS}Dashed: limits."
    )


def _spectra_caption(table: xr.Dataset) -> str:
    return (
        f"Accuracy of a logistic fit with {_weakest(table)}, predicted for eigenvalues that decay as a power of their "
        "rank, with and without Mixup. The best accuracy is the same for all."
    )


def _real_rows_caption(table: xr.Dataset) -> str:
    return (
        f"Accuracy of fits to n rows of two classes of images ({table.attrs['pair']}), {_weakest(table)}: predicted "
        "from their means and covariance (lines), and measured on the other rows (points: 3 training sets). "
        f"{BARS}".rstrip()
    )
