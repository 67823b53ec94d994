"""Merge the folders of one run that machines without a common disk have computed in parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from mixjax.runs import PathOrUrl, RunDirectory, RunError, Sittings, Tell, differences, each, provenance

from .engine.execution import complete, finish
from .status import Status, status, stored_work


def merge(folders: Sequence[PathOrUrl], out: PathOrUrl, *, warn: Tell = print, allow_mixed: bool = False) -> Status:
    """Copy the units of several folders into one, and make the table there if none is missing.

    Args:
      folders: runs of one spec and one environment, cut into the same units; they are not changed.
      out: a folder that is new, empty, or holds this run.
      warn: called with a line about what is damaged, which is left out.
      allow_mixed: whether the environments may differ; the manifest then lists them all.

    Raises:
      RunError: if the runs differ, or hold different numbers for the same unit.
    """
    work, first = stored_work(folders[0])
    runs = [first, *(RunDirectory(folder, _like(first, folder, allow_mixed)) for folder in folders[1:])]
    layout, names = first.manifest["layout"], work.names(first.manifest["layout"])
    environments = [environment for run in runs for environment in run.environments]
    parts: dict[str, Any] = {"spec": work.spec, "layout": layout, "config": first.manifest.get("config")}
    tell = cache(warn)  # each line once, though the folder is opened several times
    for environment in environments:
        RunDirectory.open(out, environment=environment, allow_mixed=allow_mixed, warn=tell, **parts).close()
    with RunDirectory.open(out, environment=environments[0], warn=tell, **parts) as target:
        if found := differences(target.manifest["layout"], layout, f"in {out}", f"in {first.path}"):
            raise RunError(f"{out} holds this run, cut differently: {found}; choose another folder")
        if not target.finished:
            sittings = Sittings(target.path, [run.path for run in runs])
            for run in runs:
                _copy(run, target, names, warn)
            sittings.record()
            if complete(work, target):
                made_with = {**provenance(), **target.environments[0], "command": "python -m sims merge"}
                finish(work, target, made_with, sittings, f"0 of {len(names)}")
    return status(out)


def _like(first: RunDirectory, folder: PathOrUrl, allow_mixed: bool) -> Mapping[str, Any]:
    """Return the manifest in a folder, which must be of the same run as the first."""
    manifest = stored_work(folder)[1].manifest
    for part in ("spec", "layout", *(() if allow_mixed else ("environment",))):
        if found := differences(first.manifest[part], manifest[part], f"in {first.path}", f"in {folder}"):
            advice = "; --allow-mixed merges them anyway" if part == "environment" else ""
            raise RunError(f"the runs differ in their {part}: {found}{advice}")
    return manifest


def _copy(run: RunDirectory, target: RunDirectory, names: Sequence[str], warn: Tell) -> None:
    """Copy the units that are missing in the target; those that it has must be the same."""
    found = run.inventory(names)
    for remark in found.remarks():
        warn(f"{run.path}: {remark}")

    def copy(name: str) -> None:
        arrays = run.read(name)
        if not target.has(name):
            target.write(name, arrays)
        elif (there := target.read(name)).keys() != arrays.keys() or any(
            there[part].tobytes() != array.tobytes() for part, array in arrays.items()
        ):
            raise RunError(
                f"unit {name} has other numbers in {run.path} than in the previous runs; one of them is wrong"
            )

    for _ in each(copy, (name for name in names if name in found.stored), run.path, target.path):
        pass
