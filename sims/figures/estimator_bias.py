"""Bias, root mean squared error and coverage of the estimators, against the sample size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from mixjax import plots

from ..study import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = ("ECE, equal width", "ECE, equal mass", "ECE, sweep", "smooth ECE", "KDE ECE", "ECE_2, debiased", "signed gap")
BINS = 15


def estimator_bias_figures() -> tuple[Figure, ...]:
    return (
        Figure("bias", _bias, _bias_caption),
        Figure("rmse", _rmse, _rmse_caption),
        Figure("coverage", _coverage, _coverage_caption),
    )


def _bias(table: xr.Dataset) -> Any:
    """Bias with two standard errors against the sample size, on an axis that is linear near 0."""
    figure, axes = plots.panels(table.sizes["law"], 2, height=2.0, share_y=True, width=2 * plots.COLUMN_WIDTH)
    for ax, law in zip(axes, table["law"].values, strict=True):
        for number, name in enumerate(SHOWN):
            row = table.sel(law=law, estimator=name, bins=_bins(table))
            ax.errorbar(table["size"], row["bias"], 2 * row["bias_se"], label=name, elinewidth=0.8, **_style(number))
        ax.axhline(0, color="0.4", linewidth=0.6, zorder=0)
        ax.set_yscale("symlog", linthresh=1e-3, linscale=0.6)
        _dress(ax, table, law)
    figure.supylabel("bias", fontsize="medium")
    return _with_legend(figure, axes)


def _rmse(table: xr.Dataset) -> Any:
    """Root mean squared error against the sample size."""
    figure, axes = plots.panels(table.sizes["law"], 2, height=2.0, share_y=True, width=2 * plots.COLUMN_WIDTH)
    for ax, law in zip(axes, table["law"].values, strict=True):
        for number, name in enumerate(SHOWN):
            row = table.sel(law=law, estimator=name, bins=_bins(table))
            ax.plot(table["size"], row["rmse"], label=name, **_style(number))
        ax.set_yscale("log")
        _dress(ax, table, law)
    figure.supylabel("root mean squared error", fontsize="medium")
    return _with_legend(figure, axes)


def _coverage(table: xr.Dataset) -> Any:
    """How often the bootstrap's 95 % intervals hold the exact value, with two binomial standard errors."""
    figure, axes = plots.panels(table.sizes["law"], 2, height=1.8, share_y=True, width=2 * plots.COLUMN_WIDTH)
    for ax, law in zip(axes, table["law"].values, strict=True):
        for number, name in enumerate(table["interval"].values):
            share = table["coverage"].sel(law=law, interval=name, bins=_bins(table)).values
            samples = table["interval_samples"].sel(law=law).values
            error = 2 * np.sqrt(np.maximum(share * (1 - share), 1 / samples) / samples)
            ax.errorbar(table["size"], share, error, label=name, elinewidth=0.8, **_style(number))
        ax.axhline(0.95, color="0.4", linewidth=0.6, linestyle="--", zorder=0)
        ax.set_ylim(0, 1.05)
        _dress(ax, table, law)
    figure.supylabel("coverage of 95 % intervals", fontsize="medium")
    return _with_legend(figure, axes)


def estimator_bias_report(table: xr.Dataset) -> str:
    """Bias and standard deviation of every estimator, law and size, at 15 bins."""
    lines = [f"Bias ± standard deviation over samples, {_bins(table)} bins; standard errors are in dataset.nc.", ""]
    sizes = [f"{int(size):,}" for size in table["size"].values]
    for law in table["law"].values:
        lines += [f"## {law}", "", "| estimator | truth | " + " | ".join(f"N = {size}" for size in sizes) + " |"]
        lines.append("|---|---:|" + "---:|" * len(sizes))
        for name in table["estimator"].values:
            row = table.sel(law=law, estimator=name, bins=_bins(table))
            pairs = zip(row["bias"].values, row["sd"].values, strict=True)
            cells = [f"{bias:+.4f} ± {sd:.4f}" if np.isfinite(bias) else "-" for bias, sd in pairs]
            lines.append(f"| {name} | {float(row['truth']):.4f} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _style(number: int) -> dict[str, Any]:
    colors, markers = (*plots.COLORS, "0.35"), (*plots.MARKERS, "x")
    return {"color": colors[number], "marker": markers[number], "markersize": 3}


def _bins(table: xr.Dataset) -> int:
    return int(min(table["bins"].values, key=lambda bins: abs(bins - BINS)))


def _dress(ax: Axes, table: xr.Dataset, law: str) -> None:
    ax.set_xscale("log")
    truth = float(table["truth"].sel(law=law, estimator="ECE, equal width"))
    ax.set_title(f"{law}: ECE = {truth:.3f}")
    ax.set_xlabel("sample size N")
    ax.label_outer()


def _with_legend(figure: Any, axes: Sequence[Axes]) -> Any:
    handles, labels = axes[0].get_legend_handles_labels()
    labels = [label.replace("ECE_2", "ECE$_2$") for label in labels]
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _bias_caption(table: xr.Dataset) -> str:
    return (
        "Bias of estimators of calibration error: mean over samples minus the exact population value, with bars of two "
        "standard errors, against the sample size; linear within 0.001 of 0. A panel is a law of the score. "
        f"{_settings(table)}"
    )


def _rmse_caption(table: xr.Dataset) -> str:
    return f"Root mean squared error of the same estimators against the sample size. {_settings(table)}"


def _coverage_caption(table: xr.Dataset) -> str:
    return (
        "Share of 95 % intervals that hold the exact population value, with bars of two binomial standard errors: "
        "those of binned errors are bootstrap intervals, which inherit the bias of their estimates; "
        f"those of means (NLL, Brier score) are normal. {_settings(table)}"
    )


def _settings(table: xr.Dataset) -> str:
    made, config = json.loads(table.attrs["provenance"]), json.loads(table.attrs["config"])
    return (
        f"Settings: scores of the Gaussian model, {_bins(table)} bins, {int(table['samples'].min())} to "
        f"{int(table['samples'].max())} samples ({int(table['interval_samples'].min())} to "
        f"{int(table['interval_samples'].max())} for intervals), seed {config['seed']}. Without units. "
        f"Made with mixjax {made['mixjax']} ({made['commit']}), jax {made['jax']}, on {made['platform']}."
    )
