"""Lines, colors, names of axes, color bars and legends that several figures share."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixjax.plots import heat_map, signed

MEASURED: tuple[dict[str, Any], ...] = (
    {"color": "black", "casing": "white", "linestyle": "solid", "linewidth": 1.5},
    {"color": "black", "casing": "white", "linestyle": (0, (5, 1.2, 1, 1.2)), "linewidth": 1.2},
    {"color": "black", "casing": "white", "linestyle": (0, (1, 1.2)), "linewidth": 1.2},
)
LIMIT: dict[str, Any] = {"color": "#F0E442", "casing": "black", "linestyle": (0, (3, 3)), "linewidth": 0.9}  # yellow


def legend(figure: Any, handles: Any, columns: int, *, where: str = "upper", **style: Any) -> None:
    """Name marks above the panels, or below: a list of entries, or the labeled marks of a panel.

    The title of a figure, which says what it shows, is that of its legend: both have their place above the panels.
    """
    entries = handles if isinstance(handles, list) else handles.get_legend_handles_labels()[0]
    look = {"frameon": False, "title_fontsize": "medium"} | style
    drawn = figure.legend(handles=entries, loc=f"outside {where} center", ncols=columns, **look)
    drawn.get_title().set_multialignment("center")


def name_axes(axes: Any, columns: int, x: str, y: str = "") -> None:
    """Name the horizontal axis below the lowest panel of each column, and the vertical one beside the first column."""
    for ax in axes[-columns:]:
        ax.set_xlabel(x)
    for ax in axes[::columns] if y else ():
        ax.set_ylabel(y)


def color_bar(figure: Any, mesh: Any, axes: Any, label: str, **style: Any) -> Any:
    """Draw the bar of a map's colors below the panels: of one column, or of two."""
    wide = {"shrink": 0.6, "aspect": 45} if figure.get_size_inches()[0] > 4 else {"shrink": 0.95, "aspect": 35}
    bar = figure.colorbar(mesh, ax=axes, location="bottom", pad=0.02, **wide, **style)
    bar.set_label(label)
    return bar


def difference_map(ax: Any, x: np.ndarray, y: np.ndarray, values: np.ndarray, largest: float, **style: Any) -> Any:
    """Draw a map of differences: linear near 0 and logarithmic beyond, to either side."""
    return heat_map(ax, x, y, values, **{"center": 0.0, "limit": largest, "linear": linear_within(largest)} | style)


def difference_bar(figure: Any, mesh: Any, axes: Any, label: str, largest: float, **style: Any) -> None:
    """Draw the bar of a map of differences, with five ticks, and say its scale."""
    scale = f"symmetric log scale, linear within \N{PLUS-MINUS SIGN}{mesh.norm.linthresh:.1g}"
    bar = color_bar(figure, mesh, axes, f"{label}\n{scale}", **style)
    bar.set_ticks(symmetric_ticks(largest))
    bar.ax.xaxis.set_major_formatter(signed)
    bar.minorticks_off()


def linear_within(largest: float) -> float:
    """Return the size up to which the color of a difference is linear: about a thirtieth of the largest."""
    return float(f"{largest / 30:.1g}")


def largest_size(values: Any) -> float:
    """Return the largest size of differences, 1 where all are 0 or NaN."""
    return float(np.nanmax(np.abs(values), initial=0.0)) or 1.0


def symmetric_ticks(largest: float) -> list[float]:
    """Return 0 and, to either side, two round numbers a decade apart."""
    power = 10.0 ** np.floor(np.log10(largest))
    top = max(step for step in (1, 2, 5) if step * power <= largest) * power
    return [-top, -top / 10, 0.0, top / 10, top]
