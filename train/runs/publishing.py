"""Publishing a finished run: figures, summary.csv, and where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mixjax.commands.publishing import origin_table, picture_section, refuse_other_files, write_readme
from mixjax.plots import write_figures
from mixjax.runs import Location, RunError, read_manifest, write_atomically
from mixjax.runs.origin import read_provenance

from ..running import experiment_of, load_records
from .summary import summary_csv

__all__ = ["publish"]


def publish(run: Path, folder: Path) -> Location:
    """Write figures with captions, summary.csv and README.md of a run into a folder; return the README.

    Raises:
      RunError: if the run is not finished or does not say where it comes from, or the folder holds files that are not
        published results.
    """
    experiment, records, spec = experiment_of(run), load_records(run), read_manifest(run)["spec"]
    refuse_other_files(folder)
    origin = _origin(run, spec)
    pictures = write_figures(experiment.figures, records, folder / "figures")
    write_atomically(folder / "summary.csv", summary_csv(records).encode())
    summary = f"{experiment.summary[0].upper()}{experiment.summary[1:]}."
    sections = [f"# {experiment.name}", summary, origin]
    return write_readme(folder, [*sections, *map(picture_section, pictures)])


def _origin(run: Path, spec: dict[str, Any]) -> str:
    made = read_provenance(run)
    table = (
        "`summary.csv`: last epochs, over seeds: mean, 95 % interval (Student's t) and standard deviation; "
        "`A - B` is the difference of arms, seed by seed"
    )
    return origin_table(made, f"; jobs: {made.get('jobs', '')}", {**_trained_on(run, spec), "table": table})


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
        raise RunError(f"{run / 'manifest.json'} does not say on what the nets were trained") from None
