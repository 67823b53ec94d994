"""A stored phase diagram against the noise-free expectations: largest |z| over all cells, settings and metrics."""

from __future__ import annotations

import json
import math

import numpy as np
import xarray as xr

from mixjax.runs import RunError
from sims.studies import STUDIES
from sims.studies.comparison import METRICS, expected_variables

LARGEST = 5.0  # a normal z exceeds this with probability 6e-7


def z_scores(table: xr.Dataset) -> xr.Dataset:
    """(Monte Carlo mean - expectation) / standard error of each difference and each plain error.

    Raises:
      RunError: for a run that is not a comparison of plain with Mixup.
    """
    study = STUDIES[table.attrs["study"]]
    if "ece_difference" not in table:
        raise RunError(f"{study.name} has no differences to verify")
    grid = study.grid(study.config(**json.loads(table.attrs["config"])))
    expected = xr.Dataset(expected_variables(grid, float64=False))
    names = [name for metric in METRICS for name in (metric, f"{metric}_difference")]
    z = {}
    for name in names:
        error = table[f"{name}_se"].where(table[f"{name}_se"] > 0)
        z[name] = (table[name] - expected[f"{name}_expected"]) / error
    return xr.Dataset(z)


def report(table: xr.Dataset) -> tuple[str, bool]:
    """A table of the largest |z| and its expected size if all is right, and whether all are below 5."""
    lines = ["quantity           cells x settings   largest |z|   of as many normals   mean z   sd z"]
    largest = 0.0
    for name, z in z_scores(table).items():
        values = z.values[np.isfinite(z.values)]
        if values.size == 0:
            continue
        top = float(np.abs(values).max())
        largest = max(largest, top)
        typical = math.sqrt(2 * math.log(2 * max(values.size, 2)))
        lines.append(
            f"{name:18} {values.size:16d} {top:13.2f} {typical:20.2f} {values.mean():8.3f} {values.std():6.3f}"
        )
    agrees = largest < LARGEST
    verdict = "agrees with" if agrees else "DIFFERS from"
    lines.append(f"largest |z| = {largest:.2f}: {verdict} the exact expectations (limit {LARGEST:g})")
    return "\n".join(lines), agrees
