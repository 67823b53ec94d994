"""Units of work: ranges of cells and blocks of replicates, into which the work of a grid is cut.

The key of a draw follows from the study, the block and the values of the cell (`sample_scores`), and one program
computes every cell of a device. So the cut changes no number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..grid import Grid
from .program import BLOCK

MOST_CELLS = 2**16  # of a unit or a tile; a resumed run keeps its cut


class Unit(NamedTuple):  # of which there may be a million
    """Cells [start, stop) of one block of replicates."""

    start: int
    stop: int
    block: int
    replicates: int

    @property
    def name(self) -> str:
        return f"{self.start:09d}-{self.stop:09d}-{self.block:06d}"


@dataclass(frozen=True)
class Layout:
    """The cut of the work, for speed and for memory.

    Attributes:
      unit_cells: cells of a unit, at most; one result file each. Changes no number.
      tile_cells: cells that are scored together, a multiple of draw_cells; fewer where memory is short, which changes
        no number on a CPU, and was not compared elsewhere (`mixjax.sims.engine.tiles`).
      draw_cells: cells that are drawn together. XLA may round differently where this differs; a resumed run keeps its
        own, and a platform has one default.
    """

    unit_cells: int
    tile_cells: int
    draw_cells: int

    def __post_init__(self) -> None:
        numbers = (self.unit_cells, self.tile_cells, self.draw_cells)
        in_range = all(type(number) is int and 1 <= number <= MOST_CELLS for number in numbers)
        if not in_range or self.tile_cells % self.draw_cells:
            raise ValueError(f"cells must be 1 to {MOST_CELLS}, tile_cells a multiple of draw_cells, got {self}")


def layout_for(platform: str) -> Layout:
    """Return small tiles that stay in a core's cache; for an accelerator, tiles that fill it."""
    return Layout(64, 8, 1) if platform == "cpu" else Layout(4096, 512, 512)


def plan(grid: Grid, replicates: int, layout: Layout) -> list[Unit]:
    """Return all units of a run, in order."""
    cells = grid.num_cells
    ends = [(start, min(start + layout.unit_cells, cells)) for start in range(0, cells, layout.unit_cells)]
    blocks = [(block, min(BLOCK, replicates - block * BLOCK)) for block in range(-(-replicates // BLOCK))]
    return [Unit(*range_, *block) for block in blocks for range_ in ends]
