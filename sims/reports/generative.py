"""The findings on learned inverses as tables: what learning costs, and whether Mixup helps."""

from __future__ import annotations

import xarray as xr

from ..figures.generative import BAR


def generative_report(table: xr.Dataset) -> str:
    """Write what learning costs, by rows, and whether Mixup helps, by n."""
    return "\n\n".join([_cost(table), _bar(table), _help(table)])


def _cost(table: xr.Dataset) -> str:
    lines = [
        "Mean ± standard error over training seeds. Excess: ECE with the learned h_hat minus ECE with the exact "
        "inverse on the same training sets, mean over n; delta: of Assumption 3.1; stretch: the largest spectral "
        "norm of a Jacobian.",
        "",
        "| g | rows | excess, plain | excess, Mixup | E\\|delta\\| along theta* | random | E\\|delta\\|² along theta* "
        "| stretch of g | of h_hat | Lipschitz bound of h_hat |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for family in table["family"].values:
        for rows in table["rows"].values:
            row = table.sel(family=family, rows=rows)
            cells = [_with_error(row, "mean_excess", 4, classifier=name, sign="+") for name in row["classifier"].values]
            cells += [_with_error(row, "delta", 4, direction=name) for name in ("along theta*", "random")]
            cells.append(_with_error(row, "delta_square", 4, direction="along theta*"))
            cells += [_with_error(row, "stretch", 2, map=name) for name in ("g", "h_hat")] + [
                _with_error(row, "bound", 1, map="h_hat")
            ]
            lines.append(f"| {family} | {rows:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _bar(table: xr.Dataset) -> str:
    """Write whether both classifiers are within BAR + 3 standard errors of the exact inverse at every n."""
    within = (abs(table["excess"]) <= BAR + 3 * table["excess_se"]).all(["n", "classifier"])
    lines = [f"Within {BAR:g} + 3 standard errors of the exact inverse, both classifiers at every n:", ""]
    lines += ["| g | " + " | ".join(f"{rows:,} rows" for rows in table["rows"].values) + " |"]
    lines += ["|---|" + "---|" * table.sizes["rows"]]
    for family in table["family"].values:
        words = ["yes" if found else "no" for found in within.sel(family=family).values]
        lines.append(f"| {family} | " + " | ".join(words) + " |")
    return "\n".join(lines)


def _help(table: xr.Dataset) -> str:
    rows = int(table["rows"][-1])
    lines = [
        f"ECE(mix) - ECE at weight t = {table.attrs['t']:.3g} with the h_hat of {rows:,} rows, negative where Mixup "
        "helps; exact: with the exact inverse, same training sets.",
        "",
        "| g | | " + " | ".join(f"n = {n}" for n in table["n"].values) + " |",
        "|---|---|" + "---:|" * table.sizes["n"],
    ]
    for family in table["family"].values:
        row = table.sel(family=family, rows=rows)
        for name, text in (("difference", "learned"), ("exact_difference", "exact")):
            cells = [_with_error(row.sel(n=n), name, 4, sign="+") for n in table["n"].values]
            lines.append(f"| {family} | {text} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _with_error(row: xr.Dataset, name: str, digits: int, sign: str = "", **selection: str) -> str:
    value, error = (float(row[part].sel(selection)) for part in (name, f"{name}_se"))
    return f"{value:{sign}.{digits}f} ± {error:.{digits}f}"
