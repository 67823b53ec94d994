"""How many held-out points a Mixup weight is worth: where temperature scaling has its ECE, with a 95 % interval.

The ECE after temperature scaling falls with the held-out points, and that of Mixup does not see them: their paired
difference rises through 0 once. It is interpolated linearly in the logarithm of held-out points / n. The interval holds
the numbers of points at which a difference of 0 is within 1.96 standard errors.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

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
      NaN where a value is NaN.
    """
    below, count = rising < 0, len(positions)
    leading, trailing = (np.cumprod(part, axis=-1).sum(axis=-1) for part in (below, ~below[..., ::-1]))
    before = count - trailing if last else leading
    right = np.clip(before, 1, count - 1)
    low, high = (np.take_along_axis(rising, index[..., None], axis=-1)[..., 0] for index in (right - 1, right))
    start, end = np.log(positions[right - 1]), np.log(positions[right])
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.exp(start - (end - start) * low / (high - low))
    found = np.where(before == 0, 0.0, np.where(before == count, positions[-1], inside))
    return np.where(np.isnan(rising).any(axis=-1), np.nan, found)


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
