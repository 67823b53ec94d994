"""What threads, devices and workers compute alike: a phase diagram with the plain and four Mixup estimators."""

from __future__ import annotations

from dataclasses import dataclass

import jax

from mixjax.sims.configuration import work_of
from mixjax.sims.engine.units import Layout, layout_for
from mixjax.sims.engine.work import Work

UNITS = 16  # of a block of replicates


@dataclass(frozen=True)
class Job:
    """Cells that make UNITS units as the engine cuts them.

    Attributes:
      replicates: of each cell.
      layout: how the engine cuts them, its own by default.
    """

    replicates: int
    layout: Layout | None = None

    @property
    def usual(self) -> Layout:
        return self.layout or layout_for(jax.local_devices()[0].platform)

    @property
    def whole(self) -> Layout:
        """All cells in one unit."""
        return Layout(UNITS * self.usual.unit_cells, self.usual.tile_cells, self.usual.draw_cells)

    def work(self, replicates: int | None = None, layout: Layout | None = None) -> Work:
        axes = {"ratio": f"0.05:8:{UNITS}:log", "theta_norm": f"0.25:4:{self.usual.unit_cells}:log"}
        return work_of("phase_diagram", layout=layout or self.usual, **axes, replicates=replicates or self.replicates)
