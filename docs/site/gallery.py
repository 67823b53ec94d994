"""The gallery: `{gallery}` shows the stored figures of folders of results/, small, each with what it shows.

The text is the first sentence of the caption beside the figure; the command is that of the folder's README.md. A line
that names a picture shows it with the words of the page of docs/ that shows it.
"""

from __future__ import annotations

import html
import posixpath
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from docs.site.stored_figures import ROOT, Result, finding, shown_by, thumbnail


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
        command = nodes.literal_block(result.command, result.command, language="bash")
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
