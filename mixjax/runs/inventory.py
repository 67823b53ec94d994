"""What is stored of a run, and what a user should know of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mixjax.runs.untrusted import printable


@dataclass(frozen=True)
class Inventory:
    """What is stored of the units of a run.

    Attributes:
      stored: whole, by name.
      damaged: there, and not what was written.
      strays: files among the shards that are none of them.
    """

    stored: frozenset[str]
    damaged: tuple[str, ...]
    strays: tuple[str, ...]

    def remarks(self) -> list[str]:
        """What a user should know: a line for each kind of trouble."""
        said = []
        if self.damaged:
            said.append(f"{counted(self.damaged, 'shard')} truncated, altered or misplaced: not counted as computed")
        if self.strays:
            said.append(f"{counted(self.strays, 'file')} in shards/ not of this run: left alone")
        return said


def counted(names: Sequence[str], thing: str) -> str:
    """How many, and the first of them."""
    return f"{len(names):,} {thing}{'s' * (len(names) > 1)} ({printable(names[0])}{', ...' * (len(names) > 1)})"
