"""The figures of the studies, from their stored tables alone."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from mixjax.plots import (
    COLOURS,
    COLUMN_WIDTH,
    MARKERS,
    decades,
    heat_map,
    level_line,
    panels,
    paper_style,
    points_with_bars,
)
from mixjax.runs import write_atomically
from sims.study import Figure, Study

NAMES = {"ece": "ECE", "ece2": "ECE$_2$", "mce": "MCE"}
PLAIN_NAMES = {"ece": "ECE", "ece2": "ECE_2", "mce": "MCE"}


def write_figures(study: Study, table: xr.Dataset, folder: Path) -> list[Path]:
    """Draw every figure of a study, NAME.png with its caption in NAME.txt; returns the pictures, the main one first."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in study.figures:
        with paper_style():
            drawn = figure.draw(table)
            if drawn is None:
                continue
            temporary = folder / f".tmp-{figure.name}.png"
            drawn.savefig(temporary)
        path = folder / f"{figure.name}.png"
        temporary.replace(path)
        write_atomically(folder / f"{figure.name}.txt", (figure.caption(table) + "\n").encode())
        written.append(path)
    return written


def phase_diagram_figures() -> tuple[Figure, ...]:
    figures = []
    for metric in NAMES:
        figures.append(
            Figure(
                f"{metric}_difference",
                partial(_difference_map, metric=metric),
                partial(_difference_caption, metric=metric),
            )
        )
        figures.append(
            Figure(f"{metric}_mix_better", partial(_better_map, metric=metric), partial(_better_caption, metric=metric))
        )
    return tuple(figures)


def slice_figures(axis: str) -> tuple[Figure, ...]:
    return tuple(
        Figure(
            f"{metric}_difference",
            partial(_slice, metric=metric, axis=axis),
            partial(_slice_caption, metric=metric, axis=axis),
        )
        for metric in NAMES
    )


def capacity_figures() -> tuple[Figure, ...]:
    return tuple(
        Figure(f"{metric}_derivative", partial(_capacity, metric=metric), partial(_capacity_caption, metric=metric))
        for metric in ("ece", "mce")
    )


def _is_map(table: xr.Dataset) -> bool:
    return all(table.sizes.get(axis, table.sizes.get("p", 1)) > 1 for axis in ("ratio", "theta_norm"))


def _map_panels(table: xr.Dataset, draw: Any) -> Any:
    """One panel for each Mixup setting (of the first n), each drawn by `draw(ax, panel table)`."""
    if not _is_map(table):
        return None
    count = table.sizes["mixup"]
    columns, width = (2, COLUMN_WIDTH) if count <= 6 else (4, 2 * COLUMN_WIDTH)
    figure, axes = panels(count, columns, height=1.62, width=width)
    mesh = None
    for ax, setting in zip(axes, range(table.sizes["mixup"]), strict=True):
        panel = table.isel(n=0, mixup=setting)
        mesh = draw(ax, panel)
        ax.set_title(_setting_label(panel), pad=3)
        decades(ax, x=True, y=True)
    columns = min(columns, count)
    for ax in axes[-columns:]:
        ax.set_xlabel("$p/n$")
        ax.tick_params(labelbottom=True)
    for ax in axes[::columns]:
        ax.set_ylabel(r"$|\theta|/\sigma$")
    return figure, axes, mesh


def _horizontal(table: xr.Dataset) -> tuple[np.ndarray, str]:
    """p/n as asked for (or realised, if p was given), and the name of its axis."""
    if "ratio" in table.dims:
        return table["ratio"].values, "ratio"
    return table["realised_ratio"].values, "p"


def _boundaries(ax: Any, panel: xr.Dataset, metric: str, values: np.ndarray, level: float) -> None:
    x, _ = _horizontal(panel)
    y = panel["theta_norm"].values
    level_line(ax, x, y, values, level, colors="black", linewidths=1.0)
    boundary = panel[f"{metric}_critical_ratio"].values
    ax.plot(np.where(boundary > 0, boundary, np.nan), y, color="black", linestyle=(0, (4, 2)), linewidth=0.9)


def _difference_map(table: xr.Dataset, metric: str) -> Any:
    largest = float(np.nanmax(np.abs(table[f"{metric}_difference"].values))) or 1.0

    def draw(ax: Any, panel: xr.Dataset) -> Any:
        x, dim = _horizontal(panel)
        values = panel[f"{metric}_difference"].transpose("theta_norm", dim).values
        mesh = heat_map(ax, x, panel["theta_norm"].values, values, centre=0.0, limit=largest, linear=largest / 30)
        _boundaries(ax, panel, metric, values, 0.0)
        return mesh

    if (made := _map_panels(table, draw)) is None:
        return None
    figure, axes, mesh = made
    bar = figure.colorbar(mesh, ax=axes, location="bottom", shrink=0.95, aspect=35, pad=0.02)
    bar.set_label(f"{NAMES[metric]}(mix) $-$ {NAMES[metric]}  (blue: Mixup better)")
    bar.set_ticks(_symmetric_ticks(largest))
    bar.ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    bar.minorticks_off()
    return figure


def _symmetric_ticks(largest: float) -> list[float]:
    """0 and, to either side, two round numbers a decade apart."""
    power = 10.0 ** np.floor(np.log10(largest))
    top = max(step for step in (1, 2, 5) if step * power <= largest) * power
    return [-top, -top / 10, 0.0, top / 10, top]


def _better_map(table: xr.Dataset, metric: str) -> Any:
    def draw(ax: Any, panel: xr.Dataset) -> Any:
        x, dim = _horizontal(panel)
        values = panel[f"{metric}_mix_better"].transpose("theta_norm", dim).values
        mesh = heat_map(ax, x, panel["theta_norm"].values, values, centre=0.5, limit=0.5, cmap="PuOr")
        _boundaries(ax, panel, metric, values, 0.5)
        return mesh

    if (made := _map_panels(table, draw)) is None:
        return None
    figure, axes, mesh = made
    bar = figure.colorbar(mesh, ax=axes, location="bottom", shrink=0.95, aspect=35, pad=0.02)
    bar.set_label(f"P({NAMES[metric]}(mix) < {NAMES[metric]})  (purple: Mixup better)")
    return figure


def _slice(table: xr.Dataset, metric: str, axis: str) -> Any:
    figure, axes = panels(table.sizes["theta_norm"], 1, height=1.75, share_y=False)
    other = "p" if axis == "n" else "n"
    for ax, theta in zip(axes, range(table.sizes["theta_norm"]), strict=True):
        for index in range(table.sizes["mixup"]):
            line = table.isel({"theta_norm": theta, "mixup": index, other: 0})
            x, name = line[axis].values, f"{metric}_difference"
            colour, marker = COLOURS[index % 6], MARKERS[index % 6]
            points_with_bars(ax, x, line[name].values, line[f"{name}_se"].values, line[f"{name}_sd"].values,
                             colour=colour, marker=marker, label=_setting_label(line))  # fmt: skip
            ax.plot(x, line[f"{name}_expected"].values, color=colour, linewidth=0.9)
            ax.plot(x, line[f"{name}_limit"].values, color=colour, linewidth=0.9, linestyle=(0, (4, 2)))
        ax.axhline(0.0, color="0.4", linewidth=0.6)
        ax.set_xscale("log")
        ax.set_title(rf"$|\theta|/\sigma = {float(table['theta_norm'][theta]):g}$", pad=3)
        ax.set_ylabel(f"{NAMES[metric]}(mix) $-$ {NAMES[metric]}")
        ax.ticklabel_format(axis="y", style="plain")
    axes[-1].set_xlabel("$p/n$" if axis == "ratio" else "training sample size $n$")
    if axis == "ratio":
        decades(axes[-1], x=True)
    axes[0].legend(frameon=False, loc="best", handletextpad=0.3)
    return figure


def _capacity(table: xr.Dataset, metric: str) -> Any:
    figure, (ax,) = panels(1, 1, height=2.4)
    for index in range(table.sizes["theta_norm"]):
        line = table.isel(n=0, mixup=0, theta_norm=index)
        name = f"{metric}_derivative"
        points_with_bars(ax, line["ratio"].values, *(line[name + part].values for part in ("", "_se", "_sd")),
                         colour=COLOURS[index % 6], marker=MARKERS[index % 6],
                         label=rf"$|\theta|/\sigma = {float(line['theta_norm']):g}$")  # fmt: skip
        ax.plot(line["ratio"].values, line[f"{name}_limit"].values, color=COLOURS[index % 6], linewidth=0.9)
    ax.axhline(0.0, color="0.4", linewidth=0.6)
    ax.set_xscale("log")
    decades(ax, x=True)
    ax.set_xlabel("$p/n$")
    ax.set_ylabel(rf"d{NAMES[metric]}/d$\alpha$ at $\alpha = 0^+$")
    ax.legend(frameon=False, loc="best", handletextpad=0.3)
    return figure


def _setting_label(panel: xr.Dataset) -> str:
    alpha, beta, t = (float(panel[name]) for name in ("alpha", "beta", "t"))
    pair = rf"$\alpha=\beta={alpha:g}$" if alpha == beta else rf"$\alpha={alpha:g}, \beta={beta:g}$"
    return rf"{pair} ($t={t:.3g}$)"


def _settings_text(table: xr.Dataset) -> str:
    pairs = ", ".join(f"({float(a):g}, {float(b):g})" for a, b in zip(table["alpha"], table["beta"], strict=True))
    made = json.loads(table.attrs["provenance"])
    n = ", ".join(f"{int(value)}" for value in table["n"].values[:3]) + (", ..." if table.sizes["n"] > 3 else "")
    return (
        f"Settings: Gaussian model, sigma = 1 (theta in units of sigma); n = {n}; (alpha, beta) = {pairs}; "
        f"{table.attrs['replicates']} training sets a cell, seed {table.attrs['seed']}. Without units. "
        f"Made with mixjax {made['mixjax']} ({made['commit']}), jax {made['jax']}, on {made['platform']}."
    )


def _difference_caption(table: xr.Dataset, metric: str) -> str:
    name = PLAIN_NAMES[metric]
    worst = float(table[f"{metric}_difference_se"].max())
    return (
        f"Mean of {name}(mix) - {name} over training sets: blue where Mixup calibrates better, red where worse. "
        "Solid: the zero contour of the Monte Carlo map; dashed: the boundary in the limit p/n -> c (critical ratio). "
        f"Only the first n is shown. The largest standard error of a cell is {worst:.2g}; the colour is linear up to "
        f"1/30 of the largest difference and logarithmic beyond. {_settings_text(table)}"
    )


def _better_caption(table: xr.Dataset, metric: str) -> str:
    name = PLAIN_NAMES[metric]
    width = float((table[f"{metric}_mix_better_high"] - table[f"{metric}_mix_better_low"]).max())
    return (
        f"Fraction of training sets with {name}(mix) < {name}. Solid: one half; dashed: the boundary in the limit "
        f"p/n -> c. The widest 95 % interval of a cell is {width:.2g} wide. {_settings_text(table)}"
    )


def _slice_caption(table: xr.Dataset, metric: str, axis: str) -> str:
    name = PLAIN_NAMES[metric]
    fixed = f"n (p = {', '.join(f'{int(p)}' for p in table['p'].values)})" if axis == "n" else "p/n"
    return (
        f"{name}(mix) - {name} against {fixed}. Points: mean over training sets with bars of two standard errors "
        "(mostly smaller than the point); bands: one standard deviation over training sets; solid: the exact "
        f"expectation at this n and p; dashed: the limit at the same p/n. {_settings_text(table)}"
    )


def _capacity_caption(table: xr.Dataset, metric: str) -> str:
    name, theorem = PLAIN_NAMES[metric], {"ece": "3.3", "mce": "5.3"}[metric]
    return (
        f"Derivative of the {name} in alpha at alpha = 0+ for lambda ~ Beta(alpha, beta), against p/n. Points: mean "
        "over training sets of the exact derivative, with bars of two standard errors; bands: one standard deviation "
        "over training sets; lines: the closed form in the limit. The paper claims that it decreases with p/n for "
        f"large theta (Theorem {theorem}). {_settings_text(table)}"
    )
