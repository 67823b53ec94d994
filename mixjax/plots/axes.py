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
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

COLUMN_WIDTH = 3.35  # inches, one column of a two-column paper
COLORS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
)  # Okabe and Ito: safe for colour-blind readers
BAND = 0.15  # opacity
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
    center: float,
    limit: float,
    linear: float | None = None,
    cmap: str = "RdBu_r",
) -> QuadMesh:
    """A diverging map of values[y, x], white at `centre` and saturated at centre +- limit; NaN is left blank.

    Args:
      x, y: centres of the cells, increasing and not negative; an axis that begins at 0 is linear, others logarithmic.
      linear: distance from the centre up to which the colour is linear and beyond which it is logarithmic; by default
        it is linear throughout.
    """
    from matplotlib.colors import Normalize, SymLogNorm

    norm = Normalize(center - limit, center + limit) if linear is None else SymLogNorm(linear, vmin=-limit, vmax=limit)
    columns, rows = _edges(x), _edges(y)
    shown = np.ma.masked_invalid(values)
    mesh = ax.pcolormesh(columns, rows, shown, norm=norm, cmap=cmap, rasterized=True)
    ax.set_xscale(_scale(x))
    ax.set_yscale(_scale(y))
    ax.set_xlim(*(x[[0, -1]] if len(x) > 1 else columns))
    ax.set_ylim(*(y[[0, -1]] if len(y) > 1 else rows))
    return mesh


def level_line(
    ax: Axes, x: np.ndarray, y: np.ndarray, values: np.ndarray, level: float, *, casing: str = "white", **style: Any
) -> None:
    """The contour of values[y, x] at a level, if there is one, with a casing as in `cased_line`; NaN has no contour.

    Args:
      style: color, linestyle and linewidth.
    """
    finite = values[np.isfinite(values)]
    if finite.size and min(values.shape) > 1 and finite.min() < level < finite.max():
        lines = ax.contour(
            x,
            y,
            np.ma.masked_invalid(values),
            [level],
            colors=[style["color"]],
            linestyles=[style["linestyle"]],
            linewidths=[style["linewidth"]],
        )
        lines.set(path_effects=_casing(casing, style["linewidth"]))


def cased_line(ax: Axes, x: np.ndarray, y: np.ndarray, *, casing: str, **style: Any) -> None:
    """A line with edges of another colour, so that it is seen on any ground, and on another line."""
    ax.plot(x, y, path_effects=_casing(casing, style["linewidth"]), **style)


def line_key(label: str, *, casing: str | None = None, linewidth: float = 0.9, **style: Any) -> Line2D:
    """The entry of a line in a legend."""
    from matplotlib.lines import Line2D

    effects = _casing(casing, linewidth) if casing else None
    return Line2D([], [], label=label, linewidth=linewidth, path_effects=effects, **style)


def band_key(label: str, color: str) -> Patch:
    """The entry of a band in a legend."""
    from matplotlib.patches import Patch

    return Patch(facecolor=color, alpha=BAND, linewidth=0, label=label)


def _casing(color: str, linewidth: float) -> list[Any]:
    from matplotlib.patheffects import Normal, Stroke

    return [Stroke(linewidth=linewidth + 1.2, foreground=color), Normal()]


def points_with_bars(
    ax: Axes,
    x: np.ndarray,
    mean: np.ndarray,
    standard_error: np.ndarray,
    *,
    color: str,
    marker: str,
    label: str,
    band: tuple[np.ndarray, np.ndarray] | None = None,
) -> None:
    """Monte Carlo means with bars of two standard errors, over a band (from, to) of the replicates if there is one."""
    if band is not None:
        ax.fill_between(x, *band, color=color, alpha=BAND, linewidth=0)
    ax.errorbar(
        x, mean, 2 * standard_error, fmt=marker, color=color, markersize=2.4, elinewidth=0.8, linewidth=0, label=label
    )


def decades(ax: Axes, *, x: bool = False, y: bool = False) -> None:
    """Plain numbers at 1 and 3 of each decade of a short logarithmic axis, and at more of less than a decade.

    A linear axis is left as it is.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for wanted, axis in ((x, ax.xaxis), (y, ax.yaxis)):
        if wanted and axis.get_scale() == "log":
            low, high = axis.get_view_interval()
            axis.set_major_locator(LogLocator(subs=(1, 3) if high >= 10 * low else (1, 2, 3, 5, 7)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())


def signed(value: float, _: int | None = None) -> str:
    """A short number with the minus that axes have, not a hyphen: a formatter of ticks."""
    return f"{value:g}".replace("-", "\N{MINUS SIGN}")


def _scale(centers: np.ndarray) -> str:
    return "log" if centers[0] > 0 else "linear"


def _edges(centers: np.ndarray) -> np.ndarray:
    """Cell edges half way between the centres, on the scale of their axis."""
    logarithmic = _scale(centers) == "log"
    places = np.log(centers) if logarithmic else np.asarray(centers, float)
    if len(places) == 1:
        edges = np.array([places[0] - 0.5, places[0] + 0.5])
    else:
        middle = 0.5 * (places[1:] + places[:-1])
        edges = np.concatenate([[2 * places[0] - middle[0]], middle, [2 * places[-1] - middle[-1]]])
    return np.exp(edges) if logarithmic else edges


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
