"""Docstrings are plain text for `help`: here their signs are kept from meaning something to reStructuredText."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_CODE = re.compile(r"(`+[^`]*`+)")


def prepare(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape |theta| and *batch; take what is returned for text, with colons and all."""
    if what == "data" and obj.__doc__ == type(obj).__doc__:
        lines.clear()  # of `dict` or `str`
    plain = _plain_lines(lines)
    lines[:] = [_escaped(line) if is_plain else line for line, is_plain in zip(lines, plain, strict=True)]
    if "Returns:" in lines:
        lines.insert(lines.index("Returns:") + 1, "  \\")  # napoleon reads "TYPE: text" from the first line


def _escaped(line: str) -> str:
    parts = _CODE.split(line)
    return "".join(part if position % 2 else re.sub(r"(\||\*(?=\S))", r"\\\1", part) for position, part in enumerate(parts))


def _plain_lines(lines: list[str]) -> list[bool]:
    """Tell the lines of text from those of examples and of displayed formulas."""
    plain, inside = [], ""
    for line in lines:
        text = line.strip()
        if text.startswith((">>>", ".. ")):
            inside = text[:2]
        elif (inside == ">>" and not text) or (inside == ".." and text and not line.startswith(" ")):
            inside = ""
        plain.append(not inside)
    return plain


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", prepare, priority=400)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
