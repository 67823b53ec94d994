"""Run a study to its end, or resume one that was interrupted."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext

import xarray as xr

from mixjax.runs import PathOrUrl, Tell, located

from .cluster.cluster import cluster_of
from .configuration import work_of
from .engine.execution import ExecutionOptions, Progress, execute
from .engine.units import Layout
from .grid import AxisValue
from .loading import load


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

    The same call resumes an interrupted run, and loads a finished one. On machines of one kind its numbers have the
    same bits, whatever the layout of units, threads, devices, workers and restarts.

    Args:
      study: a name in `mixjax.sims.studies.STUDIES`, such as "phase_diagram".
      out: folder that keeps the run, or a URL such as "s3://bucket/run"; by default nothing is kept.
      preset: "quick", "default" or "full".
      progress: called with (finished, all) units.
      warn: called with a line about anything damaged, missing or strange in the folder.
      layout: how the work is cut; by default chosen for the platform.
      allow_mixed: whether another version or device may resume the run.
      workers: number of processes on this machine that compute, instead of this one.
      scheduler: address of a Dask scheduler whose workers compute.
      command: recorded as the origin of the run.
      **axes: axes of the study that replace those of the preset: numbers, sequences, or text as on the command line.

    Returns:
      The table: variables over the axes of the study, each with `long_name` and `units`; `NAME_se` is the standard
      error of NAME. Degenerate replicates are left out, and a cell with no others is NaN.

    Raises:
      RunError: for wrong axes, a folder that cannot be used, or a backend that computes wrongly.

    Example:
      >>> from mixjax import sims
      >>> table = sims.run("phase_diagram", n=50, ratio="0.2,1,3", theta_norm="0.5,2", alpha="0,1", replicates=100)
      >>> dict(table["ece_difference"].sizes), bool((table["ece_difference"].sel(ratio=3, mixup=1) < 0).all())
      ({'n': 1, 'ratio': 3, 'theta_norm': 2, 'mixup': 2}, True)
    """
    work = work_of(study, preset, layout=layout, **axes)
    folder_or_none = nullcontext(out) if out is not None else tempfile.TemporaryDirectory()
    with folder_or_none as folder, cluster_of(workers, scheduler) as cluster:
        origin = command or f"sims.run({study!r}, ...)"
        options = ExecutionOptions(
            progress=progress, warn=warn, allow_mixed=allow_mixed, cluster=cluster, command=origin
        )
        execute(work, located(folder), options)
        return load(folder)
