"""Curves on a finer axis than the points of a slice, so that a line is exact between two points as well.

They are stored beside the points, because figures compute nothing. Each is named NAME_curve, along an axis of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from ..grid import Grid

CURVE_POINTS = 120  # about as many as a column of print can show apart
END = "_curve"


def refined(values: np.ndarray, *, whole: bool = False) -> np.ndarray:
    """Sort the values and put as many more between them, in geometric progression, as make 120."""
    points = np.sort(values)
    parts = -(-CURVE_POINTS // max(len(points) - 1, 1))
    steps = np.arange(parts) / parts
    inner = points[:-1, None] * (points[1:] / points[:-1])[:, None] ** steps
    fine = np.concatenate([inner.ravel(), points])  # the points themselves, to the last digit
    return np.unique(np.rint(fine).astype(np.float32).astype(np.float64) if whole else fine)


def with_curves(table: xr.Dataset, axis: str, fine: Grid, variables: Mapping[str, xr.Variable]) -> xr.Dataset:
    """Add the variables of the finer grid to a table, NAME along `axis` as NAME_curve along `axis`_curve."""
    p, n = (fine.cells[name].reshape(fine.shape)[..., 0] for name in ("p", "n"))
    dims = tuple(name + END if name == axis else name for name in fine.axes)
    coordinates = {axis + END: fine.axes[axis], "realized_ratio" + END: (dims[:2], p / n)}
    renamed = {
        name + END: xr.Variable(
            tuple(dim + END if dim == axis else dim for dim in variable.dims), variable.values, variable.attrs
        )
        for name, variable in variables.items()
    }
    return table.assign_coords(coordinates).assign(renamed)


def without_curves(table: xr.Dataset) -> xr.Dataset:
    """Return the cells and settings alone."""
    return table.drop_dims([dim for dim in table.dims if str(dim).endswith(END)])
