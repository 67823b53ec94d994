"""Verify a stored comparison against exact expectations: the largest |z| over all cells, settings and metrics."""

from __future__ import annotations

import math

import numpy as np
import xarray as xr

from mixjax.runs import RunError

from .grid import Grid
from .studies.comparison import METRICS, expected_variables

LARGEST = 5.0  # a normal z exceeds this with probability 6e-7
# What single precision and quadrature leave in an expectation, measured against double precision for n from 30 to 1e8
# and p from 1 to 8000: at most 1.3e-4 of it, 0.7e-4 of plain error + |difference| in a difference, and 5.3e-6 in all.
# For smaller n it is up to 3.3e-5, where the standard errors are a thousand times that.
TOLERANCE, MOST_TOLERANCE = 1.4e-4, 6e-6


def verifiable(table: xr.Dataset) -> bool:
    """Return whether a table compares plain with Mixup in the Gaussian model, whose expectations are exact."""
    return "theta_norm" in table.dims and all(f"{metric}_difference" in table for metric in METRICS)


def z_scores(table: xr.Dataset) -> xr.Dataset:
    """Return (Monte Carlo mean - expectation) / (standard error + tolerance) of each difference and each plain error.

    The tolerance is the numerical error of the expectation, above; it matters where the standard error is as small,
    and where it is 0. Expectations that the table stores, in double precision, are used.

    Raises:
      RunError: for a run that is not a comparison of plain with Mixup.
    """
    if not verifiable(table):
        raise RunError(f"{table.attrs['study']} has no differences to verify")
    expected = table
    if "ece_difference_expected" not in table:
        expected = xr.Dataset(expected_variables(_grid_of(table), float64=False))
    z = {}
    for metric in METRICS:
        size = abs(expected[f"{metric}_expected"])
        for name, scale in (
            (metric, size),
            (f"{metric}_difference", size + abs(expected[f"{metric}_difference_expected"])),
        ):
            tolerance = np.minimum(TOLERANCE * scale, MOST_TOLERANCE)
            z[name] = (table[name] - expected[f"{name}_expected"]) / (table[f"{name}_se"] + tolerance)
    return xr.Dataset(z)


def _grid_of(table: xr.Dataset) -> Grid:
    """Return the cells and settings of a table, or of a part of one."""
    dims = ("n", "ratio" if "ratio" in table.dims else "p", "theta_norm")
    meshes = xr.broadcast(*(table[name] for name in ("n", "realized_p", "theta_norm")))
    cells = {
        name: mesh.transpose(*dims).values.ravel() for name, mesh in zip(("n", "p", "theta_norm"), meshes, strict=True)
    }
    return Grid({dim: table[dim].values for dim in dims}, cells, {"t": table["t"].values})


def seal_of(digest: str) -> str:
    """Return the last line of verification.txt in a run, which says of which table it is."""
    return f"of dataset.nc, SHA-256 {digest}\n"


def report(table: xr.Dataset) -> tuple[str, bool]:
    """Tabulate the largest |z| beside its expected size; return the text, and whether all are below 5."""
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
