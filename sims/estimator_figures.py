"""Pictures and the table of `estimator_bias`, from its stored results alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from mixjax import plots
from mixjax.runs import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = ("ECE, equal width", "ECE, equal mass", "ECE, sweep", "smooth ECE", "ECE_2, debiased", "signed gap")
BINS = 15


def write(table: xr.Dataset, folder: Path) -> list[Path]:
    """Write bias.png, rmse.png, coverage.png and table.md; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with plots.paper_style():
        for name, draw in (("bias", bias_figure), ("rmse", rmse_figure), ("coverage", coverage_figure)):
            path = folder / f"{name}.png"
            draw(table).savefig(path)
            written.append(path)
    write_atomically(folder / "table.md", markdown(table).encode())
    return [*written, folder / "table.md"]


def bias_figure(table: xr.Dataset) -> Figure:
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


def rmse_figure(table: xr.Dataset) -> Figure:
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


def coverage_figure(table: xr.Dataset) -> Figure:
    """How often the bootstrap's 95 % intervals hold the exact value, with two binomial standard errors."""
    figure, axes = plots.panels(table.sizes["law"], 2, height=1.8, share_y=True, width=2 * plots.COLUMN_WIDTH)
    samples = _interval_samples(table)
    for ax, law in zip(axes, table["law"].values, strict=True):
        for number, name in enumerate(table["interval"].values):
            share = table["coverage"].sel(law=law, interval=name, bins=_bins(table)).values
            error = 2 * np.sqrt(np.maximum(share * (1 - share), 1 / samples) / samples)
            ax.errorbar(table["size"], share, error, label=name, elinewidth=0.8, **_style(number))
        ax.axhline(0.95, color="0.4", linewidth=0.6, linestyle="--", zorder=0)
        ax.set_ylim(0, 1.05)
        _dress(ax, table, law)
    figure.supylabel("coverage of 95 % intervals", fontsize="medium")
    return _with_legend(figure, axes)


def markdown(table: xr.Dataset) -> str:
    """Bias and standard deviation of every estimator, law and size, at 15 bins."""
    lines = [f"Bias ± standard deviation over samples, {_bins(table)} bins; standard errors are in dataset.nc.", ""]
    sizes = [f"{int(size):,}" for size in table["size"].values]
    for law in table["law"].values:
        lines += [f"## {law}", "", "| estimator | truth | " + " | ".join(f"N = {size}" for size in sizes) + " |"]
        lines.append("|---|---:|" + "---:|" * len(sizes))
        for name in table["estimator"].values:
            row = table.sel(law=law, estimator=name, bins=_bins(table))
            cells = [f"{bias:+.4f} ± {sd:.4f}" for bias, sd in zip(row["bias"].values, row["sd"].values, strict=True)]
            lines.append(f"| {name} | {float(row['truth']):.4f} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _style(number: int) -> dict[str, Any]:
    return {"color": plots.COLOURS[number], "marker": plots.MARKERS[number], "markersize": 3}


def _bins(table: xr.Dataset) -> int:
    return int(min(table["bins"].values, key=lambda bins: abs(bins - BINS)))


def _interval_samples(table: xr.Dataset) -> np.ndarray:
    return np.minimum(table["samples"].values[0], json.loads(table.attrs["config"])["interval_samples"])


def _dress(ax: Axes, table: xr.Dataset, law: str) -> None:
    ax.set_xscale("log")
    truth = float(table["truth"].sel(law=law, estimator="ECE, equal width"))
    ax.set_title(f"{law}: ECE = {truth:.3f}")
    ax.set_xlabel("sample size N")
    ax.label_outer()


def _with_legend(figure: Figure, axes: Sequence[Axes]) -> Figure:
    handles, labels = axes[0].get_legend_handles_labels()
    labels = [label.replace("ECE_2", "ECE$_2$") for label in labels]
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure
