"""The inventory of a run: stored, damaged and foreign files, and a line for each kind of trouble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mixjax.runs.untrusted import printable


@dataclass(frozen=True)
class Inventory:
    """The files that are stored for the units of a run.

    Attributes:
      stored: names of intact units.
      damaged: names of units whose file is not what was written.
      strays: files among the shards that belong to no unit.
    """

    stored: frozenset[str]
    damaged: tuple[str, ...]
    strays: tuple[str, ...]

    def remarks(self) -> list[str]:
        """Return a line for each kind of trouble."""
        lines = []
        if self.damaged:
            lines.append(f"{counted(self.damaged, 'shard')} truncated, altered or misplaced: to be recomputed")
        if self.strays:
            lines.append(f"{counted(self.strays, 'file')} in shards/ not of this run: left alone")
        return lines


def counted(names: Sequence[str], thing: str) -> str:
    """Return how many things there are, and the name of the first."""
    return f"{len(names):,} {thing}{'s' * (len(names) > 1)} ({printable(names[0])}{', ...' * (len(names) > 1)})"
