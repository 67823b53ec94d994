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
        "All in the limit; every choice is the best for the population's NLL. none: the weakest penalty that was "
        "tried, which Mixup alone and smoothing alone have too. Scaled: after the best temperature, chosen anew; one "
        f"that is fitted to m held-out points adds 1/(2m) to the NLL, {1 / (2 * _HELD_OUT):g} for {_HELD_OUT}.",
        "",
        *_summary(table),
        "",
        "| \\|theta\\| | p/n | arm | mu | alpha | eps | NLL | ECE | accuracy | NLL scaled | accuracy scaled |",
        "|" + "---|" * 11,
    ]
    for theta in table["theta_norm"].values:
        for ratio in table["ratio"].values:
            rows += [_row(table.sel(theta_norm=theta, ratio=ratio, arm=arm)) for arm in table["arm"].values]
    return "\n".join(rows)


def _summary(table: xr.Dataset) -> list[str]:
    """Return the largest and the median gain in NLL of Mixup on top of the best weight decay, and of its rivals."""
    rows = ["Gain in NLL over the best weight decay alone, over the cells below: largest (median).", ""]
    rows += ["| added | no temperature | best temperature |", "|---|---|---|"]
    for arm in ("weight decay, Mixup", "weight decay, smoothing", "all three"):
        gains = []
        for criterion in table["criterion"].values:
            nll = table[f"{criterion}_best"].sel(criterion=criterion)
            gain = (nll.sel(arm="weight decay") - nll.sel(arm=arm)).values
            gains.append(f"{gain.max():.2g} ({np.median(gain):.2g})")
        rows.append(f"| {arm} | {' | '.join(gains)} |")
    return rows


def _row(cell: xr.Dataset) -> str:
    plain, scaled = cell.sel(criterion="nll"), cell.sel(criterion="nll_scaled")
    values = [f"{float(cell[name]):g}" for name in ("theta_norm", "ratio")] + [str(cell["arm"].values)]
    values += [f"{float(plain[f'{name}_best']):.2g}" for name in ("penalty", "alpha", "smoothing")]
    values += [f"{float(plain[f'{name}_best']):.4f}" for name in ("nll", "ece", "accuracy")]
    values += [f"{float(scaled[f'{name}_best']):.4f}" for name in ("nll_scaled", "accuracy")]
    return f"| {' | '.join(values)} |"
