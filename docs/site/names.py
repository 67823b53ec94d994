"""Code in prose that names something of the site becomes a link: a public name, or a page."""

from __future__ import annotations

import posixpath
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from docs.site.public_names import PAGE, entries


def targets() -> dict[str, str]:
    """Return what prose calls each public name: all of it and, where docs/reference.md does, the last part."""
    page = PAGE.read_text()
    found = {}
    for entry in entries():
        found[entry.name] = found[entry.name.removeprefix("mixjax.")] = entry.name
        bare = entry.name.rpartition(".")[2]
        if f"`{bare}`" in page or f"`{bare}(" in page:
            found[bare] = found[f"mixjax.{bare}"] = entry.name
    return found


class LinkNames(SphinxPostTransform):
    """Link the public names and pages that are set as code, outside of headings and of other links."""

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        names = targets()
        for literal in list(self.document.findall(nodes.literal)):
            alone = not isinstance(literal.parent, nodes.reference | nodes.title | addnodes.pending_xref)
            if alone and (link := self._link(literal.astext(), names)) is not None:
                literal.replace_self(link)
                link += literal

    def _link(self, text: str, names: dict[str, str]) -> nodes.Element | None:
        common = {"refdoc": self.env.docname, "refwarn": True, "refexplicit": True}
        name = names.get(text.partition("(")[0])
        if name is not None:
            return addnodes.pending_xref("", refdomain="py", reftype="obj", reftarget=name, **common)
        page = posixpath.splitext(text)[0]
        if text.endswith(".md") and page in self.env.all_docs:
            return addnodes.pending_xref("", refdomain="std", reftype="doc", reftarget=f"/{page}", **common)
        return None


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(LinkNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
