"""The bias and spread of every estimator as tables."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ..figures.captions import usual_bins


def estimator_bias_report(table: xr.Dataset) -> str:
    """Write bias and standard deviation of every estimator, law and size, at 15 bins."""
    lines = [
        f"Bias ± standard deviation over samples, {usual_bins(table)} bins; standard errors are in dataset.nc.",
        "",
    ]
    sizes = [f"{int(size):,}" for size in table["size"].values]
    for law in table["law"].values:
        lines += [f"## {law}", "", "| estimator | truth | " + " | ".join(f"N = {size}" for size in sizes) + " |"]
        lines.append("|---|---:|" + "---:|" * len(sizes))
        for name in table["estimator"].values:
            row = table.sel(law=law, estimator=name, bins=usual_bins(table))
            pairs = zip(row["bias"].values, row["sd"].values, strict=True)
            cells = [f"{bias:+.4f} ± {sd:.4f}" if np.isfinite(bias) else "-" for bias, sd in pairs]
            lines.append(f"| {name} | {float(row['truth']):.4f} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)
