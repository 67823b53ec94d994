"""From the name of a study, a preset and some axes to its work."""

from __future__ import annotations

from mixjax.commands import named, preset_with

from .engine.units import Layout
from .engine.work import GridWork, PieceWork, Work
from .grid import AxisValue
from .studies import STUDIES
from .study import GridStudy, PiecewiseStudy


def work_of(study: str, preset: str = "default", *, layout: Layout | None = None, **axes: AxisValue | None) -> Work:
    """Return the work of a study: a preset with some of its axes replaced, cut by a layout or as the platform asks.

    Raises:
      RunError: for an unknown study, preset or axis, and for a wrong value of an axis.
    """
    chosen = named("study", study, STUDIES)
    values = preset_with(chosen, preset, axes, field="axis")
    if axes.get("p") is not None and "ratio" not in axes and hasattr(chosen.config, "ratio"):
        values["ratio"] = None  # p replaces the preset's p/n
    config = chosen.config(**values)
    if isinstance(chosen, GridStudy):
        return GridWork(chosen, config, layout)
    if isinstance(chosen, PiecewiseStudy):
        return PieceWork(chosen, config)
    raise TypeError(f"study must be a GridStudy or a PiecewiseStudy, got {type(chosen).__name__}")
