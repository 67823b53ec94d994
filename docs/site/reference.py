"""The reference: `.. reference:: TITLE` documents every name that a section of docs/reference.md lists.

The first cell of a row of its tables is the heading of the names in the other cells; other names have that of their
package.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

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


class Reference(SphinxDirective):
    """The docstrings of a section of docs/reference.md."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        chosen = [entry for entry in entries() if entry.section == self.arguments[0]]
        if not chosen:
            raise self.error(f"docs/reference.md has no section {self.arguments[0]}")
        self.env.note_dependency(str(PAGE))
        lines, heading = [], ""
        for entry in chosen:
            if entry.heading != heading:
                heading = entry.heading
                title = heading if heading.startswith("mixjax.") else heading[0].upper() + heading[1:]
                lines += [title, "-" * len(title), ""]
            lines += [_directive(entry), ""]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def _directive(entry: Entry) -> str:
    value = entry.value
    if inspect.isclass(value):
        return f".. autoclass:: {entry.name}\n   :members:"
    return f".. auto{'function' if callable(value) else 'data'}:: {entry.name}"


def skip_fields(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool:
    """Leave out what a NamedTuple says of its fields ("Alias for field number 0"): the class describes them."""
    return skip or type(obj).__name__ == "_tuplegetter"


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("docstrings")
    app.add_directive("reference", Reference)
    app.connect("autodoc-skip-member", skip_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
