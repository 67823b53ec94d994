"""The status of a run, from its folder: how much is done, and how long the rest takes."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from mixjax.commands.durations import duration
from mixjax.runs import Inventory, Location, PathOrUrl, RunDirectory, RunError, read_manifest
from mixjax.runs.lease import PERIOD, holder_of
from mixjax.runs.lock import in_use
from mixjax.runs.untrusted import printable

from .configuration import work_of
from .engine.work import Work
from .loading import fault_of

_RECENT = 200  # units whose times make the rate


@dataclass(frozen=True)
class Status:
    """The progress of a run.

    Attributes:
      study: its name.
      state: "finished", "damaged" (finished, and its table is not what was written), "running" or "stopped";
        "unfinished" in a store with a lease, whose holder may be dead.
      inventory: its units.
      number: the number of all units.
      rate: recent units a second; None if fewer than three are stored.
      holder: the holder of the lease, and when it was renewed, in words.
      fault: what is wrong with the table, in words.
    """

    study: str
    state: str
    inventory: Inventory
    number: int
    rate: float | None
    holder: str | None = None
    fault: str = ""

    @property
    def left(self) -> int:
        """Units that are not stored."""
        return self.number - len(self.inventory.stored)


def stored_work(folder: PathOrUrl) -> tuple[Work, RunDirectory]:
    """Make the work of a stored run again from its manifest; return it with the folder, which is not locked.

    Raises:
      RunError: if there is no run, or not one of this release.
    """
    manifest = read_manifest(folder)
    study = manifest["spec"].get("study")
    try:
        work = work_of(study, **manifest.get("config") or {})
        work.names(manifest["layout"])
        reason = "" if work.spec == manifest["spec"] else "its configuration makes another spec"
    except (RunError, TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
        reason = printable(error, 300) if isinstance(error, RunError) else "its manifest is of another kind"
    if reason:
        raise RunError(f"the run in {folder} is not of a study of this release: {reason}")
    return work, RunDirectory(folder, manifest)


def status(folder: PathOrUrl) -> Status:
    """Return the progress of the run in a folder, which may be at work meanwhile.

    Raises:
      RunError: if there is no run.
    """
    work, directory = stored_work(folder)
    names = work.names(directory.manifest["layout"])
    found = directory.inventory(names)
    rate, (state, holder) = _rate(directory.times(found.stored)), _state(directory)
    fault = fault_of(directory.path) if state == "finished" else ""
    return Status(work.study.name, "damaged" if fault else state, found, len(names), rate, holder, fault)


def describe(status: Status, folder: Location) -> str:
    """Describe a status in lines, for people."""
    done, number = len(status.inventory.stored), status.number
    lines = [
        f"{status.study} in {folder}: {status.state}",
        f"{done:,} of {number:,} units done ({done / max(number, 1):.0%}), {status.left:,} left",
    ]
    if status.fault:
        lines.append(status.fault)
    if status.state == "finished" and status.left:
        lines[1] = f"the table is whole; of its {number:,} units {done:,} are still stored"
    elif status.rate and status.left:
        left = f"{duration(status.left / status.rate)} left"
        lines.append(f"{status.rate:.3g} units/s; {left}{' once it is resumed' * (status.state == 'stopped')}")
    if status.holder:
        lines.append(f"held by {status.holder}; a live one does so every {PERIOD:g} s")
    return "\n".join(lines + status.inventory.remarks())


def _state(directory: RunDirectory) -> tuple[str, str | None]:
    """Return the state of the run, and the holder of its lease, which is not watched."""
    if directory.finished:
        return "finished", None
    if isinstance(directory.path, Path):
        return "running" if in_use(directory.path) else "stopped", None
    holder = holder_of(directory.path)
    return "unfinished" if holder else "stopped", holder


def _rate(times: Iterable[float]) -> float | None:
    """Return the units a second since the last pause, from the times at which they were stored."""
    recent = sorted(times)[-_RECENT:]
    steps = [later - earlier for earlier, later in pairwise(recent)]
    if len(steps) < 2:
        return None
    pause = max(60.0, 20 * statistics.median(steps))
    last = max((index + 1 for index, step in enumerate(steps) if step > pause), default=0)
    since, span = steps[last:], sum(steps[last:])
    return len(since) / span if span > 0 else None
