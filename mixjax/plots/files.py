"""Figures of stored results, and their files: pictures with captions."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from mixjax.plots.style import paper_style
from mixjax.runs import Location, write_atomically

Stored = TypeVar("Stored")
_UNDATED: dict[str, dict[str, None]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}  # the same file again


@dataclass(frozen=True)
class Figure(Generic[Stored]):
    """A figure to draw from stored results.

    Attributes:
      name: of its file.
      draw: stored -> a figure of matplotlib, or None to leave it out.
      caption: stored -> the text that goes with it.

    Example:
      >>> from mixjax.plots import Figure, panels
      >>> Figure("empty", lambda stored: panels(1, 1, height=2)[0], str).caption("A caption.")
      'A caption.'
    """

    name: str
    draw: Callable[[Stored], Any]
    caption: Callable[[Stored], str]


def write_figures(
    figures: Iterable[Figure[Stored]], stored: Stored, folder: Location, *, formats: Sequence[str] = ("png",)
) -> list[Location]:
    """Draw each figure, and write NAME.FORMAT with its caption in NAME.txt.

    Args:
      figures: in order; one whose `draw` returns None is left out.
      stored: the results that they draw.
      folder: to write into; created if missing.
      formats: endings that matplotlib knows: "png", "pdf", "svg".

    Returns:
      The pictures, those of the first figure first.

    Example:
      >>> import pathlib, tempfile
      >>> from mixjax.plots import Figure, panels, write_figures
      >>> figure = Figure("empty", lambda stored: panels(1, 1, height=1)[0], str)
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     [path.name for path in write_figures([figure], "A caption.", pathlib.Path(folder), formats=("svg",))]
      ['empty.svg']
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in figures:
        with paper_style():
            drawn = figure.draw(stored)
            if drawn is None:
                continue
            for ending in formats:
                picture = io.BytesIO()
                drawn.savefig(picture, format=ending, metadata=_UNDATED.get(ending))
                written.append(folder / f"{figure.name}.{ending}")
                write_atomically(written[-1], picture.getvalue())
        write_atomically(folder / f"{figure.name}.txt", (figure.caption(stored) + "\n").encode())
    return written
