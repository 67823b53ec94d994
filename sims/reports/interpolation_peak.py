"""The peak at p = n in a table: accuracy and over-confidence there, beside twice and half as many dimensions."""

from __future__ import annotations

import xarray as xr

_AT = (0.5, 1.0, 2.0)  # p/n


def interpolation_peak_report(table: xr.Dataset) -> str:
    """Write accuracy and signed gap of each arm through p = n, and what epochs, spectra and real rows do to it."""
    heads = " | ".join(f"p/n = {ratio:g}" for ratio in _AT)
    rows = [
        "# The peak at p = n",
        "",
        f"Accuracy, and mean confidence - accuracy, of a logistic fit in the limit; |theta| = "
        f"{table.attrs['theta_norm']:g}. Last column: literal fits of n = {int(table.attrs['n'])} at the simulated p/n "
        "nearest to 1, with two standard errors of the accuracy.",
        "",
        f"| mu | labels | {heads} | literal |",
        "|" + "---|" * (len(_AT) + 3),
    ]
    for penalty in table["penalty"].values:
        rows += [_row(table.sel(penalty=penalty, arm=arm)) for arm in table["arm"].values]
    return "\n".join([*rows, "", *_epochs(table), "", *_decays(table), *_real(table)])


def _row(cell: xr.Dataset) -> str:
    limit = [_both(cell["accuracy"].interp(ratio=at), cell["signed"].interp(ratio=at)) for at in _AT]
    point = cell.sel(point_ratio=1.0, method="nearest")
    error = 2 * float(point["accuracy_fitted_se"])
    literal = f"{_both(point['accuracy_fitted'], point['signed_fitted'])} (± {error:.3f})"
    return f"| {' | '.join([f'{float(cell.penalty):g}', str(cell['arm'].values), *limit, literal])} |"


def _both(accuracy: xr.DataArray, signed: xr.DataArray) -> str:
    return f"{float(accuracy):.3f}, {float(signed):+.3f}"


def _epochs(table: xr.Dataset) -> list[str]:
    found = zip(table["epochs"].values, table["accuracy_pairs"].values, table["accuracy_pairs_se"].values, strict=True)
    values = ", ".join(f"{int(k)}: {accuracy:.3f} ± {2 * error:.3f}" for k, accuracy, error in found)
    return [f"Accuracy of Mixup at p = n by epochs of random pairs (two standard errors): {values}."]


def _decays(table: xr.Dataset) -> list[str]:
    rows = [
        "Accuracy predicted at p/n = 0.5, 1 and 2 for eigenvalues k^-decay:",
        "",
        "| decay | plain | Mixup |",
        "|---|---|---|",
    ]
    for decay in table["decay"].values:
        cells = [
            ", ".join(f"{float(table['accuracy_decay'].sel(decay=decay, arm=arm).interp(ratio=at)):.3f}" for at in _AT)
            for arm in ("plain", "Mixup")
        ]
        rows.append(f"| {decay:g} | {cells[0]} | {cells[1]} |")
    return rows


def _real(table: xr.Dataset) -> list[str]:
    if "rows" not in table.dims:
        return []
    arms = [str(arm) for arm in table["arm"].values]
    rows = [
        "",
        f"Real classes, {table.attrs['pair']}: accuracy measured (predicted).",
        "",
        f"| n | {' | '.join(arms)} |",
        "|" + "---|" * (1 + len(arms)),
    ]
    for n in table["rows"].values:
        at = table.sel(rows=n)
        cells = [
            f"{float(at['accuracy_rows'].sel(arm=arm)):.3f} ({float(at['accuracy_rows_predicted'].sel(arm=arm)):.3f})"
            for arm in arms
        ]
        rows.append(f"| {int(n)} | {' | '.join(cells)} |")
    return rows
