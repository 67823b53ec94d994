"""Maps over |theta'| and its angle to theta: the difference that Mixup makes out of domain, and two boundaries.

Small weights help up to twice the paper's condition: the boundary of what any weight does in the limit has no line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from mixjax.plots import Figure, decades, level_line, line_key, panels

from .captions import omitted, pairs_text, representatives, scale_text, setting_label, settings_text
from .marks import LIMIT, MEASURED, difference_bar, difference_map, largest_size, legend, name_axes

MOST_ROWS, MOST_COLUMNS = 3, 2


def out_of_domain_figures() -> tuple[Figure, ...]:
    return (Figure("ece_difference", _map, _caption),)


def _map(table: xr.Dataset) -> Any:
    """Draw a row for each (p/n, |theta|), a column for each Mixup setting."""
    if min(table.sizes["test_norm"], table.sizes["angle"]) < 2:
        return None
    rows, settings = _rows(table), _settings(table)
    largest = largest_size(table["ece_difference"].isel(n=0, mixup=settings).values)
    figure, axes = panels(len(rows) * len(settings), len(settings), height=1.75)
    mesh = None
    for ax, (row, setting) in zip(axes, [(row, s) for row in rows for s in settings], strict=True):
        panel = table.isel({"n": 0, "mixup": setting, **row}).sortby("test_norm").sortby("angle")
        mesh = _draw(ax, panel, largest)
        title = setting_label(panel) if row == rows[0] else ""
        ax.set_title(f"{title}\n{_row_label(panel)}" if title else _row_label(panel), pad=3)
    name_axes(axes, len(settings), r"$|\theta'|/\sigma$", r"angle of $\theta'$, $\theta$ (°)")
    _key(figure, table)
    difference_bar(figure, mesh, axes, "ECE(mix) $-$ ECE  (blue: Mixup better)", largest)
    return figure


def _draw(ax: Any, panel: xr.Dataset, largest: float) -> Any:
    x, y = panel["test_norm"].values, panel["angle"].values

    def laid_out(name: str) -> np.ndarray:
        return np.asarray(panel[name].transpose("angle", "test_norm").values)

    mesh = difference_map(ax, x, y, laid_out("ece_difference"), largest)
    difference, plain = laid_out("ece_difference"), laid_out("ece")
    heights = difference / (2.0 * plain + difference)  # smooth enough to interpolate
    level_line(ax, x, y, heights, 0.0, **MEASURED[0])
    level_line(ax, x, y, laid_out("excess"), 0.5, **LIMIT)
    decades(ax, x=True)
    return mesh


def _key(figure: Any, table: xr.Dataset) -> None:
    keys = [
        line_key(f"no change, $n = {int(table['n'][0])}$", **MEASURED[0]),
        line_key("Theorem 3.4: up to $0.5\\,p/n$", **LIMIT),
    ]
    alpha, rows = float(table["alpha"][_settings(table)[0]]), _smallest(table)
    ends = ", ".join(f"{float(panel['helps_up_to']):.2g}" for panel in rows) or "?"
    finding = rf"$\alpha = {alpha:g}$ helps up to $\langle\theta' - \theta,\, \theta\rangle = $ {ends} $p/n$"
    legend(figure, keys, 2, handlelength=3.2, columnspacing=1.2, title=finding)


def _smallest(table: xr.Dataset) -> list[xr.Dataset]:
    """Return the rows at the smallest weight, which helps furthest."""
    smallest = table.isel(n=0, mixup=_settings(table)[0])
    return [panel for panel in map(smallest.isel, _rows(table)) if np.isfinite(panel["helps_up_to"])]


def _rows(table: xr.Dataset) -> list[dict[str, int]]:
    positions = [
        {"ratio": ratio, "theta_norm": theta}
        for theta in range(table.sizes["theta_norm"])
        for ratio in range(table.sizes["ratio"])
    ]
    return [positions[k] for k in representatives(np.arange(len(positions)), MOST_ROWS)]


def _settings(table: xr.Dataset) -> list[int]:
    return representatives(table["t"].values, MOST_COLUMNS)


def _row_label(panel: xr.Dataset) -> str:
    return rf"$p/n={float(panel['realized_ratio']):g}$, $|\theta|={float(panel['theta_norm']):g}\sigma$"


def _caption(table: xr.Dataset) -> str:
    settings, rows = _settings(table), _rows(table)
    drawn = table.isel(n=[0], mixup=settings)
    measured = ", ".join(
        f"{float(panel['helps_up_to']):.3g} ± {float(panel['helps_up_to_sd']):.1g} at p/n = "
        f"{float(panel['realized_ratio']):g}"
        for panel in _smallest(table)
    )
    number = table.sizes["ratio"] * table.sizes["theta_norm"]
    return (
        "Mean over training sets of ECE(mix) - ECE on test data of mean theta', of length |theta'| and at an angle to "
        "the mean theta of the training data. Black: where it is 0; yellow, dashed: <theta' - theta, theta> = "
        "sigma^2 p/(2n), up to which Theorem 3.4 says that Mixup helps. In the limit some Mixup helps up to twice "
        "that; a given weight may help less far. The smallest weight helps in the simulation up to (in units of "
        f"sigma^2 p/n, mean and standard deviation over angles below 60 degrees) {measured}; the condition asks for "
        f"0.5. The largest standard error of a cell is {float(drawn['ece_difference_se'].max()):.2g}. "
        f"{scale_text(largest_size(drawn['ece_difference'].values))}"
        f"{omitted('pairs of p/n and theta', len(rows), number)}"
        f"{omitted('Mixup settings', len(settings), table.sizes['mixup'])}"
        f"{omitted('sample sizes', 1, table.sizes['n'])}{settings_text(drawn, pairs_text(drawn))}"
    )
