"""The manifest of a run, read without trust in its content, and the difference of two."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mixjax.runs.errors import RunError
from mixjax.runs.storage import Location, PathOrUrl, located
from mixjax.runs.untrusted import printable, read_json, refuse_links

FORMAT = 1
_MOST = 10  # differences that are named
_KINDS = ("experiment", "study")  # what a spec is of


def read_manifest(path: PathOrUrl) -> dict[str, Any]:
    """Read the manifest of the run in a folder.

    Raises:
      RunError: if there is none, it is not one that this version can read, or the folder holds links.
    """
    folder = located(path)
    manifest_path = folder / "manifest.json"
    try:
        if isinstance(manifest_path, Path):
            manifest_path.lstat()  # what holds no run is not searched for links
        refuse_links(folder)
        manifest = read_json(manifest_path)
    except FileNotFoundError:
        raise RunError(f"{path} holds no run (no manifest.json)") from None
    except OSError as error:
        raise RunError(f"{manifest_path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        way = "restore it from a copy, or choose another folder"
        raise RunError(f"{manifest_path} cannot be read: {error}; {way}") from None
    version = manifest.get("format") if isinstance(manifest, dict) else None
    if isinstance(version, int) and version > FORMAT:
        raise RunError(
            f"{manifest_path} was written by a newer release (format {version}, and this one reads {FORMAT}); "
            "upgrade mixjax, or choose another folder"
        )
    if version != FORMAT or not _well_formed(manifest):
        raise RunError(f"{manifest_path} is not a manifest of format {FORMAT}, the only one that this version reads")
    return manifest


def _well_formed(manifest: Mapping[str, Any]) -> bool:
    mixed = manifest.get("mixed", [])
    return (
        all(isinstance(manifest.get(part), dict) for part in ("spec", "environment", "layout"))
        and isinstance(manifest.get("config", {}), dict)
        and isinstance(mixed, list)
        and all(isinstance(environment, dict) for environment in mixed)
    )


def differences(stored: Mapping[str, Any], wanted: Mapping[str, Any], there: str = "there", here: str = "here") -> str:
    """Describe the difference of two specs or environments; empty if there is none."""
    one, other = _flat(stored), _flat(json.loads(json.dumps(dict(wanted))))
    found = [key for key in sorted({*one, *other}) if one.get(key) != other.get(key)]
    found = [key for key in found if key in _KINDS] or found  # the rest follows from these
    lines = [_difference(key, _brief(one.get(key)), there, _brief(other.get(key)), here) for key in found[:_MOST]]
    return "; ".join(lines) + f"; and {len(found) - _MOST} more" * (len(found) > _MOST)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested values by their path, such as `options.epochs`."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def _difference(key: str, one: str, there: str, other: str, here: str) -> str:
    key = printable(key)
    return f"{key} is {one} {there} and {other} {here}" if one != other else f"{key} is not the same"


def refuse_difference(
    path: Location, what: str, stored: Mapping[str, Any], wanted: Mapping[str, Any], way: str = ""
) -> None:
    """Raise a RunError that describes the difference, if there is one."""
    if found := differences(stored, wanted):
        raise RunError(f"{path} holds a run of another {what} ({found}); choose another folder (--out){way}")


def _brief(value: object) -> str:
    if isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
        return f"{len(value)} entries"
    if isinstance(value, list) and len(value) > 4:
        return f"{len(value)} values from {value[0]:g} to {value[-1]:g}" if _numeric(value) else f"{len(value)} values"
    return json.dumps(value)[:80]


def _numeric(values: list[Any]) -> bool:
    return all(isinstance(value, int | float) for value in values)
