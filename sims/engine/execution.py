"""How a run is carried out: the folder it is kept in, the parts that are missing, and the table at the end."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import xarray as xr

from mixjax.runs import ENVIRONMENT, Location, RunDirectory, RunError, explained, provenance, write_atomically

from .self_test import check_backend
from .work import ExecutionOptions, Work, plain


def execute(work: Work, out: Location, options: ExecutionOptions) -> bool:
    """Compute and store what the folder does not hold yet; returns whether the run is finished.

    Raises:
      RunError: for a folder that cannot be used, and for a backend that computes wrongly.
    """
    made_with: dict[str, Any] = {**(options.cluster.made_with if options.cluster else provenance())}
    with opened(work, out, made_with, options) as directory:
        if directory.finished:
            return True
        started = time.perf_counter()
        check_backend()
        computed, number = work.compute_missing(directory, options)
        if options.part != (1, 1) and not complete(work, directory):
            return False
        finish(work, directory, made_with | {"command": options.command}, started, f"{computed} of {number}")
    return True


def opened(work: Work, out: Location, made_with: Mapping[str, Any], options: ExecutionOptions) -> RunDirectory:
    """The folder of the run, for what is at work here."""
    return RunDirectory.open(
        out,
        spec=work.spec,
        environment={name: str(made_with[name]) for name in ENVIRONMENT},
        layout=work.layout(str(made_with["platform"])),
        config=json.loads(json.dumps(dataclasses.asdict(work.config), default=plain)),
        allow_mixed=options.allow_mixed,
        warn=options.warn,
    )


def complete(work: Work, directory: RunDirectory) -> bool:
    """Whether all parts are stored."""
    names = work.names(directory.manifest["layout"])
    return len(directory.inventory(names).stored) == len(names)


def finish(work: Work, directory: RunDirectory, made_with: Mapping[str, Any], started: float, units: str) -> None:
    """Make the table from all that is stored, and write it with its origin."""
    table = _table(work, directory)
    table.attrs |= {
        "study": work.study.name,
        "summary": work.study.summary,
        "config": json.dumps(dataclasses.asdict(work.config), default=plain),
        "seed": work.seed,
        "provenance": json.dumps(dict(made_with)),
    }
    origin = {**made_with, "seconds": round(time.perf_counter() - started, 2), "units": units}
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
    """The table of all shards; each is as it was written, but by whom nobody knows."""
    try:
        return work.table(directory)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        reason = f"{type(error).__name__}: {error}".split("\n")[0][:200]
        raise RunError(
            f"the shards in {directory.path} do not hold what {work.study.name} computes ({reason}); use another folder"
        ) from error
