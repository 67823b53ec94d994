"""How many held-out points a Mixup weight is worth: where temperature scaling has its ECE, with a 95 % interval.

The ECE after temperature scaling falls with the held-out points, and that of Mixup does not see them: their paired
difference rises through 0 once. It is interpolated linearly in the logarithm of held-out points / n. The interval holds
the numbers of points at which a difference of 0 is within 1.96 standard errors.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr

from mixjax.numerics.crossings import crossings

from .tables import described

Z = 1.959963984540054
_WEIGHTS = {"plain": "no Mixup", "mix": "Mixup", "best": "the best weight", "estimated": "the estimated weight"}
_ENDS = {"": "", "_from": ", lower end of the 95 % interval", "_to": ", upper end of the 95 % interval"}


def crossing(positions: np.ndarray, rising: np.ndarray, *, last: bool = False) -> np.ndarray:
    """Return where a series becomes positive, for the first or for the last time.

    Args:
      positions: increasing and positive, [points].
      rising: values there, [..., points].
      last: whether the last crossing is wanted where noise makes several.

    Returns:
      Interpolated positions [...]: 0 where no value before is negative, the last position where none after is positive;
      NaN where a value is NaN or infinite.
    """
    return np.apply_along_axis(partial(_crossing, positions, last), -1, rising)


def _crossing(positions: np.ndarray, last: bool, rising: np.ndarray) -> float:
    if not np.isfinite(rising).all():
        return float("nan")
    found, rises = crossings(np.log(positions), -rising)
    if (rising[-1] < 0) if last else (rising < 0).all():
        return float(positions[-1])
    if (rising >= 0).all() if last else (rising[0] >= 0):
        return 0.0
    return float(np.exp(found[rises][-1 if last else 0]))


def worth_variables(table: xr.Dataset) -> dict[str, xr.Variable]:
    """Return the held-out points / n that each weight of a table of `temperature` is worth, with its interval."""
    ordered = table.sortby("held_out_ratio")
    positions = ordered["held_out_ratio"].values
    variables = {}
    for name, weight in _WEIGHTS.items():
        difference = ordered[f"{name}_difference"].transpose(..., "held_out_ratio")
        error = Z * ordered[f"{name}_difference_se"].transpose(*difference.dims).values
        found = {
            "": crossing(positions, difference.values),
            "_from": crossing(positions, difference.values + error),
            "_to": crossing(positions, difference.values - error, last=True),
        }
        for end, values in found.items():
            label = f"held-out points / n that {weight} is worth{_ENDS[end]}; 0 if fewer than in the run, or its most"
            variables[f"{name}_worth{end}"] = described(tuple(map(str, difference.dims[:-1])), values, label)
    return variables
