"""The gallery: `{gallery}` shows the stored figures of folders of results/, small, each with its finding.

Below the line of a folder stand the findings of its figures; the command is that of the folder's README.md. A line that
names a picture shows it, and links to the page of docs/ that does.
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

from docs.site.stored_figures import ROOT, Entry, Result, entries, shown_by, thumbnail


class Gallery(SphinxDirective):
    """Cards of figures: an entry of the content is a folder of results/, or a picture of the repository."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        found = entries(self.content)
        pictures = [entry for entry in found if entry.name.endswith(".png")]
        cards = [card for entry in pictures for card in self._cards(entry, shown_by(ROOT / entry.name))]
        return [node for entry in found if entry not in pictures for node in self._result(entry)] + self._grid(cards)

    def _result(self, entry: Entry) -> list[nodes.Node]:
        result = Result.of(ROOT / "results" / entry.name)
        self.env.note_dependency(str(result.folder / "README.md"))
        page = f"results/{entry.name}/README.html"
        head = f'<p class="gallery-head"><a href="{self._url(page)}">{html.escape(result.summary)}</a></p>'
        command = nodes.literal_block(result.command, result.command, language="bash")
        return [nodes.raw("", head, format="html"), command, *self._grid(self._cards(entry, page))]

    def _cards(self, entry: Entry, page: str) -> list[str]:
        return [self._card(figure, page, finding) for figure, finding in entry.findings.items()]

    def _grid(self, cards: Iterable[str]) -> list[nodes.Node]:
        text = "".join(cards)
        return [nodes.raw("", f'<div class="gallery">{text}</div>', format="html")] if text else []

    def _card(self, figure: Path, page: str, finding: str) -> str:
        thumb = "_static/gallery/" + figure.relative_to(ROOT).with_suffix(".webp").as_posix()
        width, height = thumbnail(figure, Path(self.env.app.outdir, thumb))
        image = f'<img src="{self._url(thumb)}" width="{width}" height="{height}" loading="lazy" alt="">'
        return f'<a class="card" href="{self._url(page)}">{image}<span>{html.escape(finding)}</span></a>'

    def _url(self, path: str) -> str:
        return posixpath.relpath(path, posixpath.dirname(self.env.docname))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("gallery", Gallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
