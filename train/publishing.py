"""From a finished run to results that are small enough to keep: figures, summary.csv, and where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mixjax._figures import write_figures
from mixjax._provenance import read_provenance
from mixjax.runs import RunError, read_manifest, write_atomically
from train.running import experiment_of, load_records
from train.summary import summary_csv

__all__ = ["publish"]


def publish(run: Path, folder: Path) -> Path:
    """Write figures with captions, summary.csv and README.md of a run into a folder; returns the README.

    Raises:
      RunError: if the run is not finished or does not say where it comes from, or the folder holds files that are not
        published results.
    """
    experiment, records, spec = experiment_of(run), load_records(run), read_manifest(run)["spec"]
    if folder.exists() and any(folder.iterdir()) and not _is_published(folder):
        raise RunError(f"{folder} holds files that are not published results; choose another folder")
    origin = _origin(run, spec)
    pictures = write_figures(experiment.figures, records, folder / "figures")
    write_atomically(folder / "summary.csv", summary_csv(records).encode())
    summary = f"{experiment.summary[0].upper()}{experiment.summary[1:]}."
    sections = [f"# {experiment.name}", summary, origin]
    for picture in pictures:
        caption = picture.with_suffix(".txt").read_text().strip()
        sections.append(f"![{picture.stem}](figures/{picture.name})\n\n{caption}")
    write_atomically(folder / "README.md", ("\n\n".join(sections) + "\n").encode())
    return folder / "README.md"


def _is_published(folder: Path) -> bool:
    """Whether the README in the folder was written here: it says by which command."""
    try:
        return "\n| command | `" in (folder / "README.md").read_text()
    except (OSError, ValueError):
        return False


def _origin(run: Path, spec: dict[str, Any]) -> str:
    made = read_provenance(run)
    rows = {
        "command": f"`{made['command']}`",
        **_trained_on(run, spec),
        "computing": f"{made['seconds']} s, compilation included; jobs: {made.get('jobs', '')}",
        "machine": f"{made['device']}, {made['cores']} cores, {made['memory_gib']} GiB; "
        f"devices: {made['devices']} {made['platform']}",
        "versions": f"mixjax {made['mixjax']} ({made['commit']}), jax {made['jax']}, jaxlib {made['jaxlib']}, "
        f"Python {made['python']}",
        "table": "`summary.csv`: last epochs, over seeds: mean, 95 % interval (Student's t) and standard deviation; "
        "`A - B` is the difference of arms, seed by seed",
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows.items())])


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
