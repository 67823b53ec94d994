"""Pictures of stored results, drawn on the Axes that you give; nothing is computed here and no style is set globally.

matplotlib is imported inside, so that importing `mixjax` does not need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh

COLUMN_WIDTH = 3.35  # inches, one column of a two-column paper
COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
)  # Okabe and Ito: safe for colour-blind readers
MARKERS = ("o", "s", "^", "D", "v", "P")


def paper_style() -> AbstractContextManager[Any]:
    """A context in which text is legible at one column."""
    import matplotlib

    return matplotlib.rc_context(
        {
            "font.size": 8,
            "axes.titlesize": 8,
            "axes.labelsize": 8,
            "xtick.labelsize": 7,
            "ytick.labelsize": 7,
            "legend.fontsize": 7,
            "axes.linewidth": 0.6,
            "lines.linewidth": 1.1,
            "savefig.dpi": 300,
        }
    )


def heat_map(
    ax: Axes,
    x: np.ndarray,
    y: np.ndarray,
    values: np.ndarray,
    *,
    centre: float,
    limit: float,
    linear: float | None = None,
    cmap: str = "RdBu_r",
) -> QuadMesh:
    """A diverging map of values[y, x] over logarithmic axes, white at `centre` and saturated at centre +- limit.

    Args:
      linear: distance from the centre up to which the colour is linear and beyond which it is logarithmic; by default
        it is linear throughout.
    """
    from matplotlib.colors import Normalize, SymLogNorm

    norm = Normalize(centre - limit, centre + limit) if linear is None else SymLogNorm(linear, vmin=-limit, vmax=limit)
    columns, rows = _edges(x), _edges(y)
    mesh = ax.pcolormesh(columns, rows, values, norm=norm, cmap=cmap, rasterized=True)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(*(x[[0, -1]] if len(x) > 1 else columns))
    ax.set_ylim(*(y[[0, -1]] if len(y) > 1 else rows))
    return mesh


def level_line(ax: Axes, x: np.ndarray, y: np.ndarray, values: np.ndarray, level: float, **style: Any) -> None:
    """The contour of values[y, x] at a level, if there is one."""
    if np.nanmin(values) < level < np.nanmax(values):
        ax.contour(x, y, values, [level], **style)


def points_with_bars(
    ax: Axes,
    x: np.ndarray,
    mean: np.ndarray,
    standard_error: np.ndarray,
    spread: np.ndarray,
    *,
    colour: str,
    marker: str,
    label: str,
) -> None:
    """Monte Carlo means with bars of two standard errors, over a band of one standard deviation of the replicates."""
    ax.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
    ax.errorbar(x, mean, 2 * standard_error, fmt=marker, color=colour, markersize=2.6, elinewidth=0.8, label=label)


def decades(ax: Axes, *, x: bool = False, y: bool = False) -> None:
    """Plain numbers at 1 and 3 of each decade of a short logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for wanted, axis in ((x, ax.xaxis), (y, ax.yaxis)):
        if wanted:
            axis.set_major_locator(LogLocator(subs=(1, 3)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())


def _edges(centres: np.ndarray) -> np.ndarray:
    """Cell edges half way, in logarithm, between the centres."""
    logs = np.log(centres)
    if len(logs) == 1:
        return np.exp([logs[0] - 0.5, logs[0] + 0.5])
    middle = 0.5 * (logs[1:] + logs[:-1])
    return np.exp(np.concatenate([[2 * logs[0] - middle[0]], middle, [2 * logs[-1] - middle[-1]]]))


def panels(
    count: int, columns: int, *, height: float, share_y: bool = True, width: float = COLUMN_WIDTH
) -> tuple[Any, Sequence[Axes]]:
    """A figure of `count` panels with common axes (`share_y`: both); the surplus of the last row is left empty."""
    from matplotlib.figure import Figure

    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(width, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, sharey=share_y, squeeze=False).ravel()
    for spare in axes[count:]:
        spare.remove()
    return figure, list(axes[:count])
