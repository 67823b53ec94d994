"""Maps, lines, points and keys, drawn on the Axes that you give, with no arithmetic on the values.

matplotlib is imported inside, so that importing `mixjax` does not need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mixjax.plots.packages import needs
from mixjax.plots.style import BAND
from mixjax.typing import ArrayLike, Real

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

_LINE_WIDTH = 1.1


def heat_map(
    ax: Axes,
    x: np.ndarray,
    y: np.ndarray,
    values: np.ndarray,
    *,
    center: Real,
    limit: Real,
    linear: Real | None = None,
    cmap: str = "RdBu_r",
) -> QuadMesh:
    """Draw a diverging map of values[y, x], white at `center` and saturated at center +- limit; NaN is left blank.

    Args:
      ax: to draw on.
      x, y: centers of the cells, increasing and not negative; an axis that begins at 0 is linear, others logarithmic.
      values: of the cells, shape [len(y), len(x)].
      center, limit: the white value, and the distance from it at which colors end.
      linear: distance from the center up to which the color is linear and beyond which it is logarithmic; by default
        it is linear throughout.
      cmap: of matplotlib, diverging.

    Returns:
      The cells, for a color bar.

    Example:
      >>> import numpy as np
      >>> from mixjax.plots import heat_map, panels
      >>> _, (ax,) = panels(1, 1, height=2)
      >>> mesh = heat_map(ax, np.array([1.0, 10.0]), np.array([0.0, 1.0]), np.eye(2), center=0, limit=1)
      >>> ax.get_xscale(), ax.get_yscale(), mesh.get_clim()
      ('log', 'linear', (-1.0, 1.0))
    """
    from matplotlib.colors import Normalize, SymLogNorm

    norm = Normalize(center - limit, center + limit) if linear is None else SymLogNorm(linear, vmin=-limit, vmax=limit)
    columns, rows = _edges(x), _edges(y)
    mesh = ax.pcolormesh(columns, rows, np.ma.masked_invalid(values), norm=norm, cmap=cmap, rasterized=True)
    ax.set(xscale=_scale(x), yscale=_scale(y))
    ax.set_xlim(*(x[[0, -1]] if len(x) > 1 else columns))
    ax.set_ylim(*(y[[0, -1]] if len(y) > 1 else rows))
    return mesh


def level_line(
    ax: Axes,
    x: np.ndarray,
    y: np.ndarray,
    values: np.ndarray,
    level: Real,
    *,
    casing: str = "white",
    color: str = "black",
    linestyle: str = "solid",
    linewidth: Real = _LINE_WIDTH,
) -> None:
    """Draw the contour of values[y, x] at a level, if there is one, with edges as of `cased_line`; NaN has no contour.

    Example:
      >>> import numpy as np
      >>> from mixjax.plots import level_line, panels
      >>> _, (ax,) = panels(1, 1, height=2)
      >>> level_line(ax, np.arange(2), np.arange(2), np.eye(2), 0.5, color="k")
      >>> len(ax.collections)
      1
    """
    finite = values[np.isfinite(values)]
    if finite.size and min(values.shape) > 1 and finite.min() < level < finite.max():
        style: dict[str, Any] = {"colors": [color], "linestyles": [linestyle], "linewidths": [linewidth]}
        lines = ax.contour(x, y, np.ma.masked_invalid(values), [level], **style)
        lines.set(path_effects=_casing(casing, linewidth))


def cased_line(
    ax: Axes, x: ArrayLike, y: ArrayLike, *, casing: str = "white", linewidth: Real = _LINE_WIDTH, **style: Any
) -> None:
    """Draw a line with edges of another color, so that it is visible on any background and on other lines.

    Args:
      ax: to draw on.
      x, y: of the points.
      casing: color of the edges.
      linewidth: without the edges.
      **style: further properties of the line, as for `Axes.plot`.

    Example:
      >>> from mixjax.plots import cased_line, panels
      >>> _, (ax,) = panels(1, 1, height=2)
      >>> cased_line(ax, [0, 1], [0, 1], color="k", label="exact")
      >>> ax.lines[0].get_label()
      'exact'
    """
    ax.plot(np.asarray(x), np.asarray(y), path_effects=_casing(casing, linewidth), linewidth=linewidth, **style)


@needs("matplotlib")
def line_key(label: str, *, casing: str | None = None, linewidth: Real = 0.9, **style: Any) -> Line2D:
    """Make the legend entry of a line.

    Example:
      >>> from mixjax.plots import line_key
      >>> line_key("exact", color="0.3", linestyle="--").get_linestyle()
      '--'
    """
    from matplotlib.lines import Line2D

    effects = _casing(casing, linewidth) if casing else None
    return Line2D([], [], label=label, linewidth=linewidth, path_effects=effects, **style)


@needs("matplotlib")
def band_key(label: str, color: str) -> Patch:
    """Make the legend entry of a band.

    Example:
      >>> from mixjax.plots import band_key
      >>> band_key("80% of the replicates", "C0").get_alpha()
      0.15
    """
    from matplotlib.patches import Patch

    return Patch(facecolor=color, alpha=BAND, linewidth=0, label=label)


def points_with_bars(
    ax: Axes,
    x: np.ndarray,
    mean: np.ndarray,
    standard_error: np.ndarray,
    *,
    within: tuple[Real, Real] = (-np.inf, np.inf),
    **style: Any,
) -> None:
    """Draw Monte Carlo means with bars that are 95 % intervals: 1.96 standard errors to either side.

    Args:
      ax: to draw on.
      x, mean, standard_error: of the points.
      within: bounds that no interval crosses, such as (0, 1) for a mean of shares.
      **style: color, marker and label, as for `points_with_intervals`.

    Example:
      >>> import numpy as np
      >>> from mixjax.plots import panels, points_with_bars
      >>> _, (ax,) = panels(1, 1, height=2)
      >>> points_with_bars(ax, np.arange(2), np.ones(2), np.full(2, 0.1), color="k", marker="o", label="ECE")
      >>> ax.containers[0][2][0].get_segments()[0][:, 1].round(3).tolist()
      [0.804, 1.196]
    """
    half = 1.96 * standard_error
    points_with_intervals(ax, x, mean, np.clip(mean - half, *within), np.clip(mean + half, *within), **style)


def points_with_intervals(
    ax: Axes, x: np.ndarray, value: np.ndarray, low: np.ndarray, high: np.ndarray, *, marker: str, **style: Any
) -> None:
    """Draw points with bars from low to high: 95 % intervals of something other than a mean, such as a share.

    Args:
      ax: to draw on.
      x, value: of the points.
      low, high: ends of the bars, low <= value <= high; all of one shape.
      marker: of matplotlib.
      **style: further properties, as for `Axes.errorbar`: color, label.

    Example:
      >>> import numpy as np
      >>> from mixjax.plots import panels, points_with_intervals
      >>> _, (ax,) = panels(1, 1, height=2)
      >>> points_with_intervals(ax, np.zeros(1), np.ones(1), np.full(1, 0.8), np.ones(1), marker="o", color="k")
      >>> ax.containers[0][2][0].get_segments()[0][:, 1].round(3).tolist()
      [0.8, 1.0]
    """
    look: dict[str, Any] = {"markersize": 2.4, "elinewidth": 0.8, "linewidth": 0} | style
    ax.errorbar(x, value, np.maximum([value - low, high - value], 0), fmt=marker, **look)


def _casing(color: str, linewidth: Real) -> list[Any]:
    from matplotlib.patheffects import Normal, Stroke

    return [Stroke(linewidth=linewidth + 1.2, foreground=color), Normal()]


def _scale(centers: np.ndarray) -> str:
    return "log" if centers[0] > 0 else "linear"


def _edges(centers: np.ndarray) -> np.ndarray:
    """Return cell edges half way between the centers, on the scale of their axis."""
    logarithmic = _scale(centers) == "log"
    positions = np.log(centers) if logarithmic else np.asarray(centers, float)
    if len(positions) == 1:
        edges = np.array([positions[0] - 0.5, positions[0] + 0.5])
    else:
        middle = 0.5 * (positions[1:] + positions[:-1])
        edges = np.concatenate([[2 * positions[0] - middle[0]], middle, [2 * positions[-1] - middle[-1]]])
    return np.exp(edges) if logarithmic else edges
