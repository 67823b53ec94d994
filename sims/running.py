"""Run a study to the end, or take up one that was interrupted."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext

import xarray as xr

from mixjax.runs import PathOrUrl, Tell, located

from .cluster.cluster import cluster_of
from .configuration import configured
from .engine.division import work_of
from .engine.execution import execute
from .engine.units import Layout
from .engine.work import ExecutionOptions, Progress
from .grid import AxisValue
from .loading import load
from .studies import STUDIES


def run(
    study: str,
    out: PathOrUrl | None = None,
    *,
    preset: str = "default",
    progress: Progress | None = None,
    warn: Tell = print,
    layout: Layout | None = None,
    allow_mixed: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    command: str = "",
    **axes: AxisValue | None,
) -> xr.Dataset:
    """Run a study and return its table.

    Args:
      study: a name in `sims.studies.STUDIES`, as "phase_diagram".
      out: folder to keep the run in, or the URL of one in a store, as "s3://bucket/run"; the same call takes up an
        interrupted run, and a finished one is loaded. By default nothing is kept.
      preset: "quick", "default" or "full".
      progress: called with (finished, all) units.
      warn: told what was found damaged, missing or strange in the folder.
      layout: how the work is cut, `layout_for` the platform by default.
      allow_mixed: whether a run that was begun with another version or device may be gone on with.
      workers: how many processes of this machine to compute in, in place of this one.
      scheduler: address of a Dask scheduler, on whose workers to compute.
      command: what to record as the origin of the run.
      **axes: of the study, in place of those of the preset: numbers, sequences, or text as on the command line.

    Raises:
      RunError: for wrong axes, a folder that cannot be used, a backend that computes wrongly.
    """
    config = configured(study, preset, **axes)
    work = work_of(STUDIES[study], config, layout)
    place = nullcontext(out) if out is not None else tempfile.TemporaryDirectory()
    with place as folder, cluster_of(workers, scheduler) as cluster:
        origin = command or f"sims.run({study!r}, ...)"
        options = ExecutionOptions(
            progress=progress, warn=warn, allow_mixed=allow_mixed, cluster=cluster, command=origin
        )
        execute(work, located(folder), options)
        return load(folder)
