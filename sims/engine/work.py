"""The work of a study: what identifies it, what is still missing of it, and the table that is made of all of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import xarray as xr

from mixjax.runs import Inventory, RunDirectory, Tell, counted

from ..study import Study
from .devices import default_threads
from .forecast import duration, several
from .program import HostArrays

Progress = Callable[[int, int], None]
Store = Callable[[str, HostArrays], None]


class Place(Protocol):
    """Where work can be done other than in this process."""

    @property
    def made_with(self) -> Mapping[str, Any]:
        """What it is, as in `mixjax.runs.provenance`."""
        ...

    def compute(
        self, work: Work, names: Sequence[str], layout: Mapping[str, int], store: Store, warn: Tell = print
    ) -> Iterator[str]:
        """As `Work.compute`, in any order."""
        ...


@dataclass(frozen=True, kw_only=True)
class ExecutionOptions:
    """How a run is carried out, which changes no number.

    Attributes:
      progress: called with (finished, all) parts.
      announce: told what is to be computed and how long that takes, before it begins.
      warn: told what was found damaged, missing or strange.
      allow_mixed: whether a run that was begun with another version or device may be gone on with.
      cluster: where to compute, in place of this process; it makes the run's environment.
      command: what to record as the origin of the run.
      part: (k, n) to compute every n-th part from the k-th, and leave the others to other machines.
    """

    progress: Progress | None = None
    announce: Tell | None = None
    warn: Tell = print
    allow_mixed: bool = False
    cluster: Place | None = None
    command: str = ""
    part: tuple[int, int] = (1, 1)


class Work(ABC):
    """What a run computes: named parts, each of which is stored when it is finished, and the table made of all.

    Attributes:
      spec: what the numbers are, as JSON.
    """

    study: Study
    config: Any
    seed: int
    spec: dict[str, Any]

    @abstractmethod
    def layout(self, platform: str) -> dict[str, int]:
        """How the work is cut where it is begun; a run keeps it."""

    @abstractmethod
    def names(self, layout: Mapping[str, int]) -> list[str]:
        """Of all parts, in the order in which they are computed."""

    @abstractmethod
    def compute(
        self, names: Sequence[str], layout: Mapping[str, int], store: Store, warn: Tell = print
    ) -> Iterator[str]:
        """Compute the parts of these names in this process, hand each to `store`, and yield its name then.

        `warn` is told of want of memory, here and below.
        """

    @abstractmethod
    def prepare(self, layout: Mapping[str, int], warn: Tell = print) -> None:
        """Compile what `part` needs, so that threads which call it do not do so each for itself."""

    @abstractmethod
    def part(self, name: str, layout: Mapping[str, int], warn: Tell = print) -> HostArrays:
        """One part, of the same bits as from `compute`."""

    @abstractmethod
    def table(self, directory: RunDirectory) -> xr.Dataset:
        """The table, of everything that is stored."""

    @abstractmethod
    def size(self, number: int) -> str:
        """What is to be computed, with the number of its parts, in words."""

    def seconds(self, layout: Mapping[str, int], number: int, warn: Tell = print) -> float | None:
        """How long that many parts take here, from a quick measurement; None where there is none."""
        return None

    def compute_missing(self, directory: RunDirectory, options: ExecutionOptions) -> tuple[int, int]:
        """Compute and store what is not yet stored; returns how many parts that were, and of how many."""
        layout = directory.manifest["layout"]
        names = self.names(layout)
        found = directory.inventory(names)
        first, step = options.part
        mine = names[first - 1 :: step]
        missing = [name for name in mine if name not in found.stored]
        for remark in [*found.remarks(), *_gaps(mine, found)]:
            options.warn(f"{directory.path}: {remark}")
        if options.announce is not None:
            self._announce(options, layout, len(missing), len(mine))
        report = PartProgress(options.progress, len(mine) - len(missing), len(mine))
        compute = partial(options.cluster.compute, self) if options.cluster else self.compute
        for _ in compute(missing, layout, directory.write, options.warn):
            report.advance()
        return len(missing), len(mine)

    def _announce(self, options: ExecutionOptions, layout: Mapping[str, int], left: int, number: int) -> None:
        """Say what is to be computed, and what it costs."""
        announce = options.announce or print
        stored = "" if left == number else f", {left:,} of them left" if left else ", all of them stored"
        announce(f"{self.study.name}: {self.size(number)}{stored}")
        seconds = self.seconds(layout, left, options.warn) if left and not options.cluster else None
        if seconds is not None:
            threads = several(default_threads(), "thread")
            announce(f"about {duration(seconds)} with {threads} here, at the rate of a first tile")


def _gaps(names: Sequence[str], found: Inventory) -> list[str]:
    """What to say of parts that are missing before the last that is stored."""
    last = max((index for index, name in enumerate(names) if name in found.stored), default=0)
    gone = [name for name in names[:last] if name not in found.stored and name not in found.damaged]
    return [f"{counted(gone, 'shard')} missing before the last that is stored: to be computed"] if gone else []


class PartProgress:
    """Progress that is told of each finished part."""

    def __init__(self, progress: Progress | None, finished: int, total: int):
        self.progress, self.finished, self.total = progress, finished, total
        self._tell()

    def advance(self) -> None:
        self.finished += 1
        self._tell()

    def _tell(self) -> None:
        if self.progress:
            self.progress(self.finished, self.total)


def plain(value: Any) -> Any:
    """JSON for what an axis may be given as."""
    return np.asarray(value).tolist()
