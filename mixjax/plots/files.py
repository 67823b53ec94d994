"""Figures of stored results: what one is, and pictures with their captions, to files."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from mixjax.plots.axes import paper_style
from mixjax.runs import Location, write_atomically

Stored = TypeVar("Stored")


@dataclass(frozen=True)
class Figure(Generic[Stored]):
    """A figure to draw of what is stored: its file name, how, and the caption that goes with it."""

    name: str
    draw: Callable[[Stored], Any]
    caption: Callable[[Stored], str]


def write_figures(figures: Iterable[Figure[Stored]], stored: Stored, folder: Location) -> list[Location]:
    """Draw each, NAME.png with its caption in NAME.txt; returns the pictures, the main one first.

    A figure whose `draw` returns None is left out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in figures:
        with paper_style():
            drawn = figure.draw(stored)
            if drawn is None:
                continue
            picture = io.BytesIO()
            drawn.savefig(picture, format="png")
        path = folder / f"{figure.name}.png"
        write_atomically(path, picture.getvalue())
        write_atomically(folder / f"{figure.name}.txt", (figure.caption(stored) + "\n").encode())
        written.append(path)
    return written
