"""Run a published result again, and compare each of its tables with the new one.

A comparison says something about this code only if this code made the new tables. So a run that other code finished is
refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import xarray as xr

from mixjax.runs import (
    ENVIRONMENT,
    Location,
    PathOrUrl,
    RunDirectory,
    RunError,
    Tell,
    differences,
    located,
    provenance,
    read_manifest,
)
from mixjax.runs.origin import PACKAGES
from mixjax.runs.untrusted import printable

from .comparing import TOLERANCE, Comparison, compare
from .configuration import work_of
from .csv_tables import read_tables
from .engine.execution import ExecutionOptions, Progress, execute
from .loading import load
from .published import Published, read_result
from .publishing import tables_of
from .studies import STUDIES

_TOLD = (
    "mixjax",
    "commit",
    "jax",
    "jaxlib",
    *PACKAGES,
    "python",
    "platform",
    "device",
    "x64",
    "xla_flags",
    "jax_settings",
)


@dataclass(frozen=True)
class Reproduction:
    """A published result and the same study, run again.

    Attributes:
      comparisons: of each table.
      reason: in what the two runs differ beside their numbers; empty if in nothing that is known.
    """

    comparisons: tuple[Comparison, ...]
    reason: str

    @property
    def agrees(self) -> bool:
        """Whether each table agrees with the published one."""
        return all(part.agrees for part in self.comparisons)

    def __str__(self) -> str:
        lines = [f"{part.file}: {part.text}" for part in self.comparisons]
        if not all(part.identical for part in self.comparisons):
            lines.append(self.reason or "versions, commit and processor are the same")
        return "\n".join(lines)


def reproduce(
    folder: PathOrUrl,
    out: PathOrUrl,
    *,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
    warn: Tell = print,
    allow_mixed: bool = False,
) -> Reproduction:
    """Run a published study again with the same configuration, and compare its tables.

    Args:
      folder: what `python -m sims publish` wrote.
      out: folder of the new run, as for `run`. The same call resumes after an interruption. For a run that this code
        has finished, it only compares the tables.
      tolerance: largest relative difference of two numbers that agree; 2e-3 is two units in the last of four printed
        digits. Differences within a fifth of a standard error agree as well (`comparing`).
      progress: called with (finished, all) units.
      warn: called with a line about anything strange.
      allow_mixed: whether this code or device may resume what another began (but not what another has finished).

    Returns:
      The comparison of each table; its text says what was found, and how else the runs differ.

    Raises:
      RunError: for a folder that no study of this release can have made, for a damaged table, for an `out` that other
        code or another device has finished or that lies in the published folder, and as `run` does.

    Example:
      >>> import pathlib, tempfile
      >>> from mixjax import sims
      >>> from mixjax.sims.publishing import publish
      >>> axes = {"n": 50, "ratio": "0.2,1,3", "theta_norm": "0.5,2", "alpha": "0,1", "replicates": 100}
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     run, published = (pathlib.Path(folder, name) for name in ("run", "published"))
      ...     table, readme = sims.run("phase_diagram", run, **axes), publish(run, published)
      ...     print(sims.reproduce(published, f"{folder}/again"))
      table.csv: equal
    """
    published = read_result(located(folder))
    options = ExecutionOptions(progress=progress, warn=warn, allow_mixed=allow_mixed)
    return reproduce_result(published, located(out), tolerance, options)


def reproduce_result(published: Published, out: Location, tolerance: float, options: ExecutionOptions) -> Reproduction:
    """Run a study again as it was published, and compare its tables."""
    known = set(STUDIES[published.study].config.__dataclass_fields__)
    if lost := sorted(published.config.keys() - known):
        raise RunError(f"{published.folder} was made with {printable(lost[0])}, which {published.study} no longer has")
    if later := sorted(known - published.config.keys()):
        options.warn(f"{published.folder} does not say {', '.join(later)}: as the study has them now")
    stored = read_tables(published.folder)
    _refuse_published(out, published.folder)
    _refuse_other_code(out, options.allow_mixed)
    options = replace(options, command=str(published.made.get("command", "")))  # the numbers are those that it makes
    execute(work_of(published.study, **published.config), out, options)
    table = load(out)
    return Reproduction(_compared(stored, table, tolerance), _reason(published.made, table))


def _refuse_published(out: Location, folder: Location) -> None:
    """Refuse to run in the published folder."""
    one, other = (place.resolve() if isinstance(place, Path) else place for place in (out, folder))
    if one == other or (isinstance(one, Path) and isinstance(other, Path) and other in one.parents):
        raise RunError(f"the run would land in the published folder {folder}; choose another folder (--out)")


def _refuse_other_code(out: Location, allow_mixed: bool) -> None:
    """Refuse a finished run that this code has not made here: its tables say nothing about this code."""
    if not (out / "dataset.nc").exists():
        return
    made_with = provenance()
    now = {name: str(made_with[name]) for name in ENVIRONMENT}
    before = RunDirectory(out, read_manifest(out)).environments
    others = [environment for environment in before if environment != now]
    if others and not (allow_mixed and now in before):
        raise RunError(
            f"nothing would be computed: {out} holds a run that was finished before, and "
            f"{differences(others[0], now, 'then', 'now')}; choose another folder (--out), or delete that run"
        )


def _compared(stored: Mapping[str, str], table: xr.Dataset, tolerance: float) -> tuple[Comparison, ...]:
    made = {f"{name}.csv": content for name, content in tables_of(table).items()}
    return tuple(compare(name, stored.get(name), made.get(name), tolerance) for name in sorted({*made, *stored}))


def _reason(then: Mapping[str, Any], table: xr.Dataset) -> str:
    """Describe how the two runs differ, as far as both are known."""
    now = json.loads(table.attrs["provenance"])
    known = [name for name in _TOLD if name in then and name in now]
    one, other = ({name: str(made[name]) for name in known} for made in (then, now))
    return differences(one, other, "then", "now")
