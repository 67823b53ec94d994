"""The parts of reliability diagrams, drawn on given Axes: points with bars, boxes, curves, diagonal and histogram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mixjax.calibration.reliability_curve import CorpCurve
from mixjax.calibration.reliability_table import Reliability
from mixjax.plots.style import COLORS, MARKERS
from mixjax.typing import Real

if TYPE_CHECKING:
    import jax
    from matplotlib.axes import Axes

BOX = "#D9D9D9"
FEW = 10  # rows, below which the marker of a bin is hollow
MOST_NARROW = 0.008  # box, on an axis from 0 to 1
DIAGONAL: dict[str, Any] = {"color": "0.5", "linewidth": 0.8, "linestyle": "-", "zorder": 1}


class Look(NamedTuple):
    """The color, marker and line of a model, which differ all three so that models differ in a gray print too."""

    color: str
    marker: str
    line: str


LOOKS = tuple(map(Look, COLORS, MARKERS, ("-", "--", ":", "-.", (0, (1, 1)), (0, (5, 1)))))  # type: ignore[arg-type]


def draw_reliability(
    ax: Axes,
    table: Reliability,
    *,
    level: Real = 0.95,
    look: Look = LOOKS[0],
    label: str = "",
    band: bool = True,
    joined: bool = True,
    edges: np.ndarray | None = None,
) -> None:
    """Draw a model's points with bars, over its consistency band; rows must have no weights.

    Args:
      table: result of `reliability`; empty bins are not drawn.
      level: level of the bars and of the band.
      label: name of the points in a legend.
      band: True to draw the band; bands of several models on one Axes look alike.
      joined: True to draw a line through the points.
      edges: edges of equal-width bins, the sides of the boxes; by default a box is as wide as the scores in its bin.
    """
    filled = np.asarray(table.count) > 0
    confidence, accuracy = (np.asarray(part, np.float64)[filled] for part in (table.confidence, table.accuracy))
    low, high = (end[filled] for end in table.intervals(level))
    if band:
        _draw_band(ax, table, level, filled, edges)
    bars = np.maximum([accuracy - low, high - accuracy], 0)
    few = np.asarray(table.count)[filled] < FEW
    line = {"linestyle": look.line if joined else "", "label": label or None, "linewidth": 0.8, "elinewidth": 0.7}
    style: dict[str, Any] = {"color": look.color, "markersize": 3, "capsize": 1.2, "capthick": 0.7} | line
    ax.errorbar(confidence, accuracy, bars, fmt=look.marker, zorder=3, clip_on=False, **style)
    hollow: dict[str, Any] = {"linestyle": "", "marker": look.marker, "markersize": 3, "mfc": "white"}
    if few.any():  # an empty line would still take room beside the figure
        ax.plot(confidence[few], accuracy[few], zorder=4, clip_on=False, color=look.color, **hollow)


def draw_curve(
    ax: Axes,
    curve: CorpCurve,
    *,
    level: Real = 0.95,
    look: Look = LOOKS[0],
    label: str = "",
    key: jax.Array | None = None,
) -> None:
    """Draw a model's curve, over its consistency band if there is a key of it.

    Args:
      curve: result of `corp_curve`.
      level: level of the band.
      label: name of the curve in a legend.
      key: of the band, which is drawn at random.
    """
    if key is not None:
        confidence, low, high = curve.consistency_band(key, level)
        ax.fill_between(confidence, low, high, color=BOX, linewidth=0, zorder=0, label=_band_name(level))
    line: dict[str, Any] = {"color": look.color, "linestyle": look.line, "label": label or None}
    ax.plot(curve.confidence, curve.accuracy, zorder=3, clip_on=False, **line)


def _band_name(level: Real) -> str:
    return f"consistency band, level {level:g}"


def _draw_band(ax: Axes, table: Reliability, level: Real, filled: np.ndarray, edges: np.ndarray | None) -> None:
    low, high = (end[filled] for end in table.consistency_band(level))
    if edges is not None:
        left, right = edges[:-1][filled], edges[1:][filled]
    else:
        left, right = (np.asarray(end, np.float64)[filled] for end in (table.lowest, table.highest))
        thin = np.maximum(MOST_NARROW - (right - left), 0) / 2
        left, right = left - thin, right + thin
    ax.bar(left, high - low, right - left, low, align="edge", color=BOX, linewidth=0, zorder=0, label=_band_name(level))


def draw_diagonal(ax: Axes, label: str | None = None) -> None:
    """Draw the diagonal, where confidence is accuracy, on Axes from 0 to 1."""
    ax.plot([0, 1], [0, 1], label=label, **DIAGONAL)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1], ["0", "0.2", "0.4", "0.6", "0.8", "1"])
    ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1], ["0", "0.2", "0.4", "0.6", "0.8", "1"])


def draw_histogram(ax: Axes, count: np.ndarray, *, look: Look = LOOKS[0], fill: bool = True) -> None:
    """Draw the share of rows in equal-width bins: filled, or for several models on one Axes the outline."""
    share = np.asarray(count, np.float64) / np.sum(count, dtype=np.float64)
    edges = np.linspace(0, 1, len(share) + 1)
    style: dict[str, Any] = {"fill": True, "linewidth": 0} if fill else {"linestyle": look.line, "linewidth": 1}
    ax.stairs(share, edges, color=look.color, **style)
    ax.set_ylim(bottom=0, auto=None)  # a second histogram may be higher
