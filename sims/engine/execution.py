"""The execution of work: open its folder, compute the parts that are missing, and make the table at the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import xarray as xr

from mixjax.commands.durations import duration
from mixjax.runs import (
    ENVIRONMENT,
    Inventory,
    Location,
    RunDirectory,
    RunError,
    Sittings,
    Tell,
    counted,
    explained,
    provenance,
    write_atomically,
)

from .devices import default_threads
from .forecast import several
from .self_test import check_backend
from .work import Work

if TYPE_CHECKING:
    from ..cluster.cluster import Cluster

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class ExecutionOptions:
    """Options that change no number.

    Attributes:
      progress: called with (finished, all) parts.
      announce: called with the size of the work and its expected time, before it begins.
      warn: called with a line about what is damaged, missing or strange.
      allow_mixed: whether another version or device may resume a run.
      cluster: computes in place of this process; it makes the run's environment.
      command: the recorded origin of the run.
      part: (k, n) computes every n-th part from the k-th, and leaves the others to other machines.
    """

    progress: Progress | None = None
    announce: Tell | None = None
    warn: Tell = print
    allow_mixed: bool = False
    cluster: Cluster | None = None
    command: str = ""
    part: tuple[int, int] = (1, 1)


def execute(work: Work, out: Location, options: ExecutionOptions) -> bool:
    """Compute and store what is missing in the folder; return whether the run is finished.

    Raises:
      RunError: for a folder that cannot be used, and for a backend that computes wrongly.
    """
    made_with: dict[str, Any] = {**(options.cluster.made_with if options.cluster else provenance())}
    with opened(work, out, made_with, options) as directory:
        if directory.finished:
            return True
        sittings = Sittings(directory.path)
        check_backend()
        computed, number = compute_missing(work, directory, options, sittings)
        sittings.record()
        if options.part != (1, 1) and not complete(work, directory):
            return False
        finish(work, directory, made_with | {"command": options.command}, sittings, f"{computed} of {number}")
    return True


def opened(work: Work, out: Location, made_with: Mapping[str, Any], options: ExecutionOptions) -> RunDirectory:
    """Open the folder of the run in the environment that computes it."""
    return RunDirectory.open(
        out,
        spec=work.spec,
        environment={name: str(made_with[name]) for name in ENVIRONMENT},
        layout=work.layout(str(made_with["platform"])),
        config=work.stored_config,
        allow_mixed=options.allow_mixed,
        warn=options.warn,
    )


def compute_missing(
    work: Work, directory: RunDirectory, options: ExecutionOptions, sittings: Sittings
) -> tuple[int, int]:
    """Compute and store the missing parts; return how many there were, and the number of all parts."""
    layout = directory.manifest["layout"]
    names = work.names(layout)
    found = directory.inventory(names)
    first, step = options.part
    mine = names[first - 1 :: step]
    missing = [name for name in mine if name not in found.stored]
    for remark in [*found.remarks(), *_gaps(mine, found)]:
        options.warn(f"{directory.path}: {remark}")
    _announce(work, options, layout, len(names), len(mine), len(missing))
    progress = options.progress or (lambda done, total: None)
    progress(len(mine) - len(missing), len(mine))
    compute = partial(options.cluster.compute, work) if options.cluster else work.compute
    parts = compute(missing, layout, directory.write, options.warn)
    for done, _ in enumerate(parts, start=len(mine) - len(missing) + 1):
        progress(done, len(mine))
        sittings.record(at_once=False)
    return len(missing), len(mine)


def _announce(
    work: Work, options: ExecutionOptions, layout: Mapping[str, int], number: int, mine: int, left: int
) -> None:
    """Announce what will be computed, and the least time that it takes."""
    if options.announce is None:
        return
    here = "" if mine == number else f", {mine:,} of them in this part"
    stored = "" if left == mine else f", {left:,} left" if left else ", all stored"
    options.announce(f"{work.study.name}: {work.size(number)}{here}{stored}")
    seconds = work.seconds(layout, left, options.warn) if left and not options.cluster else None
    if seconds is not None:
        threads = several(default_threads(), "thread")
        options.announce(
            f"at least {duration(seconds)} with {threads} here, estimated from the first tile, compilation included; "
            "the table comes after that"
        )


def _gaps(names: Sequence[str], found: Inventory) -> list[str]:
    """Report the parts that are missing before the last one that is stored."""
    last = max((index for index, name in enumerate(names) if name in found.stored), default=0)
    gone = [name for name in names[:last] if name not in found.stored and name not in found.damaged]
    return [f"{counted(gone, 'shard')} missing before the last stored one: to be computed"] if gone else []


def complete(work: Work, directory: RunDirectory) -> bool:
    """Return whether all parts are stored."""
    names = work.names(directory.manifest["layout"])
    return len(directory.inventory(names).stored) == len(names)


def finish(work: Work, directory: RunDirectory, made_with: Mapping[str, Any], sittings: Sittings, units: str) -> None:
    """Make the table from all that is stored, and write it with its origin."""
    table = _table(work, directory)
    table.attrs |= {
        "study": work.study.name,
        "summary": work.study.summary,
        "config": json.dumps(work.stored_config),
        "seed": work.seed,
        "provenance": json.dumps(dict(made_with)),
    }
    origin = {**made_with, **sittings.total(), "units": units}
    if len(directory.environments) > 1:
        origin["environments"] = directory.environments
    folder = directory.path
    directory.check()
    with explained(folder):
        content = bytes(table.to_netcdf(engine="h5netcdf"))
        origin["dataset_sha256"] = sha256(content).hexdigest()
        write_atomically(folder / "provenance.json", json.dumps(origin, indent=2).encode())
        write_atomically(folder / "dataset.nc", content)


def _table(work: Work, directory: RunDirectory) -> xr.Dataset:
    """Make the table; the checksum of a shard holds, but nobody knows who wrote it."""
    try:
        return work.table(directory)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        reason = f"{type(error).__name__}: {error}".split("\n")[0][:200]
        raise RunError(
            f"the shards in {directory.path} do not hold what {work.study.name} computes ({reason}); "
            "use another folder, or, in a study of your own, correct its `table`"
        ) from error
