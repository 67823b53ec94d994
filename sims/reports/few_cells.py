"""The ECE of a comparison of few cells, as a table: of one point, numbers say more than a map."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
import xarray as xr
from scipy.special import stdtrit

from mixjax.gaussian import expected_errors

MOST_LINES = 16
_VARIABLES = [
    *("ece", "ece_mix", "ece_difference", "ece_difference_se"),
    *("ece_mix_better", "ece_mix_better_low", "ece_mix_better_high"),
]
_HEADINGS = ("n", "p", "theta_norm", "Mixup", "ECE", "ECE(mix)", "difference (95 % interval)", "exact",
             "lower in (95 % interval)")  # fmt: skip


def few_cells(table: xr.Dataset) -> str:
    """Return a Markdown table with a line for each cell and Mixup setting; "" for many, or without comparisons.

    Means over training sets with Student's interval, which a single training set does not have; the exact expectation
    of the difference; and the share of training sets in which Mixup lowers the ECE, with Wilson's interval.
    """
    if not {*_VARIABLES, "realized_p", "alpha", "beta", "t"} <= {*table.variables}:
        return ""
    change, across = table["ece_difference"], "p" if "p" in table.dims else "ratio"
    if change.dims != ("n", across, "theta_norm", "mixup") or change.size > MOST_LINES:
        return ""
    reach = float(stdtrit(table.attrs["replicates"] - 1, 0.975))
    rows = table[_VARIABLES].to_dataframe().reset_index().to_dict("records")
    pairs = zip(rows, _expected_differences(rows), strict=True)
    lines = [_HEADINGS, ["---"] * len(_HEADINGS), *(_cells(row, expected, reach) for row, expected in pairs)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _expected_differences(rows: Sequence[Mapping[Any, float]]) -> np.ndarray:
    """Return E[ECE(mix) - ECE] over training sets of each row."""
    n, p, theta_norm, t = (np.array([row[name] for row in rows]) for name in ("n", "realized_p", "theta_norm", "t"))
    weights = np.stack([0 * t, t], axis=1)
    with jax.enable_x64(True):
        errors = expected_errors(n=n[:, None], p=p[:, None], theta_norm=theta_norm[:, None], t=weights)
    return np.diff(np.asarray(errors.ece))[:, 0]


def _cells(row: Mapping[Any, float], expected: float, reach: float) -> list[str]:
    """Return the cells of a line, with two digits of the standard error."""
    error, change = row["ece_difference_se"], row["ece_difference"]
    digits = min(max(1 - math.floor(math.log10(error)), 4), 8) if 0 < error < math.inf else 4
    ends = f" ({change - reach * error:+.{digits}f} to {change + reach * error:+.{digits}f})"
    better = [100 * row[f"ece_mix_better{end}"] for end in ("", "_low", "_high")]
    return [
        f"{row['n']:,.0f}",
        f"{row['realized_p']:,.0f}",
        f"{row['theta_norm']:g}",
        f"Beta({row['alpha']:g}, {row['beta']:g})" if row["alpha"] else "none",
        f"{row['ece']:.{digits}f}",
        f"{row['ece_mix']:.{digits}f}",
        f"{change:+.{digits}f}{ends if math.isfinite(reach * error) else ''}",
        f"{expected:+.{digits}f}",
        "{:.1f} % ({:.1f} to {:.1f} %)".format(*better),
    ]
