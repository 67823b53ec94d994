"""What lies beside the pages: index.html at the top of the site, and the explorer."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

REDIRECT = '<!doctype html><meta charset="utf-8"><title>mixjax</title><meta http-equiv="refresh" content="0; url={0}">'


def write_beside(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        start = app.builder.get_target_uri(app.config.root_doc)
        Path(app.outdir, "index.html").write_text(f'{REDIRECT.format(start)}<a href="{start}">mixjax</a>\n')
        explorer = Path(app.outdir, "docs", "explorer", "index.html")
        explorer.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(app.srcdir, "docs", "explorer", "index.html"), explorer)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", write_beside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
