"""Run a study to the end, or take up one that was interrupted; load what a run left."""

from __future__ import annotations

import dataclasses
import json
import tempfile
import time
from collections.abc import Mapping
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

import xarray as xr

from mixjax.runs import RunDirectory, RunError, explained, provenance, read_manifest, write_atomically
from sims.engine import Layout
from sims.grid import AxisValue
from sims.studies import STUDIES
from sims.study import Study
from sims.work import Progress, plain, work_of


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
    out: str | PathLike[str] | None = None,
    *,
    preset: str = "default",
    progress: Progress | None = None,
    layout: Layout | None = None,
    command: str = "",
    **axes: AxisValue | None,
) -> xr.Dataset:
    """Run a study and return its table.

    Args:
      study: a name in `sims.studies.STUDIES`, as "phase_diagram".
      out: folder to keep the run in; the same call takes up an interrupted run, and a finished one is loaded. By
        default nothing is kept.
      preset: "quick", "default" or "full".
      progress: called with (finished, all) units.
      layout: how the work is cut, `layout_for` the platform by default.
      command: what to record as the origin of the run.
      **axes: of the study, in place of those of the preset: numbers, sequences, or text as on the command line.

    Raises:
      RunError: for wrong axes, or a folder that cannot be used.
    """
    config = configured(study, preset, **axes)
    if out is None:
        with tempfile.TemporaryDirectory() as folder:
            return _run(STUDIES[study], config, Path(folder), progress, layout, command)
    return _run(STUDIES[study], config, Path(out), progress, layout, command)


def _run(
    study: Study, config: Any, out: Path, progress: Progress | None, layout: Layout | None, command: str
) -> xr.Dataset:
    work = work_of(study, config, layout)
    made_with: dict[str, Any] = {**provenance()}
    environment = {name: str(made_with[name]) for name in ("mixjax", "commit", "jax", "jaxlib", "platform", "device")}
    wanted = work.layout(str(made_with["platform"]))
    directory = RunDirectory.open(out, spec=work.spec, environment=environment, layout=wanted)
    if not directory.finished:
        made_with["command"] = command or f"sims.run({study.name!r}, ...)"
        started = time.perf_counter()
        computed, number = work.compute_missing(directory, progress)
        table = work.table(directory)
        table.attrs |= {
            "study": study.name,
            "summary": study.summary,
            "config": json.dumps(dataclasses.asdict(config), default=plain),
            "seed": work.seed,
            "provenance": json.dumps(made_with),
        }
        took = {"seconds": round(time.perf_counter() - started, 2), "units": f"{computed} of {number}"}
        _write_table(directory.path, table, made_with | took)
    return load(directory.path)


def _write_table(folder: Path, table: xr.Dataset, made_with: Mapping[str, Any]) -> None:
    """Write dataset.nc, and before it provenance.json with its checksum; `load` reads it."""
    with explained(folder):
        with tempfile.TemporaryDirectory(dir=folder, prefix=".tmp-") as scratch:
            path = Path(scratch) / "dataset"
            table.to_netcdf(path, engine="h5netcdf")
            content = path.read_bytes()
        origin = {**made_with, "dataset_sha256": sha256(content).hexdigest()}
        write_atomically(folder / "provenance.json", json.dumps(origin, indent=2).encode())
        write_atomically(folder / "dataset.nc", content)


def load(path: str | PathLike[str]) -> xr.Dataset:
    """The table of a finished run.

    Raises:
      RunError: if the folder holds no run, or one that is not finished or whose table is damaged.
    """
    read_manifest(path)
    file = Path(path) / "dataset.nc"
    if not file.exists():
        raise RunError(f"the run in {path} is not finished; run the same command again to go on")
    if not _intact(file):
        raise RunError(f"{file} is damaged; delete it and run the same command again, which makes it anew")
    with xr.open_dataset(file, engine="h5netcdf") as table:
        return table.load()


def _intact(file: Path) -> bool:
    """Whether the table is the one that its provenance was written for."""
    try:
        made_with = json.loads((file.parent / "provenance.json").read_text())
        return bool(made_with["dataset_sha256"] == sha256(file.read_bytes()).hexdigest())
    except (OSError, ValueError, KeyError, TypeError):
        return False
