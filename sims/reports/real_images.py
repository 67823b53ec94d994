"""The findings on real images as tables: how Gaussian the rows are, where the boundary is, and whether signs agree."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr

ENDS = ("cells", "clear", "agree")

NAMES = {"control": "control", "digits": "digits", "fashion_mnist": "Fashion-MNIST"}


def real_images_report(table: xr.Dataset) -> str:
    """Write the tables, and where to get what was missing."""
    tables = (_origin, _signs, _sides, _shapes, _boundaries)
    parts = [*(written(table) for written in tables), table.attrs["missing"]]
    return "\n\n".join(part for part in parts if part)


def _origin(table: xr.Dataset) -> str:
    prints = {data: code for data, code in json.loads(table.attrs["fingerprints"]).items() if code}
    rows = ", ".join(f"{data} {code}" for data, code in prints.items())
    return (
        "Errors are ECE_2 squared, debiased, unless another is named. What follows ±, and two numbers in brackets, are "
        "a 95 % interval for other rows of the same kind (Student's t): of images over the divisions of their rows, "
        f"with the correction of Nadeau and Bengio (`sims/studies/divisions.py`){_claimed(table)}. "
        f"Rows: {rows} (the beginning of their SHA-256)."
    )


def _claimed(table: xr.Dataset) -> str:
    known = table.isel(pair=table["row_sets"].values > 1)
    parts = [f"{float(known['square_claimed'].sel(pair=pair)):.2f} ({pair})" for pair in known["pair"].values]
    text = (
        f"; of controls over {int(table['row_sets'].max())} independent row sets of each. There the standard error "
        "that the correction would claim is this multiple of the spread over row sets"
    )
    return f"{text}: {', '.join(parts)}" if parts else ""


def signs(table: xr.Dataset, name: str = "square") -> xr.Dataset:
    """Count, for each pair, the cells (p/n and weight) where Definition 3.1 says that Mixup helps or hurts.

    For each: how many there are, in how many the 95 % interval of the measured difference is without 0, and in how many
    of these its sign is the theory's.
    """
    exact = table[f"{name}_difference_exact"]
    measured, error = (table[f"{name}_difference{end}"] for end in ("", "_se"))
    clear = np.abs(measured) > table["half_width"] * error
    found = {}
    for word, side in (("helps", exact < 0), ("hurts", exact > 0)):
        cells = side & measured.notnull()
        agrees = np.sign(measured) == np.sign(exact)
        for suffix, kept in (("cells", cells), ("clear", cells & clear), ("agree", cells & clear & agrees)):
            found[f"{word}_{suffix}"] = kept.transpose("pair", "rows", "ratio", "mixup").sum(("ratio", "mixup"))
    return xr.Dataset(found)


def _signs(table: xr.Dataset) -> str:
    """Write a line for each pair and kind of rows, and the sums of each data set."""
    counts = signs(table)
    lines = ["| | \\|θ\\| | rows | helps: cells | clear | same sign | hurts: cells | clear | same sign |",
             "|---|---:|---|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    for data, label in NAMES.items():
        of_data = (table["data_set"] == data).values
        for rows in table["rows"].values if of_data.any() else ():
            part = counts.sel(rows=rows).isel(pair=of_data)
            for pair in part["pair"].values:
                theta_norm = float(table["theta_norm"].sel(pair=pair))
                lines.append(_counted(part.sel(pair=pair), f"{pair} | {theta_norm:.2f} | {rows}"))
            lines.append(_counted(part.sum("pair"), f"**all: {label}** | | {rows}"))
    return (
        "Cells are values of p/n and weights where Definition 3.1 says that Mixup helps, or hurts. Clear: the 95 % "
        "interval of the measured difference is without 0. Same sign: clear, with the sign of Definition 3.1. Rows of "
        "a control are called images too.\n\n" + "\n".join(lines)
    )


def _counted(counts: xr.Dataset, label: str) -> str:
    numbers = " | ".join(str(int(counts[f"{word}_{end}"])) for word in ("helps", "hurts") for end in ENDS)
    return f"| {label} | {numbers} |"


def _sides(table: xr.Dataset) -> str:
    lines = ["| pair | t | helps: exact | images | Gaussian rows | hurts: exact | images | Gaussian rows |",
             "|---|---:|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    for pair in table["pair"].values:
        for position, t in enumerate(table["t"].values):
            one = table.sel(pair=pair).isel(mixup=position)
            cells = " | ".join(_side(one.sel(side=side)) for side in ("helps", "hurts"))
            lines.append(f"| {pair} | {t:.3f} | {cells} |")
    return (
        "Mixup minus plain, times 1,000, averaged over those p/n of the grid that have training sets and where "
        "Definition 3.1 says that Mixup helps, or hurts: by the exact law and measured.\n\n" + "\n".join(lines)
    )


def _side(one: xr.Dataset) -> str:
    half = one["half_width"] * one["square_side_se"]
    measured = [
        f"{1e3 * float(one['square_side'].sel(rows=rows)):+.2f} ± {1e3 * float(half.sel(rows=rows)):.2f}"
        for rows in ("images", "Gaussian rows")
    ]
    law = f"{1e3 * float(one['square_side_exact']):+.2f}"
    return "– | – | –" if "nan" in law else " | ".join([law, *measured])


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
        theta_norm = f"{float(one['theta_norm']):.2f} ± {float(one['half_width'] * one['theta_norm_se']):.2f}"
        lines.append(
            f"| {pair} | {int(one['p'])} | {theta_norm} | {float(images['accuracy'][first]):.3f} | "
            f"{float(one['trace']):.2f} | {' | '.join(classes)} | {float(one['p'] / one['n'][first]):.2f} | "
            f"{plain:.4f} | {law:.4f} |"
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
        "p/n above which Mixup of weight t lowers ECE_2: the limit, Definition 3.1 at these n and p, and measured, "
        "with a 95 % interval of its logarithm (none where one division decides). A dash: the measured difference "
        "never falls from above 0.\n\n" + "\n".join(lines)
    )


def _boundary(one: xr.Dataset) -> str:
    ratio, low, high = (float(value) for value in boundary_interval(one))
    if not np.isfinite(ratio):
        return "–"
    return f"{ratio:.3f} ({low:.3f} to {high:.3f})" if np.isfinite(low) else f"{ratio:.3f}"


def boundary_interval(table: xr.Dataset, name: str = "square") -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """Return the measured boundary and the ends of its 95 % interval, which is one of its logarithm; NaN for none."""
    ratio = table[f"{name}_critical"]
    width = np.exp(table["half_width"] * table[f"{name}_critical_se"] / ratio)
    return ratio, ratio / width, ratio * width
