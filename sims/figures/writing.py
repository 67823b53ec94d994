"""Pictures and their captions, to files."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from mixjax.plots import paper_style
from mixjax.runs import write_atomically
from sims.study import Study


def write_figures(study: Study, table: xr.Dataset, folder: Path) -> list[Path]:
    """Draw every figure of a study, NAME.png with its caption in NAME.txt; returns the pictures, the main one first."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in study.figures:
        with paper_style():
            drawn = figure.draw(table)
            if drawn is None:
                continue
            temporary = folder / f".tmp-{figure.name}.png"
            drawn.savefig(temporary)
        path = folder / f"{figure.name}.png"
        temporary.replace(path)
        write_atomically(folder / f"{figure.name}.txt", (figure.caption(table) + "\n").encode())
        written.append(path)
    return written
