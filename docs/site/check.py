"""Check a built site: every internal link leads somewhere, and no page asks the network for anything.

python docs/site/check.py build/site
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src")}
_LOAD = re.compile(r"""(?:url\(|@import)\s*["']?(?:https?:)?//[^"')\s]+""")


class Page(HTMLParser):
    """The anchors of a page, and what it links to and loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif (tag, name) in LOADED and value:
                self.loads.append(value)
            elif (tag, name) == ("a", "href") and value:
                self.links.append(value)


@cache
def page_at(path: Path) -> Page:
    return Page(path.read_text())


def problems(site: Path) -> Iterator[str]:
    """Tell what is wrong with a site, one line each."""
    for path in sorted(site.rglob("*.html")):
        name, page = path.relative_to(site), page_at(path)
        yield from (f"{name} loads {url}" for url in page.loads if urlsplit(url).netloc)
        yield from (f"{name} loads {load}" for load in _LOAD.findall(path.read_text()))
        yield from (f"{name} links to {url}" for url in page.links + page.loads if not _leads_somewhere(path, url))
    for path in sorted(site.rglob("*.css")):
        yield from (f"{path.relative_to(site)} loads {load}" for load in _LOAD.findall(path.read_text()))


def _leads_somewhere(path: Path, url: str) -> bool:
    parts = urlsplit(url)
    if parts.scheme or parts.netloc:
        return True
    target = path.parent / unquote(parts.path) if parts.path else path
    if not target.is_file():
        return False
    return target.suffix != ".html" or not parts.fragment or unquote(parts.fragment) in page_at(target).anchors


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1])))
    print("\n".join(found) or "every link leads somewhere, and nothing is loaded from elsewhere")
    sys.exit(bool(found))
