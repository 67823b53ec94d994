"""The stored figures: what a gallery lists, the folders of results/, and a small copy of each figure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 560  # pixels of a thumbnail, twice what it takes on a page


class Entry(NamedTuple):
    """What a line of a gallery names, a folder of results/ or a picture, and the finding of each of its figures."""

    name: str
    findings: dict[Path, str]


def entries(lines: Iterable[str]) -> list[Entry]:
    """Parse a gallery: `folder`, and below it lines `  figure: finding`; or `picture.png: finding`."""
    found: list[Entry] = []
    for line in filter(str.strip, lines):
        name, _, finding = line.strip().partition(": ")
        if line.startswith(" "):
            figure = ROOT / "results" / found[-1].name / "figures" / f"{name}.png"
            found[-1].findings[figure] = finding
        else:
            found.append(Entry(name, {ROOT / name: finding} if finding else {}))
    return found


class Result(NamedTuple):
    """A folder of results/: what it is, and how it was computed."""

    folder: Path
    summary: str
    command: str

    @classmethod
    def of(cls, folder: Path) -> Result:
        readme = (folder / "README.md").read_text()
        summary = readme.split("\n")[2]
        command = re.search(r"^\| command \| `(.*)` \|$", readme, re.MULTILINE)
        if command is None:
            raise ValueError(f"{folder.name}/README.md names no command")
        return cls(folder, summary, command[1])


@cache
def thumbnail(figure: Path, to: Path) -> tuple[int, int]:
    """Write a small copy and return its size."""
    with Image.open(figure) as image:
        image = image.convert("RGB")
        image.thumbnail((WIDTH, WIDTH))
        to.parent.mkdir(parents=True, exist_ok=True)
        image.save(to, quality=80)
        return image.size


def shown_by(figure: Path) -> str:
    """Return the page of docs/ that shows a picture."""
    for page in sorted((ROOT / "docs").glob("*.md")):
        if re.search(rf"!\[[^\]]*\]\([^)]*{re.escape(figure.name)}\)", page.read_text()):
            return f"docs/{page.stem}.html"
    raise ValueError(f"no page of docs/ shows {figure.name}")
