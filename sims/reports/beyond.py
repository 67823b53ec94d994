"""The findings beyond the paper as tables: how many pairs are enough, and which unequal or K classes Mixup helps."""

from __future__ import annotations

import numpy as np
import xarray as xr

from .crossings import last_crossing


def beyond_report(table: xr.Dataset) -> str:
    """Write the three tables."""
    head = "# Finitely many pairs, unequal classes, and more than two"
    return "\n".join([head, "", *_pairs_rows(table), "", *_unequal_rows(table), "", *_class_rows(table)])


def _pairs_rows(table: xr.Dataset) -> list[str]:
    rows = [
        "Pairs / n in the limit from which Mixup with random pairs beats no Mixup, and from which its ECE is within "
        "10 % of ECE(no Mixup) of that of the expectation over pairs.",
        "",
        "| alpha = beta | \\|theta\\| / sigma | p/n | beats no Mixup from | within 10 % from | ECE, no Mixup | "
        "expectation | one epoch |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for alpha in table["alpha"].values:
        for theta in table["theta_norm"].values:
            for ratio in table["ratio"].values:
                rows.append(_pairs_row(table.sel(alpha=alpha, theta_norm=theta, ratio=ratio)))
    return rows


def _pairs_row(cell: xr.Dataset) -> str:
    plain, expectation = float(cell["ece_plain_limit"]), float(cell["ece_expectation_limit"])
    curve, epochs = cell["ece_pairs_limit"].values, cell["fine_epochs"].values
    beats = last_crossing(epochs, curve - plain)
    near = last_crossing(epochs, np.abs(curve - expectation) - 0.1 * plain)
    one = float(np.interp(0.0, np.log(epochs), curve))
    values = (f"{float(cell[name]):g}" for name in ("alpha", "theta_norm", "ratio"))
    return f"| {' | '.join([*values, beats, near, f'{plain:.4f}', f'{expectation:.4f}', f'{one:.4f}'])} |"


def _unequal_rows(table: xr.Dataset) -> list[str]:
    rows = [
        "p/n in the limit beyond which Mixup helps with unequal classes, up to 10.",
        "",
        f"| P(y = +1) | {' | '.join(map(str, table['error'].values))} |",
        "|---" * (1 + table.sizes["error"]) + "|",
    ]
    for rate in table["positive_rate"].values:
        found = [
            last_crossing(table["fine_ratio"].values, table["change_limit"].sel(positive_rate=rate, error=e).values)
            for e in table["error"].values
        ]
        rows.append(f"| {rate:g} | {' | '.join(found)} |")
    return rows


def _class_rows(table: xr.Dataset) -> list[str]:
    rows = [
        "p/n in the limit beyond which Mixup helps with K classes, and ECE at p/n = 1: of the predicted class, and "
        "class-wise.",
        "",
        "| K | helps beyond | ECE, no Mixup | Mixup | class-wise: helps beyond | ECE, no Mixup | Mixup |",
        "|---|---|---|---|---|---|---|",
    ]
    for count in table["classes"].values:
        cells = []
        for kind in table["kind"].values:
            row = table.sel(classes=count, kind=kind)
            cells.append(last_crossing(row["class_ratio"].values, (row["classes_mix"] - row["classes_plain"]).values))
            at_one = row.sel(class_ratio=1, method="nearest")
            cells += [f"{float(at_one[f'classes_{name}']):.4f}" for name in ("plain", "mix")]
        rows.append(f"| {count} | {' | '.join(cells)} |")
    return rows
