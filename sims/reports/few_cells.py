"""The ECE of a comparison of few cells, as a table: of one point, numbers say more than a map."""

from __future__ import annotations

import math

import xarray as xr

from ..studies.held_out_worth import Z

MOST_CELLS = 8
_VARIABLES = ["ece", "ece_mix", "ece_difference", "ece_difference_se", "ece_mix_better"]


def few_cells(table: xr.Dataset) -> str:
    """Return a Markdown table with a line for each cell and Mixup setting; "" for many, or without comparisons.

    A single training set a cell has no interval.
    """
    if not {*_VARIABLES, "realized_p", "alpha", "beta"} <= {*table.variables}:
        return ""
    change = table["ece_difference"]
    if change.dims != ("n", "ratio", "theta_norm", "mixup") or change.size > MOST_CELLS:
        return ""
    lines = [
        "| n | p | theta_norm | Mixup | ECE | ECE(mix) | difference (95 % interval) | lower in |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in table[_VARIABLES].to_dataframe().reset_index().to_dict("records"):
        change, reach = row["ece_difference"], Z * row["ece_difference_se"]
        interval = f" ({change - reach:+.4f} to {change + reach:+.4f})" if math.isfinite(reach) else ""
        mixup = f"Beta({row['alpha']:g}, {row['beta']:g})" if row["alpha"] else "none"
        lines.append(
            f"| {row['n']:g} | {row['realized_p']:g} | {row['theta_norm']:g} | {mixup} "
            f"| {row['ece']:.4f} | {row['ece_mix']:.4f} | {change:+.4f}{interval} "
            f"| {row['ece_mix_better']:.0%} of training sets |"
        )
    return "\n".join(lines) + "\n"
