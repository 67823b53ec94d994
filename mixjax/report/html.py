"""HTML pages that stand alone: pictures inline, no script, nothing to fetch.

The policy in the head of a page forbids a browser to load anything else.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 60rem; margin: 2rem auto;
  padding: 0 1.25rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem; }
p, figcaption { max-width: 46rem; }
figure { margin: 1rem 0; }
figcaption, .quiet { color: #555; font-size: .875rem; }
img { display: block; width: 58rem; max-width: 100%; height: auto; }
img.column { width: 32rem; }
th:first-child, td:first-child { white-space: nowrap; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5rem 0; }
th, td { padding: .3rem .9rem .3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid #ddd; }
th { font-weight: 600; border-bottom-color: #888; }
.number { text-align: right; white-space: nowrap; }
td.quiet { white-space: normal; }
@media print { body { margin: 0; } h2 { break-after: avoid; } figure, tr { break-inside: avoid; } }
"""
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def html_page(title: str, parts: Iterable[str]) -> str:
    """Return a whole page of these parts, which are HTML; the title is text."""
    body = "\n".join(parts)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def html_table(headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int]) -> str:
    """Return a table of escaped text; the columns `numbers` are aligned to the right."""
    numeric = set(numbers)

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{' class=number' if column in numeric else ''}>{escape(cell)}</{tag}>"
            for column, cell in enumerate(row)
        )

    body = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = f"<thead><tr>{cells('th', headings)}</tr></thead>\n" if headings else ""
    return f'<div class="scroll"><table>\n{head}<tbody>\n{body}\n</tbody></table></div>'


def html_picture(what: str, svg: bytes, caption: str, kind: str = "column") -> str:
    """Return a figure with its picture inline; `kind` is "column" or "wide"."""
    data = base64.b64encode(svg).decode()
    image = f'<img class="{kind}" alt="{escape(what)}" src="data:image/svg+xml;base64,{data}">'
    return f"<figure>\n{image}\n<figcaption>{escape(caption)}</figcaption>\n</figure>"
