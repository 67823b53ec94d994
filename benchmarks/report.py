"""A benchmark and its results: one Markdown page and one JSON file, with the machine that they were measured on."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mixjax.runs import explained, provenance, write_atomically

Row = Mapping[str, Any]
_FULL = "make room, and measure again"


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


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: how much it measures, how, and beside which packages.

    Attributes:
      name: on the command line, and of the files.
      title: of the page.
      full, quick: sizes, a dataclass: for results that are kept, and for half a minute.
      measure: makes the sections of some sizes one after another.
      summary: makes the section that comes first, from the others.
      about: further entries of the page's head, of some sizes.
      peers: packages that have no rows where they are not installed.
      draw: draws the stored results into a file, NAME.png.
    """

    name: str
    title: str
    full: Any
    quick: Any
    measure: Callable[[Any], Iterable[Section]]
    summary: Callable[[Sequence[Section]], Section] | None = None
    about: Callable[[Any], Row] = lambda sizes: {}
    peers: tuple[str, ...] = ()
    draw: Callable[[Row, Path], None] | None = None

    def run(self, out: Path, sizes: Any, command: str = "") -> str:
        """Measure, write NAME.md, NAME.json and the picture, and return the page."""
        with explained(out, _FULL):
            out.mkdir(parents=True, exist_ok=True)
        started, sections = time.perf_counter(), list[Section]()
        for section in self.measure(sizes):
            sections.append(section)
            print(f"{time.perf_counter() - started:4.0f} s  {section.name}", file=sys.stderr)
        if self.summary:
            sections.insert(0, self.summary(sections))
        head = {
            "command": command or f"benchmarks.{self.name}",
            **provenance(),
            "seconds": round(time.perf_counter() - started, 1),
            "settings": asdict(sizes),
            **self.about(sizes),
        }
        page = _page(self.title, head, sections)
        results = {s.name: {"text": s.text, "ratios": s.ratios, "rows": s.rows} for s in sections}
        content = json.dumps({"benchmark": self.name, **head, "results": results}, indent=1) + "\n"
        with explained(out, _FULL):
            write_atomically(out / f"{self.name}.md", page.encode())
            write_atomically(out / f"{self.name}.json", content.encode())
            if self.draw:
                self.draw(json.loads(content)["results"], out / f"{self.name}.png")
        return page


def asked_beside_measured(rows: Iterable[tuple[str, str, Any]]) -> Section:
    """Return the summary of (what, asked, measured)."""
    text = "From medians, warm; compilation apart."
    return Section(
        "summary", "Summary", text, [dict(zip(("what", "asked", "measured"), row, strict=True)) for row in rows]
    )


def _page(title: str, head: Row, sections: Sequence[Section]) -> str:
    parts = [f"# {title}", "\n".join(f"* {name}: {value}" for name, value in head.items())]
    for section in sections:
        parts += [f"## {section.title}", section.text, _table(section.rows)]
    return "\n\n".join(parts) + "\n"


def _table(rows: Sequence[Row]) -> str:
    """Align the columns, so that plain text reads well too."""
    lines = [[name.replace("_", " ") for name in rows[0]], *([_text(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    right = [all(not isinstance(row[name], str) for row in rows) for name in rows[0]]
    rule = ["-" * (width - 1) + ":" if number else "-" * width for width, number in zip(widths, right, strict=True)]
    aligned = (
        [
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(line, widths, right, strict=True)
        ]
        for line in (lines[0], rule, *lines[1:])
    )
    return "\n".join(f"| {' | '.join(cells)} |" for cells in aligned)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
