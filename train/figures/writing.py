"""Pictures and their captions, to files."""

from __future__ import annotations

from pathlib import Path

from mixjax.plots import paper_style
from mixjax.runs import write_atomically
from train.experiments.experiment import Experiment, Records

__all__ = ["write_figures"]


def write_figures(experiment: Experiment, records: Records, folder: Path) -> list[Path]:
    """Draw every figure, NAME.png with its caption in NAME.txt; returns the pictures, the main one first."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in experiment.figures:
        path = folder / f"{figure.name}.png"
        temporary = folder / f".tmp-{figure.name}.png"
        with paper_style():
            figure.draw(records).savefig(temporary)
        temporary.replace(path)
        write_atomically(folder / f"{figure.name}.txt", (figure.caption(records) + "\n").encode())
        written.append(path)
    return written
