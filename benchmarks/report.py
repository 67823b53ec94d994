"""A benchmark's results as one Markdown page and one JSON file, with the machine that they were measured on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mixjax.runs import RunError, write_atomically

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Section:
    """A table.

    Attributes:
      name: in the JSON file.
      title: above the table.
      text: what is timed.
      rows: one mapping a row, all of the same columns.
      ratios: the numbers that the table is for.
    """

    name: str
    title: str
    text: str
    rows: Sequence[Row]
    ratios: Mapping[str, Any] = field(default_factory=dict)


def write(folder: Path, name: str, title: str, header: Row, sections: Sequence[Section]) -> str:
    """Write NAME.md and NAME.json, and return the page.

    Raises:
      RunError: if the folder cannot be written.
    """
    page = _page(title, header, sections)
    results = {s.name: {"text": s.text, "ratios": s.ratios, "rows": s.rows} for s in sections}
    content = {"benchmark": name, **header, "results": results}
    with writing(folder):
        write_atomically(folder / f"{name}.md", page.encode())
        write_atomically(folder / f"{name}.json", (json.dumps(content, indent=1) + "\n").encode())
    return page


def make_folder(folder: Path) -> None:
    """Before anything is measured.

    Raises:
      RunError: if it cannot be made.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn what the file system refuses into one sentence."""
    try:
        yield
    except OSError as error:
        raise RunError(f"cannot write to {folder}: {(error.strerror or str(error)).lower()}") from None


def _page(title: str, header: Row, sections: Sequence[Section]) -> str:
    parts = [f"# {title}", "\n".join(f"* {name}: {value}" for name, value in header.items())]
    for section in sections:
        parts += [f"## {section.title}", section.text, _table(section.rows)]
    return "\n\n".join(parts) + "\n"


def _table(rows: Sequence[Row]) -> str:
    """Columns aligned, so that it reads well as plain text too."""
    header = [name.replace("_", " ") for name in rows[0]]
    lines = [header, *([_shown(value) for value in row.values()] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    right = [all(not isinstance(row[name], str) for row in rows) for name in rows[0]]
    rule = ["-" * (width - 1) + ":" if number else "-" * width for width, number in zip(widths, right, strict=True)]
    return "\n".join("| " + " | ".join(_cells(line, widths, right)) + " |" for line in (lines[0], rule, *lines[1:]))


def _cells(line: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> list[str]:
    return [
        text.rjust(width) if number else text.ljust(width)
        for text, width, number in zip(line, widths, right, strict=True)
    ]


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
