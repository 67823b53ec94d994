"""Tiles: the cells that are computed together, as many as the layout says and fewer where memory is short.

XLA reports the memory that a program takes. Where that is more than there is, or where an allocation fails all the
same, the tile is halved and the work goes on.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable
from typing import TypeVar

import jax
import numpy as np
from jax.errors import JaxRuntimeError

from mixjax.runs import RunError, Tell
from mixjax.runs.memory import wants_memory

from ..grid import Grid
from .devices import room_on
from .forecast import several
from .moments import stored_form
from .program import BLOCK, TILES, Experiment, HostArrays, Program, compiled
from .units import Layout, Unit

Result = TypeVar("Result")
Size = tuple[int, int]


class Tiles:
    """The units of a grid on one device, in tiles that fit its memory. Threads share it.

    Attributes:
      size: cells of a tile, and how many of them are drawn together.
    """

    def __init__(
        self, experiment: Experiment, grid: Grid, device: jax.Device, *, study: str, seed: int, layout: Layout
    ):
        self.size = layout.tile_cells, layout.draw_cells
        self._experiment, self._device, self._cells = experiment, device, grid.cells
        self._settings = {name: np.asarray(values, np.float32) for name, values in grid.settings.items()}
        self._origin = np.array([seed, zlib.crc32(study.encode())], np.uint32)
        self._lock = threading.Lock()

    def prepare(self, warn: Tell) -> None:
        """Compile for the largest tile that fits.

        Raises:
          RunError: if the smallest does not fit.
        """
        self._run_halving(self._program, warn)

    def moments(self, unit: Unit, warn: Tell) -> HostArrays:
        """Compute the moments of a unit's cells, the same bits whatever the tile (compared on CPUs).

        Raises:
          RunError: if the smallest tile does not fit.
        """
        return self._run_halving(lambda size: self._computed(size, unit), warn)

    def _run_halving(self, compute: Callable[[Size], Result], warn: Tell) -> Result:
        """Call `compute` with the tile's size, halved as often as memory runs out."""
        while True:
            size = self.size
            try:
                return compute(size)
            except (MemoryError, JaxRuntimeError) as error:
                if not wants_memory(error):
                    raise
                reason = str(error).split("\n")[0][:200] or "out of memory"
            self._halve(size, reason, warn)

    def _halve(self, tried: Size, reason: str, warn: Tell) -> None:
        """Halve the tile, unless another thread has done so already."""
        with self._lock:
            if self.size != tried:
                return
            less, cells = smaller(*tried), several(tried[0], "cell")
            if less is None:
                settings = several(len(next(iter(self._settings.values()), (0.0,))), "setting")
                raise RunError(
                    f"{self._device} has no room for {cells} with {settings} and {BLOCK:,} replicates ({reason}); "
                    "finished work is kept: free memory, or cut the settings into several runs"
                )
            self.size = less
            effect = "changes no number" if self._device.platform == "cpu" else "may change the last digit of some"
            warn(f"no room for tiles of {cells} on {self._device} ({reason}): from now on they have {less[0]}, "
                 f"which {effect}")  # fmt: skip

    def _program(self, size: Size) -> Program:
        """Compile the program of a tile, once for all threads.

        Raises:
          MemoryError: if it does not fit, by XLA's account; the smallest is tried all the same.
        """
        settings = tuple((name, len(values)) for name, values in self._settings.items())
        with self._lock:
            program = compiled(self._experiment, *size, tuple(self._cells), settings, self._device)
        room = room_on(self._device)
        if program.bytes > room and smaller(*size):
            raise MemoryError(f"they take {program.bytes / 2**30:.2g} GiB, and {room / 2**30:.2g} are free")
        return program

    def _computed(self, size: Size, unit: Unit) -> HostArrays:
        """Compute the moments of a unit's cells, in calls of at most TILES tiles."""
        program, (tile, _) = self._program(size), size
        parts: dict[str, list[np.ndarray]] = {}
        for start in range(unit.start, unit.stop, TILES * tile):
            number = min(TILES * tile, unit.stop - start)
            cells = {name: _padded(values[start : start + number], tile) for name, values in self._cells.items()}
            shape = np.array([unit.block, unit.replicates, -(-number // tile)], np.int32)
            for name, moment in program.call(self._origin, shape, self._settings, cells).items():
                parts.setdefault(name, []).append(np.asarray(moment).reshape(-1, *moment.shape[2:])[:number])
        return stored_form({name: np.concatenate(arrays) for name, arrays in parts.items()})


def smaller(tile_cells: int, draw_cells: int) -> Size | None:
    """Return about half the tile, None where nothing smaller gives the same bits.

    XLA folds away an axis of one, and a loop of one turn, and may round differently then: a tile keeps two cells, and
    two groups of cells that are drawn together if it had more than one.
    """
    groups = tile_cells // draw_cells
    size = (max(2, groups // 2) * draw_cells, draw_cells) if groups > 1 else (max(2, tile_cells // 2),) * 2
    return size if size[0] < tile_cells else None


def _padded(values: np.ndarray, tile: int) -> np.ndarray:
    padded = np.pad(values, (0, TILES * tile - len(values)), mode="edge")
    return padded.astype(np.float32).reshape(TILES, tile)
