"""From a preset and some axes to the configuration of a study."""

from __future__ import annotations

from typing import Any

from mixjax.commands import named, preset_with

from .grid import AxisValue
from .studies import STUDIES


def configured(study: str, preset: str = "default", **axes: AxisValue | None) -> Any:
    """Return the configuration of a study: a preset with some of its axes replaced.

    Raises:
      RunError: for an unknown study, preset or axis.
    """
    chosen = named("study", study, STUDIES)
    values = preset_with(chosen, preset, axes, field="axis")
    if axes.get("p") is not None and "ratio" not in axes and hasattr(chosen.config, "ratio"):
        values["ratio"] = None  # p replaces the preset's p/n
    return chosen.config(**values)
