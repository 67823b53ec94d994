"""Run a published result again, and compare each of its tables with the new one.

`publish` leaves `provenance.json` beside the tables: the study, its configuration and what made it. Results that were
published before it did have a README that says as much.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import xarray as xr

from mixjax.commands.publishing import read_published
from mixjax.runs import Location, PathOrUrl, RunError, Tell, differences, located
from mixjax.runs.origin import PACKAGES
from mixjax.runs.untrusted import printable, read_json, read_text

from .comparing import TOLERANCE, Comparison, compare
from .configuration import work_of
from .engine.execution import ExecutionOptions, Progress, execute
from .loading import load
from .publishing import tables_of
from .studies import STUDIES

_TOLD = ("mixjax", "commit", "jax", "jaxlib", *PACKAGES, "python", "platform", "device", "x64", "xla_flags")


class NotOfStudiesError(RunError):
    """Report a folder of no published study: it cannot be made again here."""


@dataclass(frozen=True)
class Published:
    """A published result, as its folder describes it.

    Attributes:
      folder: it.
      study: its name.
      config: the axes and options, as JSON values or text.
      made: what made it, as far as that is known.
    """

    folder: Location
    study: str
    config: Mapping[str, Any]
    made: Mapping[str, Any]


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
      out: folder of the new run, as for `run`; the same call goes on after an interruption.
      tolerance: largest difference of two numbers that agree, as a part of the larger; 2e-3 is two units in the last
        of four printed digits. Differences within a fifth of a standard error agree as well (`comparing`).
      progress: called with (finished, all) units.
      warn: called with a line about what is strange.
      allow_mixed: whether another version or device may resume the new run.

    Returns:
      The comparison of each table, whose text says what was found, and in what the runs differ otherwise.

    Raises:
      RunError: for a folder that no study of this release can have made, and as `run` does.

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
    options = replace(options, command=str(published.made.get("command", "")))  # the numbers are those that it makes
    execute(work_of(published.study, **published.config), out, options)
    table = load(out)
    return Reproduction(_compared(published.folder, table, tolerance), _reason(published.made, table))


def read_result(folder: Location) -> Published:
    """Read what a published folder says about its study.

    Raises:
      RunError: if there is no such folder.
      NotOfStudiesError: if it holds no published result, or one that no study of this release made.
    """
    if not folder.exists():
        raise RunError(f"there is no {folder}")
    try:
        text = read_text(folder / "README.md")
    except (OSError, ValueError):
        text = ""
    rows = read_published(text)
    if "command" not in rows:
        raise NotOfStudiesError(f"{folder} does not say how it was made (no README.md of `publish`)")
    stored = _stored(folder)
    study = stored.get("study", text.partition("\n")[0].removeprefix("# "))
    if study not in STUDIES or "axes" not in rows:
        raise NotOfStudiesError(f"{folder} was made by {printable(rows['command'])}, which is no study of sims")
    try:
        config = stored["config"] if stored else _config(study, rows["axes"])
    except (LookupError, ValueError):
        config = None
    if not isinstance(config, dict):
        raise NotOfStudiesError(f"{folder} does not say with which axes {study} made it")
    return Published(folder, study, config, stored or _made(rows))


def _stored(folder: Location) -> dict[str, Any]:
    """Read provenance.json; empty if there is none."""
    path = folder / "provenance.json"
    if not path.exists():
        return {}
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise RunError(f"{path} is not what `publish` writes")
    return content


def _config(study: str, text: str) -> dict[str, Any]:
    """Parse `name = value, ...`, where values may have commas; what the README leaves out is None."""
    parts = re.split(r"(?:^|, )(\w+) = ", text)[1:]
    given = dict(zip(parts[::2], parts[1::2], strict=True))
    fields = STUDIES[study].config.__dataclass_fields__
    config: dict[str, Any] = {name: None for name, field in fields.items() if field.default is None}
    for name, value in given.items():
        usual = fields[name].default if name in fields else None
        config[name] = value if isinstance(usual, str) or usual is None else json.loads(value)
    return config


def _made(rows: Mapping[str, str]) -> dict[str, str]:
    """Parse the command, the time, the versions and the processor in a README."""
    words = (part.rsplit(" ", 1) for part in re.sub(r" \(\w[\w-]*\)", "", rows.get("versions", "")).split(", "))
    made = {part[0].lower(): part[1] for part in words if len(part) == 2}
    if commit := re.search(r"\((\w[\w-]*)\)", rows.get("versions", "")):
        made["commit"] = commit[1]
    made["command"] = rows["command"]
    if seconds := re.match(r"[\d.]+(?= s,)", rows.get("computing", "")):
        made["seconds"] = seconds[0]
    if machine := re.fullmatch(r"(.*), \d+ cores, \d+ GiB; devices: \d+ (\w+)", rows.get("machine", "")):
        made |= {"device": machine[1], "platform": machine[2]}
    return made


def _compared(folder: Location, table: xr.Dataset, tolerance: float) -> tuple[Comparison, ...]:
    made = {f"{name}.csv": content for name, content in tables_of(table).items()}
    stored = {path.name: read_text(path) for path in folder.iterdir() if path.name.endswith(".csv")}
    return tuple(compare(name, stored.get(name), made.get(name), tolerance) for name in sorted({*made, *stored}))


def _reason(then: Mapping[str, Any], table: xr.Dataset) -> str:
    """Describe in what the two runs differ, of what is known of both."""
    now = json.loads(table.attrs["provenance"])
    known = [name for name in _TOLD if name in then and name in now]
    one, other = ({name: str(made[name]) for name in known} for made in (then, now))
    return differences(one, other, "then", "now")
