"""Pictures of stored results: drawn on the Axes that you give, in the style of a paper, and written with captions.

Importing this needs no matplotlib: it is imported where something is drawn, and an ImportError says how to install it.
"""

from mixjax.plots.axes import (
    band_key,
    cased_line,
    heat_map,
    level_line,
    line_key,
    points_with_bars,
    points_with_intervals,
)
from mixjax.plots.files import Figure, write_figures
from mixjax.plots.reliability import reliability_diagram
from mixjax.plots.style import BAND, COLORS, COLUMN_WIDTH, MARKERS, decades, panels, paper_style, signed

__all__ = [
    "BAND",
    "COLORS",
    "COLUMN_WIDTH",
    "MARKERS",
    "Figure",
    "band_key",
    "cased_line",
    "decades",
    "heat_map",
    "level_line",
    "line_key",
    "panels",
    "paper_style",
    "points_with_bars",
    "points_with_intervals",
    "reliability_diagram",
    "signed",
    "write_figures",
]
