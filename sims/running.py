"""Run a study to the end, or take up one that was interrupted."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from typing import Any

import xarray as xr

from mixjax._commands import named, preset_with
from mixjax.runs import PathOrUrl, located
from sims.cluster import cluster_of
from sims.division import work_of
from sims.engine import Layout
from sims.execution import carry_out
from sims.grid import AxisValue
from sims.loading import load
from sims.studies import STUDIES
from sims.work import Manner, Progress, Tell


def configured(study: str, preset: str = "default", **axes: AxisValue | None) -> Any:
    """The configuration of a study: a preset with some of its axes replaced.

    Raises:
      RunError: for an unknown study, preset or axis.
    """
    chosen = named("study", study, STUDIES)
    values = preset_with(chosen, preset, axes, field="axis")
    if axes.get("p") is not None and "ratio" not in axes and hasattr(chosen.config, "ratio"):
        values["ratio"] = None  # p replaces the preset's p/n
    return chosen.config(**values)


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
      RunError: for wrong axes, a folder that cannot be used, a backend that computes wrongly (`sims.canary`).
    """
    config = configured(study, preset, **axes)
    work = work_of(STUDIES[study], config, layout)
    place = nullcontext(out) if out is not None else tempfile.TemporaryDirectory()
    with place as folder, cluster_of(workers, scheduler) as cluster:
        origin = command or f"sims.run({study!r}, ...)"
        manner = Manner(progress=progress, warn=warn, allow_mixed=allow_mixed, cluster=cluster, command=origin)
        carry_out(work, located(folder), manner)
        return load(folder)
