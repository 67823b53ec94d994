"""The reference: `.. reference:: TITLE` documents every name that a section of docs/reference.md lists."""

from __future__ import annotations

import inspect
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from docs.site.docstrings import prepare
from docs.site.public_names import PAGE, Entry, entries


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
    app.add_directive("reference", Reference)
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("autodoc-process-docstring", prepare, priority=400)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
