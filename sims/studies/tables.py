"""Described variables and their standard errors, for the tables of all studies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from mixjax.typing import Real

Described = tuple[tuple[str, ...], Any, str]  # dimensions, values, long name


def described(dims: tuple[str, ...], values: Any, long_name: str) -> xr.Variable:
    """Return values without units under a long name."""
    return xr.Variable(dims, np.asarray(values), {"long_name": long_name, "units": "1"})


def described_dataset(
    variables: Mapping[str, Described], coordinates: Mapping[str, Any], **attributes: Real
) -> xr.Dataset:
    """Return a table of described variables."""
    return xr.Dataset({name: described(*parts) for name, parts in variables.items()}, coordinates, attributes)


def standard_error(values: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the standard error of the mean along an axis; NaN is left out and not counted."""
    error: np.ndarray = np.nanstd(values, axis=axis, ddof=1) / np.sqrt(np.isfinite(values).sum(axis=axis))
    return error
