"""Publish a finished run: figures, a small table, and their origin."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from mixjax.commands.publishing import (
    origin_table,
    picture_section,
    refuse_other_files,
    remove_other_pictures,
    write_readme,
)
from mixjax.plots import write_figures
from mixjax.runs import Location, write_atomically
from mixjax.runs.origin import read_provenance
from mixjax.runs.untrusted import read_text

from .loading import load, stored_digest
from .studies import STUDIES
from .studies.curves import without_curves
from .study import GridStudy, PiecewiseStudy
from .verification import report, seal_of, verifiable


def publish(run: Location, folder: Location) -> Location:
    """Write figures, captions, tables, verification.txt and README.md of a run into a folder; return the README.

    provenance.json holds the study, its configuration and what made the run, for `reproduce`.

    Raises:
      RunError: if the run is not finished, or the folder holds anything but published results of the same study.
    """
    table = load(run)
    study, points = STUDIES[table.attrs["study"]], without_curves(table)
    refuse_other_files(folder, "sims", study.name)
    origin, text = _origin(run, points), _verification(run, points) if verifiable(table) else ""
    sections = [f"# {study.name}", f"{study.summary[0].upper()}{study.summary[1:]}.", origin]
    folder.mkdir(parents=True, exist_ok=True)
    write_readme(folder, sections)  # from here on an interrupted publication may be overwritten
    pictures = write_figures(study.figures, table, folder / "figures")
    remove_other_pictures(folder / "figures", pictures, (figure.name for figure in study.figures))
    for name, content in tables_of(table).items():
        write_atomically(folder / f"{name}.csv", content.encode())
    write_atomically(folder / "provenance.json", _provenance(run, table).encode())
    if text:
        write_atomically(folder / "verification.txt", text.encode())
        sections.append(f"Against the exact expectations (`verification.txt`):\n\n```\n{text}```")
    if isinstance(study, PiecewiseStudy):
        sections.append(study.report(table))
        for name, text in study.files(table).items():
            write_atomically(folder / name, text.encode())
    return write_readme(folder, [*sections, *map(picture_section, pictures)])


def tables_of(table: xr.Dataset) -> dict[str, str]:
    """Return the CSV files of the table of a run, by name without suffix: one of a grid, one for each set of axes."""
    if isinstance(STUDIES[table.attrs["study"]], PiecewiseStudy):
        return _tables_by_axes(table)
    return {"table": _csv(without_curves(table))}


def _provenance(run: Location, table: xr.Dataset) -> str:
    """Return the study, its configuration, and what made the run."""
    made = {name: value for name, value in read_provenance(run).items() if name != "dataset_sha256"}
    about = {"study": table.attrs["study"], "config": json.loads(table.attrs["config"])}
    return json.dumps(about | made, indent=2) + "\n"


def _verification(run: Location, table: xr.Dataset) -> str:
    """Return what `verify` left in the run, if it is of this very table; or else verify the rows of table.csv."""
    seal = seal_of(stored_digest(run))
    try:
        stored = read_text(run / "verification.txt")
    except (OSError, ValueError):
        stored = ""
    if stored.endswith(seal):
        return stored.removesuffix(seal)
    kept = _kept(table, MOST_CELLS)
    text = report(kept)[0] + "\n"
    return text if kept.sizes == table.sizes else f"{text}on the rows of table.csv; `python -m sims verify` takes all\n"


def _origin(run: Location, table: xr.Dataset) -> str:
    made = read_provenance(run)
    config = json.loads(table.attrs["config"])
    rows = {"axes": ", ".join(f"{name} = {value}" for name, value in config.items() if value is not None)}
    if isinstance(STUDIES[table.attrs["study"]], GridStudy):
        rows["table"] = (
            "`table.csv`: means and standard errors (`_se`) over training sets, a row for each cell and setting"
            + "".join(f"; one of {stride} values of {dim}" for dim, stride in _strides(table, MOST_CELLS).items())
        )
    else:
        strides = {k: v for part in _parts(table).values() for k, v in _strides(part, MOST_ROWS).items()}
        if strides:
            text = ", ".join(f"one of {stride} values of {dim}" for dim, stride in strides.items())
            rows["tables"] = f"{text}, where a table would have more than {MOST_ROWS:,} rows"
    return origin_table(made, _resumed(made), rows)


def _resumed(made: Mapping[str, Any]) -> str:
    """Return which units the time covers, if the run was resumed and its sittings were not counted."""
    units = made.get("units", "")
    computed, _, number = units.partition(" of ")
    return "" if "sittings" in made or computed == number else f", of the last {units} units"


def _strides(table: xr.Dataset, most: int) -> dict[str, int]:
    """Return the stride of each long axis that keeps the table within `most` rows."""
    rows = int(np.prod(list(table.sizes.values())))
    wide = [dim for dim, size in table.sizes.items() if dim != "mixup" and size > 8]
    stride = math.ceil((rows / most) ** (1 / max(len(wide), 1)))
    return {str(dim): stride for dim in wide} if stride > 1 else {}


def _kept(table: xr.Dataset, most: int) -> xr.Dataset:
    return table.isel({dim: slice(None, None, stride) for dim, stride in _strides(table, most).items()})


MOST_CELLS = 4_000  # rows of the table of a grid
MOST_ROWS = 10_000  # of a table of a piecewise study
_FIRST = ("n", "p", "ratio", "theta_norm", "alpha", "beta", "t")
_LEFT_OUT = ("_mix", "_mix_se", "_low", "_high", "_sd", "_limit", "_critical_ratio", "accuracy_se", "realized_ratio")


def _parts(table: xr.Dataset) -> dict[str, xr.Dataset]:
    """Return the variables of each combination of axes, by the names of the axes."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, variable in table.data_vars.items():
        names.setdefault(tuple(map(str, variable.dims)), []).append(str(name))
    return {"-".join(dims): table[group] for dims, group in names.items() if dims}


def _tables_by_axes(table: xr.Dataset) -> dict[str, str]:
    """Return a CSV file for each of `_parts`, without empty rows."""
    frames = {name: _kept(part, MOST_ROWS).to_dataframe()[[*part.data_vars]] for name, part in _parts(table).items()}
    return {name: frame.dropna(how="all").to_csv(float_format="%.6g") for name, frame in frames.items()}


def _csv(table: xr.Dataset) -> str:
    """Return the columns that follow from no other column or formula, to four digits."""
    flat = _kept(table, MOST_CELLS).reset_coords()
    flat = flat.drop_vars([name for name in flat if str(name).endswith(_LEFT_OUT)])
    if "p" not in flat.coords:
        flat = flat.rename(realized_p="p")
    frame = flat.to_dataframe().reset_index()
    first = [name for name in _FIRST if name in frame]
    rest = [name for name in frame if name not in (*first, "mixup")]
    return frame[[*first, *rest]].to_csv(index=False, float_format="%.4g")
