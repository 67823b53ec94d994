"""The findings on fits as a table: where Mixup helps each, and what it is worth."""

from __future__ import annotations

import numpy as np
import xarray as xr

from .crossings import last_crossing


def fits_report(table: xr.Dataset) -> str:
    """Write where Mixup helps each fit, and what it is worth at the largest p/n."""
    rows = [
        "# Mixup of the average, of a ridge, and of a logistic fit",
        "",
        "p/n beyond which Mixup helps for good: the limit (up to 20), and the simulation at n = "
        f"{int(table.attrs['n'])} (interpolated, from {float(table['ratio'].min()):g} to "
        f"{float(table['ratio'].max()):g}). Against: cells whose sign differs from that of the average's boundary by "
        "more than three standard errors.",
        "",
        "| fit | \\|theta\\| / sigma | alpha = beta | average's boundary | limit | simulated | against | "
        "ECE at the largest p/n | with Mixup |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for fit in table["fit"].values:
        for theta in table["theta_norm"].values:
            rows += [_row(table.sel(fit=fit, theta_norm=theta, alpha=alpha)) for alpha in table["alpha"].values]
    lost = float(table["not_converged"].max())
    return "\n".join([*rows, "", f"Training sets without a converged fit: at most {lost:.2%} of a cell."])


def _row(cell: xr.Dataset) -> str:
    ratio, change = cell["ratio"].values, cell["change"].values
    order = np.argsort(ratio)
    limit = last_crossing(cell["fine_ratio"].values, cell["change_limit"].values)
    expected = np.where(ratio > float(cell["boundary"]), -1, 1)
    against = int((change * expected < -3 * cell["change_se"].values).sum())
    largest = cell.isel(ratio=int(order[-1]))
    values = [str(cell["fit"].values), f"{float(cell['theta_norm']):g}", f"{float(cell['alpha']):g}"]
    values += [f"{float(cell['boundary']):.3g}", limit, last_crossing(ratio[order], change[order])]
    values += [f"{against} of {len(ratio)}", f"{float(largest['ece_plain']):.4f}", f"{float(largest['ece_mix']):.4f}"]
    return f"| {' | '.join(values)} |"
