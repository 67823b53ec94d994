"""Run a study to the end, or take up one that was interrupted; load what a run left."""

from __future__ import annotations

import dataclasses
import io
import json
import tempfile
from contextlib import nullcontext
from hashlib import sha256
from typing import Any

import xarray as xr

from mixjax.runs import Location, PathOrUrl, RunError, located, read_manifest
from sims.cluster import cluster_of
from sims.division import work_of
from sims.engine import Layout
from sims.execution import carry_out
from sims.grid import AxisValue
from sims.studies import STUDIES
from sims.work import Manner, Progress, Tell


def configured(study: str, preset: str = "default", **axes: AxisValue | None) -> Any:
    """The configuration of a study: a preset with some of its axes replaced.

    Raises:
      RunError: for an unknown study, preset or axis.
    """
    if study not in STUDIES:
        raise RunError(f"there is no study {study!r}; there are {', '.join(STUDIES)}")
    chosen = STUDIES[study]
    if preset not in chosen.presets:
        raise RunError(f"{study} has no preset {preset!r}; it has {', '.join(chosen.presets)}")
    fields = [field.name for field in dataclasses.fields(chosen.config)]
    if unknown := [name for name in axes if name not in fields]:
        raise RunError(f"{study} has no axis {unknown[0]!r}; it has {', '.join(fields)}")
    if axes.get("p") is not None and "ratio" not in axes and "ratio" in fields:
        axes = {**axes, "ratio": None}  # p replaces the preset's p/n
    return chosen.config(**{**chosen.presets[preset], **axes})


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


def load(path: PathOrUrl) -> xr.Dataset:
    """The table of a finished run.

    Raises:
      RunError: if the folder holds no run, or one that is not finished or whose table is damaged.
    """
    read_manifest(path)
    file = located(path) / "dataset.nc"
    if not file.exists():
        raise RunError(f"the run in {path} is not finished; run the same command again to go on")
    content = _intact(file)
    if content is None:
        raise RunError(f"{file} is damaged; delete it and run the same command again, which makes it anew")
    with xr.open_dataset(io.BytesIO(content), engine="h5netcdf") as table:
        return table.load()


def _intact(file: Location) -> bytes | None:
    """The content of the table, if it is the one that its provenance was written for."""
    try:
        made_with, content = json.loads((file.parent / "provenance.json").read_text()), file.read_bytes()
        return content if made_with["dataset_sha256"] == sha256(content).hexdigest() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
