"""A benchmark's results as one Markdown page and one JSON file, with the machine that they were measured on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
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


def page(title: str, header: Mapping[str, Any], sections: Sequence[Section]) -> str:
    """The Markdown page."""
    facts = "\n".join(f"* {name}: {value}" for name, value in header.items())
    parts = [f"# {title}", facts]
    for section in sections:
        parts += [f"## {section.title}", section.text, _table(section.rows)]
    return "\n\n".join(parts) + "\n"


def write(folder: Path, name: str, title: str, header: Mapping[str, Any], sections: Sequence[Section]) -> None:
    """Write NAME.md and NAME.json.

    Raises:
      RunError: if the folder cannot be written.
    """
    results = {
        section.name: {key: value for key, value in asdict(section).items() if key != "name"} for section in sections
    }
    content = {"benchmark": name, **header, "results": results}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / f"{name}.md", page(title, header, sections).encode())
        write_atomically(folder / f"{name}.json", (json.dumps(content, indent=1) + "\n").encode())
    except OSError as error:
        raise RunError(f"cannot write to {folder}: {(error.strerror or str(error)).lower()}") from None


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
