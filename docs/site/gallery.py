"""The gallery: `{gallery}` shows the stored figures of folders of results/, small, each with what it shows.

The text is the first sentence of the caption that lies beside the figure; the command is that of the folder's README.md.
A line that names a picture shows it with the words of the page of docs/ that shows it.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

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


class Gallery(SphinxDirective):
    """Cards of figures: a line of the content is a folder of results/, or a picture of the repository."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        pictures = [ROOT / line for line in self.content if line.endswith(".png")]
        found = [node for line in self.content if not line.endswith(".png") for node in self._result(line)]
        return found + self._grid(self._card(picture, *shown_by(picture)) for picture in pictures)

    def _result(self, name: str) -> list[nodes.Node]:
        result = Result.of(ROOT / "results" / name)
        self.env.note_dependency(str(result.folder / "README.md"))
        page = f"results/{name}/README.html"
        head = f'<p class="gallery-head"><a href="{self._url(page)}">{html.escape(result.summary)}</a></p>'
        command = nodes.literal_block(result.command, result.command, language="console")
        cards = (self._card(figure, page, finding(figure)) for figure in result.figures)
        return [nodes.raw("", head, format="html"), command, *self._grid(cards)]

    def _grid(self, cards: Iterable[str]) -> list[nodes.Node]:
        text = "".join(cards)
        return [nodes.raw("", f'<div class="gallery">{text}</div>', format="html")] if text else []

    def _card(self, figure: Path, page: str, words: str) -> str:
        thumb = "_static/gallery/" + figure.relative_to(ROOT).with_suffix(".webp").as_posix()
        width, height = thumbnail(figure, Path(self.env.app.outdir, thumb))
        image = f'<img src="{self._url(thumb)}" width="{width}" height="{height}" loading="lazy" alt="">'
        return f'<a class="card" href="{self._url(page)}">{image}<span>{html.escape(words)}</span></a>'

    def _url(self, path: str) -> str:
        return posixpath.relpath(path, posixpath.dirname(self.env.docname))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("gallery", Gallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
