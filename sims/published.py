"""A published result: what its folder says about the study that made it.

`publish` leaves `provenance.json` beside the tables: the study, its configuration and what made it. Results that were
published before it did have a README that says as much.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mixjax.commands.publishing import read_published
from mixjax.runs import Location, RunError
from mixjax.runs.untrusted import printable, read_json, read_text

from .studies import STUDIES


class NotOfStudiesError(RunError):
    """Report that a folder holds no published study, so it cannot be made again here."""


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

    @property
    def name(self) -> str:
        """The name of the folder, however the path to it is written."""
        return self.folder.resolve().name if isinstance(self.folder, Path) else self.folder.name

    @property
    def seconds(self) -> float | None:
        """The time that it took, if that is known."""
        try:
            return float(self.made.get("seconds", ""))
        except (TypeError, ValueError):
            return None


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
    if not isinstance(study, str) or study not in STUDIES or "axes" not in rows:
        raise NotOfStudiesError(f"{folder} was made by {printable(rows['command'])}, which is not a study of sims")
    try:
        config = stored["config"] if stored else _config(study, rows["axes"])
    except (LookupError, ValueError):
        config = None
    if not isinstance(config, dict):
        raise NotOfStudiesError(f"{folder} does not say which axes {study} used")
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
