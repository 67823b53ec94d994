"""The findings on learned inverses as tables: what learning costs, and whether Mixup helps.

A verdict is given only where the 95 % interval over training seeds allows it; elsewhere it is "undecided".
"""

from __future__ import annotations

import xarray as xr

from ..figures.generative import BAR, half_width


def generative_report(table: xr.Dataset) -> str:
    """Write what learning costs, by rows, and whether Mixup helps, by n."""
    return "\n\n".join([_cost(table), _bar(table), _help(table)])


def _cost(table: xr.Dataset) -> str:
    lines = [
        "Mean ± half of the 95 % interval (Student's t, over training seeds). Excess: ECE with the learned h_hat minus "
        "ECE with the exact inverse on the same training sets, mean over n; delta: of Assumption 3.1; stretch: the "
        "largest spectral norm of a Jacobian.",
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
            cells += [_with_error(row, "stretch", 2, map=name) for name in ("g", "h_hat")]
            cells.append(_with_error(row, "bound", 1, map="h_hat"))
            lines.append(f"| {family} | {rows:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _bar(table: xr.Dataset) -> str:
    """Write whether both classifiers are within BAR of the exact inverse at every n."""
    words = within_bar(table)
    number = table.sizes["n"] * table.sizes["classifier"]
    lines = [
        f"Is the ECE of both classifiers within {BAR:g} of that with the exact inverse at every n? Yes: each of the "
        f"{number} intervals of 95 % is. No: one of {number} intervals that hold together at 95 % (Bonferroni) is "
        "beyond. Undecided: neither.",
        "",
        "| g | " + " | ".join(f"{rows:,} rows" for rows in table["rows"].values) + " |",
        "|---|" + "---|" * table.sizes["rows"],
        *(f"| {family} | {' | '.join(words.sel(family=family).values)} |" for family in table["family"].values),
    ]
    return "\n".join(lines)


def within_bar(table: xr.Dataset) -> xr.DataArray:
    """Return "yes", "no" or "undecided" for each family and number of rows, as `_bar` says."""
    each, size = ["n", "classifier"], abs(table["excess"])
    within = (size + half_width(table, "excess") <= BAR).all(each)
    beyond = (size - half_width(table, "excess", table.sizes["n"] * table.sizes["classifier"]) > BAR).any(each)
    return xr.where(within, "yes", xr.where(beyond, "no", "undecided"))


def _help(table: xr.Dataset) -> str:
    rows = int(table["rows"][-1])
    lines = [
        f"ECE(mix) - ECE at weight t = {table.attrs['t']:.3g} with the h_hat of {rows:,} rows, negative where Mixup "
        "helps; exact: with the exact inverse, same training sets. Undecided: the interval holds 0.",
        "",
        "| g | | " + " | ".join(f"n = {n}" for n in table["n"].values) + " |",
        "|---|---|" + "---:|" * table.sizes["n"],
    ]
    for family in table["family"].values:
        row = table.sel(family=family, rows=rows)
        for name, text in (("difference", "learned"), ("exact_difference", "exact")):
            cells = [_with_verdict(row.sel(n=n), name) for n in table["n"].values]
            lines.append(f"| {family} | {text} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _with_verdict(row: xr.Dataset, name: str) -> str:
    open_ = abs(row[name]) <= half_width(row, name)
    return _with_error(row, name, 4, sign="+") + ", undecided" * bool(open_)


def _with_error(row: xr.Dataset, name: str, digits: int, sign: str = "", **selection: str) -> str:
    value, half = (float(part.sel(selection)) for part in (row[name], half_width(row, name)))
    return f"{value:{sign}.{digits}f} ± {half:.{digits}f}"
