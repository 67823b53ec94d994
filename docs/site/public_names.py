"""The public names, as docs/reference.md lists them: a section, a heading, and where each is imported from.

The first cell of a row of its tables is the heading of the names in the other cells; other names have that of their
package.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

PAGE = Path(__file__).resolve().parents[1] / "reference.md"
_NAME = re.compile(r"`([A-Za-z_][\w.]*)(?:\([^`]*\))?`")


class Entry(NamedTuple):
    """A public name: the section and the heading that it stands under, and where it is imported from."""

    section: str
    heading: str
    name: str

    @property
    def value(self) -> Any:
        package, _, name = self.name.rpartition(".")
        return getattr(import_module(package), name)


@cache
def entries() -> tuple[Entry, ...]:
    """Return every public name once, in the order of docs/reference.md."""
    first: dict[str, Entry] = {}
    for section in PAGE.read_text().split("\n## ")[1:]:
        for entry in _entries_of(section):
            first.setdefault(entry.name, entry)
    return tuple(first.values())


def _entries_of(section: str) -> Iterator[Entry]:
    title = section.partition("\n")[0].partition("`")[0].strip(" :")
    packages = list(dict.fromkeys(package for name in _NAME.findall(section) if (package := _package_of(name))))
    for heading, names in _rows(section):
        for name in names:
            if (full := _full_name(name, packages)) is not None:
                yield Entry(title, heading or full.rpartition(".")[0], full)


def _rows(section: str) -> Iterator[tuple[str, list[str]]]:
    for line in section.splitlines():
        cells = line.strip("|").split("|") if line.startswith("|") else [""]
        heading = "" if "`" in cells[0] else cells[0].strip()
        yield heading, _NAME.findall(line)


def _package_of(name: str) -> str | None:
    """Return the longest part of a dotted name that is a module of mixjax."""
    while name.startswith("mixjax."):
        if isinstance(_found(name), ModuleType):
            return name
        name = name.rpartition(".")[0]
    return None


def _full_name(name: str, packages: list[str]) -> str | None:
    places = [name] if name.startswith("mixjax.") else [f"{package}.{name}" for package in packages]
    return next((place for place in places if not isinstance(_found(place), ModuleType | None)), None)


@cache
def _found(name: str) -> Any:
    """Return what a dotted name stands for, or None."""
    value: Any = import_module("mixjax")
    path = "mixjax"
    for part in name.split(".")[1:]:
        path = f"{path}.{part}"
        try:
            value = getattr(value, part) if hasattr(value, part) else import_module(path)
        except ImportError:
            return None
    return value
