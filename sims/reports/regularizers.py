"""What Mixup buys that weight decay and a temperature do not, in a table."""

from __future__ import annotations

import numpy as np
import xarray as xr

_HELD_OUT = 1000


def regularizers_report(table: xr.Dataset) -> str:
    """Write the best choice of each arm at every (p/n, |theta|), and what Mixup adds to the best weight decay."""
    rows = [
        "# What Mixup buys that weight decay and a temperature do not",
        "",
        "All in the limit. Every choice minimizes the population's NLL: L-BFGS-B in log mu, in the Mixup weight of "
        "alpha = beta and in eps, from the best points of a grid whose ends are the bounds. none, Mixup alone and "
        "smoothing alone have a weak penalty that is not chosen. Scaled: after the best temperature, chosen anew; one "
        f"that is fitted to m held-out points adds 1/(2m) to the NLL, {1 / (2 * _HELD_OUT):g} for {_HELD_OUT}. "
        f"Eigenvalues: 1, or k^-{table.attrs['decay']:g} of mean 1 in {table.attrs['dimension']} dimensions, theta in "
        "equal parts.",
        "",
        *_summary(table),
        "",
        "| eigenvalues | \\|theta\\| | p/n | arm | mu | alpha | eps | NLL | ECE | accuracy | NLL scaled | "
        "accuracy scaled |",
        "|" + "---|" * 12,
    ]
    identity, decaying = _identity(table), _decaying(table)
    for theta in table["theta_norm"].values:
        for ratio in table["ratio"].values:
            cell = identity.sel(theta_norm=theta, ratio=ratio)
            rows += [_row(f"1 | {theta:g} | {ratio:g}", cell.sel(arm=arm)) for arm in table["arm"].values]
    spectrum = f"k^-{table.attrs['decay']:g}"
    for ratio in table["ratio"].values:
        cell = decaying.sel(ratio=ratio)
        rows += [_row(f"{spectrum} | 1 | {ratio:g}", cell.sel(arm=arm)) for arm in table["arm"].values]
    return "\n".join(rows)


def _identity(table: xr.Dataset) -> xr.Dataset:
    return table[[name for name in table if str(name).endswith("_best")]]


def _decaying(table: xr.Dataset) -> xr.Dataset:
    """Return what belongs to the decaying eigenvalues, under the names of the others."""
    names = {name: str(name).removesuffix("_decay") for name in table if str(name).endswith("_best_decay")}
    return table[list(names)].rename(names)


def _summary(table: xr.Dataset) -> list[str]:
    """Return the largest and the median gain in NLL of Mixup on top of the best weight decay, and of its rivals."""
    rows = ["Gain in NLL over the best weight decay alone, over the cells below: largest (median).", ""]
    rows += ["| eigenvalues | added | no temperature | best temperature |", "|---|---|---|---|"]
    for spectrum, cells in (("1", _identity(table)), (f"k^-{table.attrs['decay']:g}", _decaying(table))):
        for arm in ("weight decay, Mixup", "weight decay, smoothing", "all three"):
            rows.append(f"| {spectrum} | {arm} | {' | '.join(_gains(cells, arm))} |")
    return rows


def _gains(cells: xr.Dataset, arm: str) -> list[str]:
    found = []
    for criterion in cells["criterion"].values:
        nll = cells[f"{criterion}_best"].sel(criterion=criterion)
        gain = (nll.sel(arm="weight decay") - nll.sel(arm=arm)).values
        found.append(f"{gain.max():.2g} ({np.median(gain):.2g})")
    return found


def _row(setting: str, cell: xr.Dataset) -> str:
    plain, scaled = cell.sel(criterion="nll"), cell.sel(criterion="nll_scaled")
    values = [setting, str(cell["arm"].values)]
    values += [f"{float(plain[f'{name}_best']):.2g}" for name in ("penalty", "alpha", "smoothing")]
    values += [f"{float(plain[f'{name}_best']):.4f}" for name in ("nll", "ece", "accuracy")]
    values += [f"{float(scaled[f'{name}_best']):.4f}" for name in ("nll_scaled", "accuracy")]
    return f"| {' | '.join(values)} |"
