"""Where a measured difference of errors changes its sign along p/n, with a standard error, beside the theory's place."""

from __future__ import annotations

import numpy as np
import xarray as xr

from mixjax.gaussian import critical_ratio
from sims.engine import HostArrays

NORMS = {"ece": 1, "square": 2}


def crossing(ratios: np.ndarray, differences: np.ndarray) -> np.ndarray:
    """The largest ratio at which differences [ratios, ...] go from above 0 to below, straight in log(ratio) between points.

    NaN where they never do, and NaN differences are left out.
    """
    flat = differences.reshape(len(ratios), -1)
    return np.array([_crossing(ratios, column) for column in flat.T]).reshape(differences.shape[1:])


def _crossing(ratios: np.ndarray, values: np.ndarray) -> float:
    kept = np.isfinite(values)
    place, values = np.log(ratios[kept]), values[kept]
    change = np.flatnonzero((values[:-1] > 0) & (values[1:] <= 0))
    if not len(change):
        return float("nan")
    k = change[-1]
    return float(np.exp(place[k] + (place[k + 1] - place[k]) * values[k] / (values[k] - values[k + 1])))


def jackknifed(ratios: np.ndarray, parts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The crossing of the mean of parts [divisions, ratios, ...], and its jackknife standard error over divisions.

    The error is NaN where leaving a division out leaves no crossing.
    """
    count, total = len(parts), parts.sum(axis=0)
    without = np.array([crossing(ratios, (total - part) / (count - 1)) for part in parts])
    spread = ((without - without.mean(axis=0)) ** 2).sum(axis=0)
    return crossing(ratios, total / count), np.sqrt((count - 1) / count * spread)


def boundary_variables(table: xr.Dataset, found: list[HostArrays]) -> dict[str, xr.Variable]:
    """p/n beyond which Mixup lowers each error: measured, of the exact law at this p, and of its limit."""
    dims, variables = ("pair", "rows", "mixup"), {}
    theta_norm, t = table["theta_norm"].values.astype(np.float32), table["t"].values.astype(np.float32)
    realised = [float(p) / piece["n"] for p, piece in zip(table["p"].values, found, strict=True)]
    for name, norm in NORMS.items():
        text = f"p/n above which Mixup lowers the {'ECE' if norm == 1 else 'ECE_2'}"
        measured = [
            jackknifed(ratios, np.moveaxis(piece[name][..., 1:] - piece[name][..., :1], 1, 2))
            for ratios, piece in zip(realised, found, strict=True)
        ]
        exact = [
            crossing(ratios, piece[f"exact_{name}"][:, 1:] - piece[f"exact_{name}"][:, :1])
            for ratios, piece in zip(realised, found, strict=True)
        ]
        limit = np.asarray(critical_ratio(theta_norm[:, None], t[None], norm=norm), np.float64)
        parts = {
            "": (dims, np.stack([place for place, _ in measured]), ""),
            "_se": (dims, np.stack([error for _, error in measured]), ", standard error"),
            "_exact": (dims[::2], np.stack(exact), ", exact law of Definition 3.1 at this p"),
            "_limit": (dims[::2], limit, ", its limit"),
        }
        for suffix, (where, values, end) in parts.items():
            variables[f"{name}_critical{suffix}"] = xr.Variable(where, values, {"long_name": text + end, "units": "1"})
    return variables
