"""Publishing a finished run: figures, summary.csv, and where they come from; redrawing published figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mixjax.commands.publishing import (
    origin_table,
    picture_section,
    refuse_other_files,
    remove_other_pictures,
    write_readme,
)
from mixjax.plots import write_figures
from mixjax.runs import Location, RunError, provenance, read_manifest, write_atomically
from mixjax.runs.csv_rows import read_rows
from mixjax.runs.origin import read_provenance
from mixjax.runs.untrusted import read_text

from ..experiments import EXPERIMENTS, Experiment
from ..running import experiment_of, load_records
from .stored import DamagedSummaryError, Stored, stored_of, whole_rows
from .summary import summary_csv

__all__ = ["publish", "redraw"]

_TEST_ROWS = re.compile(r"and (\d+) test rows")
_REDRAWN = "| figures |"


def publish(run: Path, folder: Path) -> Location:
    """Write figures with captions, summary.csv and README.md of a run into a folder; return the README.

    Raises:
      RunError: if the run is not finished or does not say where it comes from, or the folder holds anything but
        published results of the same experiment.
    """
    experiment, records, spec = experiment_of(run), load_records(run), read_manifest(run)["spec"]
    refuse_other_files(folder, "train", experiment.name)
    origin = _origin(run, spec)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder, experiment, origin, [])  # from here on an interrupted publication may be overwritten
    pictures = write_figures(experiment.figures, stored_of(records), folder / "figures")
    remove_other_pictures(folder / "figures", pictures, (figure.name for figure in experiment.figures))
    write_atomically(folder / "summary.csv", summary_csv(records).encode())
    return _write(folder, experiment, origin, pictures)


def redraw(folder: Path) -> Location:
    """Redraw the figures of a published result, as far as its summary.csv has their numbers; return the README.

    Figures of single epochs and bins need the records of the run: their pictures and captions stay. A figure that the
    folder does not have is not added.

    Raises:
      RunError: if the folder holds no published result of an experiment, or its summary.csv is damaged.
    """
    experiment, origin, stored = _published(folder)
    known = [figure for figure in experiment.figures if (folder / "figures" / f"{figure.name}.png").exists()]
    drawn = write_figures(known, stored, folder / "figures")
    made = provenance()
    note = f"{_REDRAWN} drawn anew from `summary.csv` by mixjax {made['mixjax']} ({made['commit']})"
    kept = [figure.name for figure in known if figure.name not in {picture.stem for picture in drawn}]
    note += f"; of the run itself: {', '.join(kept)}" if kept else ""
    table = [line for line in origin.splitlines() if not line.startswith(_REDRAWN)]
    pictures = [folder / "figures" / f"{figure.name}.png" for figure in known]
    return _write(folder, experiment, "\n".join([*table, f"{note} |"]), pictures)


def _published(folder: Path) -> tuple[Experiment, str, Stored]:
    """Return the experiment, the table of its origin, and what is stored of a published result."""
    path = folder / "summary.csv"
    try:
        text = read_text(folder / "README.md")
        experiment = EXPERIMENTS[text.splitlines()[0].removeprefix("# ")]
        origin = next(part for part in text.split("\n\n") if part.startswith("| | |"))
        test_rows = int(_TEST_ROWS.findall(origin)[0])
        read_rows(path)
        return experiment, origin, Stored(whole_rows(read_text(path)), test_rows, [])
    except DamagedSummaryError as error:
        raise RunError(f"{path}{error}") from None
    except (OSError, ValueError, LookupError, StopIteration):
        raise RunError(f"{folder} holds no published result of {', '.join(EXPERIMENTS)}") from None


def _write(folder: Path, experiment: Experiment, origin: str, pictures: Sequence[Location]) -> Location:
    summary = f"{experiment.summary[0].upper()}{experiment.summary[1:]}."
    return write_readme(folder, [f"# {experiment.name}", summary, origin, *map(picture_section, pictures)])


def _origin(run: Path, spec: dict[str, Any]) -> str:
    made = read_provenance(run)
    table = (
        "`summary.csv`: last epochs, over seeds: mean, 95 % interval (Student's t) and standard deviation; "
        "`A - B` is the difference of arms, seed by seed"
    )
    jobs = str(made.get("jobs", ""))
    jobs = jobs.rpartition(" of ")[2] if "sittings" in made else jobs  # of the last sitting, whose time alone was kept
    return origin_table(made, f"; jobs: {jobs}" if jobs else "", {**_trained_on(run, spec), "table": table})


def _trained_on(run: Path, spec: dict[str, Any]) -> dict[str, str]:
    try:
        data = spec["dataset"]
        return {
            "options": ", ".join(f"{name} = {value}" for name, value in spec["options"].items()),
            "data": f"{data['name']} ({data['source']}): {data['rows'][0]} training and {data['rows'][1]} test rows, "
            f"{data['classes']} classes, SHA-256 {data['sha256'][:16]}...",
            "metrics": ", ".join(f"{name} = {value}" for name, value in spec["metrics"].items()),
        }
    except (LookupError, TypeError, AttributeError):
        raise RunError(f"{run / 'manifest.json'} does not name the training data of the nets") from None
