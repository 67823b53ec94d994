"""Pictures and their captions, to files."""

from __future__ import annotations

import io

import xarray as xr

from mixjax.plots import paper_style
from mixjax.runs import Location, write_atomically
from sims.study import Study


def write_figures(study: Study, table: xr.Dataset, folder: Location) -> list[Location]:
    """Draw every figure of a study, NAME.png with its caption in NAME.txt; returns the pictures, the main one first."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in study.figures:
        with paper_style():
            drawn = figure.draw(table)
            if drawn is None:
                continue
            picture = io.BytesIO()
            drawn.savefig(picture, format="png")
        path = folder / f"{figure.name}.png"
        write_atomically(path, picture.getvalue())
        write_atomically(folder / f"{figure.name}.txt", (figure.caption(table) + "\n").encode())
        written.append(path)
    return written
