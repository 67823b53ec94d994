"""The findings on real images as tables: how Gaussian the rows are, where the boundary is, and whether signs agree."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr


def real_images_report(table: xr.Dataset) -> str:
    """Write the tables, and where to get what was missing."""
    parts = [_origin(table), _signs(table), _shapes(table), _boundaries(table), table.attrs["missing"]]
    return "\n\n".join(part for part in parts if part)


def _origin(table: xr.Dataset) -> str:
    prints = {data: code for data, code in json.loads(table.attrs["fingerprints"]).items() if code}
    rows = ", ".join(f"{data} {code}" for data, code in prints.items())
    return (
        "Errors are ECE_2 squared, debiased, unless another is named; ± is a standard error that allows for other rows "
        f"(`sims/studies/divisions.py`). Rows: {rows} (the beginning of their SHA-256)."
    )


def signs(table: xr.Dataset, name: str = "square") -> xr.Dataset:
    """Count, for each pair, the cells (p/n and weight) where Definition 3.1 says that Mixup helps or hurts.

    For each: how many there are, in how many the measured difference is two standard errors from 0, and in how many of
    these its sign is the theory's.
    """
    exact = table[f"{name}_difference_exact"]
    measured, error = (table[f"{name}_difference{end}"] for end in ("", "_se"))
    clear = np.abs(measured) > 2.0 * error
    found = {}
    for word, side in (("helps", exact < 0), ("hurts", exact > 0)):
        cells = side & measured.notnull()
        agrees = np.sign(measured) == np.sign(exact)
        for suffix, kept in (("cells", cells), ("clear", cells & clear), ("agree", cells & clear & agrees)):
            found[f"{word}_{suffix}"] = kept.transpose("pair", "rows", "ratio", "mixup").sum(("ratio", "mixup"))
    return xr.Dataset(found)


def _signs(table: xr.Dataset) -> str:
    counts = signs(table)
    lines = ["| rows | Definition 3.1 says | cells | clear | clear, same sign |", "|---|---|---:|---:|---:|"]
    kinds = {"control": "control", "digits": "digits", "fashion_mnist": "Fashion-MNIST"}
    for data, label in kinds.items():
        for rows in table["rows"].values if data != "control" else ["images"]:
            part = counts.sel(rows=rows).isel(pair=(table["data_set"] == data).values).sum("pair")
            name = label if data == "control" else f"{label}, {rows}"
            for word in ("helps", "hurts") if (table["data_set"] == data).any() else ():
                cells, clear, agree = (int(part[f"{word}_{end}"]) for end in ("cells", "clear", "agree"))
                lines.append(f"| {name} | {word} | {cells} | {clear} | {agree} |")
    return "Clear: the measured difference is more than two standard errors from 0.\n\n" + "\n".join(lines)


def _shapes(table: xr.Dataset) -> str:
    head = "| pair | p | \\|θ\\| | accuracy | tr C/p | variance | skewness | kurtosis | p/n | ECE_2 | by Def. 3.1 |"
    lines = [head, "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for pair in table["pair"].values:
        one = table.sel(pair=pair)
        images = one.sel(rows="images")
        first = int(np.flatnonzero(images["square"].notnull().values)[0])
        classes = (
            ", ".join(f"{value:.2f}" for value in one[name].values) for name in ("variance", "skewness", "kurtosis")
        )
        plain, law = (
            float(np.sqrt(max(float(values[first]), 0.0))) for values in (images["square"], one["square_exact"])
        )
        lines.append(
            f"| {pair} | {int(one['p'])} | {float(one['theta_norm']):.2f} ± {float(one['theta_norm_se']):.2f} | "
            f"{float(images['accuracy'][first]):.3f} | {float(one['trace']):.2f} | {' | '.join(classes)} | "
            f"{float(one['p'] / one['n'][first]):.2f} | {plain:.4f} | {law:.4f} |"
        )
    return (
        "Along θ, class by class: variance (1 in the model), skewness and excess kurtosis (0), outwards from the other "
        "class. Accuracy and ECE_2 (the root) are of the plain classifier at the smallest p/n; "
        "ECE_2 is 0 where the debiased square is below 0.\n\n" + "\n".join(lines)
    )


def _boundaries(table: xr.Dataset) -> str:
    lines = ["| pair | t | limit | exact | Gaussian rows | images |", "|---|---:|---:|---:|---:|---:|"]
    for pair in table["pair"].values:
        for position, t in enumerate(table["t"].values):
            one = table.sel(pair=pair).isel(mixup=position)
            limit, exact = (f"{float(one[f'square_critical_{end}']):.3f}" for end in ("limit", "exact"))
            cells = " | ".join(_boundary(one.sel(rows=rows)) for rows in ("Gaussian rows", "images"))
            lines.append(f"| {pair} | {t:.3f} | {limit} | {exact} | {cells} |")
    return (
        "p/n above which Mixup of weight t lowers ECE_2: the limit, Definition 3.1 at these n and p, and measured. A "
        "dash: the measured difference never falls from above 0.\n\n" + "\n".join(lines)
    )


def _boundary(one: xr.Dataset) -> str:
    ratio, error = float(one["square_critical"]), float(one["square_critical_se"])
    if not np.isfinite(ratio):
        return "–"
    return f"{ratio:.3f} ± {error:.3f}" if np.isfinite(error) else f"{ratio:.3f}"
