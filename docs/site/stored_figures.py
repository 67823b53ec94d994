"""The stored figures: those of a folder of results/, what each shows, and a small copy of it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 560  # pixels of a thumbnail, twice what it takes on a page
_VERDICT = re.compile(r"(Theorem [\d.]+): .*?Verdict: ([^.]*)\.", re.DOTALL)


class Result(NamedTuple):
    """A folder of results/: what it is, how it was computed, and its figures."""

    folder: Path
    summary: str
    command: str
    figures: tuple[Path, ...]

    @classmethod
    def of(cls, folder: Path) -> Result:
        readme = (folder / "README.md").read_text()
        summary = readme.split("\n")[2]
        command = re.search(r"^\| command \| `(.*)` \|$", readme, re.MULTILINE)
        if command is None:
            raise ValueError(f"{folder.name}/README.md names no command")
        return cls(folder, summary, command[1], tuple(sorted((folder / "figures").glob("*.png"))))


def finding(figure: Path) -> str:
    """Return the first sentence of a caption; of a theorem, its verdict."""
    caption = " ".join(figure.with_suffix(".txt").read_text().split())
    if (verdict := _VERDICT.match(caption)) is not None:
        return f"{verdict[1]}: {verdict[2]}."
    return re.split(r"(?<=\.) (?=[A-Z])", caption)[0]


@cache
def thumbnail(figure: Path, to: Path) -> tuple[int, int]:
    """Write a small copy and return its size."""
    with Image.open(figure) as image:
        image = image.convert("RGB")
        image.thumbnail((WIDTH, WIDTH))
        to.parent.mkdir(parents=True, exist_ok=True)
        image.save(to, quality=80)
        return image.size


def shown_by(figure: Path) -> tuple[str, str]:
    """Return the page of docs/ that shows a picture, and its words."""
    for page in sorted((ROOT / "docs").glob("*.md")):
        words = re.search(rf"!\[([^\]]*)\]\([^)]*{re.escape(figure.name)}\)", page.read_text())
        if words is not None:
            return f"docs/{page.stem}.html", " ".join(words[1].split()) + "."
    raise ValueError(f"no page of docs/ shows {figure.name}")
