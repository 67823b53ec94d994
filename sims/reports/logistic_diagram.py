"""The phase diagram of the logistic fit as a table: on what share of the map Mixup helps, and what simulation says."""

from __future__ import annotations

import numpy as np
import xarray as xr

_BETTER = {"ece": ("lower ECE", -1), "accuracy": ("higher accuracy", 1), "nll": ("lower NLL", -1)}  # and its sign


def logistic_diagram_report(table: xr.Dataset) -> str:
    """Write the share of the map where Mixup helps, by measure, and how literal fits agree with the limit."""
    rows = [
        "# Where Mixup helps a penalized logistic fit",
        "",
        f"Share of the map (p/n from {_range(table['ratio'])} and |theta| from {_range(table['theta_norm'])}, equal in "
        "their logarithms) where Mixup does better than the same fit without it, in the limit; a share depends on the "
        "map that is chosen. After the best temperature only the accuracy is left. Last column: simulated points whose "
        "change of the ECE has the sign of the limit, of those that are more than three standard errors from 0.",
        "",
        f"| mu | alpha = beta | {' | '.join(words for words, _ in _BETTER.values())} | signs as in the limit |",
        "|" + "---|" * (len(_BETTER) + 3),
    ]
    for penalty in table["penalty"].values:
        rows += [_row(table.sel(penalty=penalty, alpha=alpha)) for alpha in table["alpha"].values]
    unsolved = int(np.isnan(table["ece_mix"]).sum() + np.isnan(table["ece"]).sum())
    return "\n".join([*rows, "", f"Cells of the limit without a solution: {unsolved}."])


def _range(axis: xr.DataArray) -> str:
    return f"{float(axis.min()):g} to {float(axis.max()):g}"


def _row(cell: xr.Dataset) -> str:
    values = [f"{float(cell['penalty']):g}", f"{float(cell['alpha']):g}"]
    for name, (_, sign) in _BETTER.items():
        values.append(f"{float((sign * (cell[f'{name}_mix'] - cell[name]) > 0).mean()):.0%}")
    limit, change, error = (cell[f"ece_change_{name}"] for name in ("limit", "fitted", "fitted_se"))
    clear = np.abs(change) > 3 * error
    right = int((clear & (np.sign(change) == np.sign(limit))).sum())
    return f"| {' | '.join([*values, f'{right} of {int(clear.sum())}'])} |"
