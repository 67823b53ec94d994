"""The findings on predicted fits as tables: how near, whose signs are right, and what tells where it fails."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

NEAR = 0.03  # of the signed gap
CLEAR = 3.0  # standard errors
_THEORIES = {
    "predicted": "this prediction",
    "whitened": "averaging classifier, whitened rows",
    "unwhitened": "averaging classifier, these rows",
}
_CHANGES = {"signed": "signed gap", "ece": "ECE"}


def real_fits_report(table: xr.Dataset) -> str:
    """Write the counts, over all cells and along every axis, and the diagnostics."""
    parts = [_origin(table), _near(table), _signs(table), _pairs(table), _ranks(table), _others(table), _worst(table)]
    return "\n\n".join(parts)


def misses(table: xr.Dataset) -> xr.DataArray:
    """Return |predicted - measured| signed gap of each cell; NaN where nothing is measured."""
    miss: xr.DataArray = abs(table["signed_predicted"] - table["signed"])
    return miss


def share_near(table: xr.Dataset) -> tuple[int, int]:
    """Count the cells whose signed gap is predicted to NEAR, and all that are measured."""
    miss = misses(table)
    return int((miss <= NEAR).sum()), int(miss.notnull().sum())


def confident_sides(table: xr.Dataset) -> tuple[int, int]:
    """Count the cells that are clearly over- or under-confident, and those of them that are predicted to be."""
    gap = table["signed"]
    clear = abs(gap) > CLEAR * table["signed_se"]
    return int((clear & (np.sign(gap) == np.sign(table["signed_predicted"]))).sum()), int(clear.sum())


def signs(table: xr.Dataset, name: str, theory: str) -> tuple[int, int]:
    """Count the Mixup cells with a clear change whose sign a theory has, and all with a clear change.

    Args:
      table: of the study.
      name: "signed" or "ece".
      theory: "predicted", "whitened" or "unwhitened".
    """
    mixed = table.isel(fit=(table["alpha"] > 0).values)
    change, said = mixed[f"{name}_change"], mixed[f"{name}_change_{theory}"]
    clear = abs(change) > CLEAR * mixed[f"{name}_change_se"]
    return int((clear & (np.sign(change) == np.sign(said))).sum()), int(clear.sum())


def share_and_error(counts: Iterable[tuple[int, int]]) -> tuple[float, float]:
    """Return the share of all pairs of classes together, and its standard error by leaving out one pair at a time.

    Cells of one pair have the same images, so that they count as one draw. NaN without two pairs that have cells.
    """
    parts = np.array([part for part in counts if part[1] > 0], float).reshape(-1, 2)
    total = parts.sum(axis=0)
    if len(parts) < 2:
        return (float(total[0] / total[1]) if total[1] else float("nan")), float("nan")
    without = (total - parts)[:, 0] / (total - parts)[:, 1]
    return float(total[0] / total[1]), float(np.sqrt((len(parts) - 1) * without.var()))


def _origin(table: xr.Dataset) -> str:
    prints = ", ".join(f"{data} {code}" for data, code in json.loads(table.attrs["fingerprints"]).items())
    lost = np.isnan(table["signed"]) & (table["sets"] > 0)
    return (
        f"Signed gap: mean confidence - accuracy. Near: within {NEAR:g}. Clear: a change by Mixup of more than "
        f"{CLEAR:g} standard errors (paired, over {sets_text(table)} training sets). ± is one standard error over "
        f"pairs of classes, by leaving out one at a time. Cells without a converged fit: {int(lost.sum())}. Rows: "
        f"{prints} (the beginning of their SHA-256)."
    )


def sets_text(table: xr.Dataset) -> str:
    """Write how many training sets the cells have, from the fewest to the most."""
    sets = table["sets"].values[table["sets"].values > 0]
    return " to ".join(dict.fromkeys(f"{end}" for end in (sets.min(), sets.max()))) if sets.size else "no"


def _by_pair(table: xr.Dataset) -> list[xr.Dataset]:
    return [table.sel(pair=[pair]) for pair in table["pair"].values]


def _with_share(counts: list[tuple[int, int]]) -> str:
    right, number = (sum(part) for part in zip(*counts, strict=True))
    share, error = share_and_error(counts)
    within = f" ± {100 * error:.1f}" if error > 0 else ""  # where none is wrong, the spread over pairs says nothing
    return f"{right} of {number} ({100 * share:.1f}{within} %)" if number else "0 of 0"


def _near(table: xr.Dataset) -> str:
    counts, miss = [share_near(one) for one in _by_pair(table)], misses(table)
    mean = float((table["signed_predicted"] - table["signed"]).mean())
    return (
        f"**Signed gap near: {_with_share(counts)}.** The median of |predicted - measured| is "
        f"{float(miss.median()):.4f}, its 90 % quantile {float(miss.quantile(0.9)):.4f}, its largest "
        f"{float(miss.max()):.3f}; predicted - measured is {mean:+.4f} on average. Over- or under-confident, where the "
        f"signed gap is more than {CLEAR:g} standard errors from 0: right in "
        f"{_with_share([confident_sides(one) for one in _by_pair(table)])}."
    )


def _signs(table: xr.Dataset) -> str:
    lines = ["| sign of the change by Mixup | signed gap | ECE |", "|---|---:|---:|"]
    for theory, words in _THEORIES.items():
        cells = (_with_share([signs(one, name, theory) for one in _by_pair(table)]) for name in _CHANGES)
        lines.append(f"| {words} | {' | '.join(cells)} |")
    mixed = table.isel(fit=(table["alpha"] > 0).values)
    down = xr.full_like(mixed["signed_change"], -1.0)
    always = mixed.assign({f"{name}_change_down": down for name in _CHANGES})
    cells = (_with_share([signs(one, name, "down") for one in _by_pair(always)]) for name in _CHANGES)
    sizes = " and ".join(
        f"{float(abs(mixed[f'{name}_change'] - mixed[f'{name}_change_predicted']).median()):.4f} ({words}, where it "
        f"is {float(abs(mixed[f'{name}_change']).median()):.4f})"
        for name, words in _CHANGES.items()
    )
    return (
        f"The size of the change by Mixup is predicted to {sizes}, medians over cells.\n\n"
        "Cells with a clear change by Mixup whose sign is right. Mixup scales the averaging classifier's score down "
        "and leaves its accuracy, so that for the signed gap its theory says down of every cell; of the ECE it may "
        "say either.\n\n" + "\n".join([*lines, f"| down of every cell | {' | '.join(cells)} |"])
    )


def _pairs(table: xr.Dataset) -> str:
    head = "| pair | rows | p | \\|θ\\| | covariances differ | excess kurtosis | near | mean miss | sign, signed gap | "
    lines = [f"{head}sign, ECE |", "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for one in _by_pair(table):
        fact = one.isel(pair=0)
        name, rows, p = (fact[part].item() for part in ("pair", "rows_at_hand", "p"))
        kurtosis = ", ".join(f"{value:.2f}" for value in fact["excess_kurtosis"].values)
        cells = [name, str(rows), str(p)]
        cells += [f"{float(fact[part]):.2f}" for part in ("theta_norm", "covariance_difference")]
        cells += [kurtosis, _of(share_near(one)), f"{float(misses(one).mean()):.3f}"]
        lines.append(f"| {' | '.join([*cells, *(_of(signs(one, change, 'predicted')) for change in _CHANGES)])} |")
    return "By pair, with what is known before anything is fitted:\n\n" + "\n".join(lines)


def _of(count: tuple[int, int]) -> str:
    return f"{count[0]} of {count[1]}"


def diagnostics(table: xr.Dataset) -> Mapping[str, xr.DataArray]:
    """Return what is known of a cell before anything is fitted, by name."""
    return {
        "covariances differ": table["covariance_difference"],
        "excess kurtosis, the larger": abs(table["excess_kurtosis"]).max("class"),
        "rows / p": table["rows_at_hand"] / table["p"],
        "\\|θ\\|": table["theta_norm"],
        "n / p": table["n"] / table["p"],
        "n / rows": table["n"] / table["rows_at_hand"],
        "penalty": table["penalty"],
        "predicted signed gap, its size": abs(table["signed_predicted"]),
    }


def _ranks(table: xr.Dataset) -> str:
    miss = misses(table)
    lines = ["| known before | rank correlation with the miss, over cells | over pairs |", "|---|---:|---:|"]
    for name, value in diagnostics(table).items():
        cells = rank_correlation(xr.broadcast(value, miss)[0].transpose(*miss.dims), miss)
        of_pairs = value.dims == ("pair",)
        pairs = rank_correlation(value, miss.mean(("n", "penalty", "fit"))) if of_pairs else np.nan
        ranks = (f"{rank:+.2f}" if np.isfinite(rank) else "" for rank in (cells, pairs))
        lines.append(f"| {name} | {' | '.join(ranks)} |")
    head = "What tells where it fails: Spearman's rank correlation with |predicted - measured| signed gap."
    return "\n".join([head, "", *lines])


def rank_correlation(first: xr.DataArray, second: xr.DataArray) -> float:
    """Return Spearman's rank correlation of the values that both have; NaN where either is constant."""
    both = pd.DataFrame({"a": first.values.ravel(), "b": second.values.ravel()})
    ranks = both[np.isfinite(both).all(axis=1)].rank()
    if len(ranks) < 3 or (ranks.nunique() == 1).any():
        return float("nan")
    return float(np.corrcoef(ranks["a"], ranks["b"])[0, 1])


def _others(table: xr.Dataset) -> str:
    lines = [
        "| | near | mean miss | predicted - measured | sign, signed gap | sign, ECE |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for axis in ("n", "penalty", "fit"):
        for value in table[axis].values:
            one = table.sel({axis: [value]})
            if share_near(one)[1]:
                lines.append(f"| {_label(axis, value)} | {_row(one)} |")
    return "By n, penalty and fit:\n\n" + "\n".join(lines)


def _label(axis: str, value: Any) -> str:
    return str(value) if axis == "fit" else f"{axis} = {value:g}"


def _row(one: xr.Dataset) -> str:
    difference = float((one["signed_predicted"] - one["signed"]).mean())
    cells = [_of(share_near(one)), f"{float(misses(one).mean()):.3f}", f"{difference:+.3f}"]
    return " | ".join([*cells, *(_of(signs(one, name, "predicted")) for name in _CHANGES)])


def _worst(table: xr.Dataset, number: int = 12) -> str:
    names = ["signed", "signed_se", "signed_predicted", "mean", "mean_predicted", "var", "var_predicted", "accuracy",
             "accuracy_predicted"]  # fmt: skip
    cells = table[names].assign(miss=misses(table)).to_dataframe().dropna(subset=["miss"])
    columns = ["pair", "n", "penalty", "fit"]
    for name in ("signed gap", "mean of y v", "variance", "accuracy"):
        columns += [name, "predicted"]
    lines = [f"| {' | '.join(columns)} |", "|---|---:|---:|---|" + "---:|" * 8]
    for (pair, n, penalty, fit), cell in cells.sort_values("miss", ascending=False).head(number).iterrows():
        numbers = [f"{cell['signed']:+.3f} ± {cell['signed_se']:.3f}", f"{cell['signed_predicted']:+.3f}"]
        for name, digits in (("mean", 2), ("var", 2), ("accuracy", 3)):
            numbers += [f"{cell[name]:.{digits}f}", f"{cell[f'{name}_predicted']:.{digits}f}"]
        lines.append(f"| {pair} | {n} | {penalty:g} | {fit} | {' | '.join(numbers)} |")
    return "The cells that miss most (± one standard error over training sets):\n\n" + "\n".join(lines)
