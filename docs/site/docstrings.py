"""Docstrings are plain text for `help`: here their signs are kept from meaning something to reStructuredText."""

from __future__ import annotations

import re
from typing import Any

_CODE = re.compile(r"(`+[^`]*`+)")
_SIGN = re.compile(r"\||\*(?=\S)")
_PAGE = re.compile(r"\bdocs/(\w+)\.md")


def prepare(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape |theta| and *batch, link pages, and take what is returned for text, with colons and all."""
    if what == "data" and obj.__doc__ == type(obj).__doc__:
        lines.clear()  # of `dict` or `str`
    plain = _plain_lines(lines)
    lines[:] = [_escaped(line) if is_plain else line for line, is_plain in zip(lines, plain, strict=True)]
    if "Returns:" in lines:
        lines[lines.index("Returns:")] = ":returns:"  # napoleon would take what is before a colon for a type


def _escaped(line: str) -> str:
    parts = _CODE.split(line)
    parts[::2] = [_PAGE.sub(r":doc:`/docs/\1`", _SIGN.sub(r"\\\g<0>", part)) for part in parts[::2]]
    return "".join(parts)


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
