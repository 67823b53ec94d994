"""Verdicts on the theorems from measured shares of training sets, as Markdown and as JSON.

The standard, one for all eleven, is `theorem_words.STANDARD`. A theorem that holds, and of which a special case alone
was tested, "holds in the special case tested".
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xarray as xr

from mixjax.gaussian.claims.claim import Claim

from .theorem_words import FURTHER, conditions_text, regime_text, report_text

ENOUGH = 0.99


def verdict(row: xr.Dataset, claim: Claim) -> dict[str, Any]:
    """Return the verdict on one theorem: an entry of theorems.json.

    `share` is the least share of true training sets at the largest n among the configurations that satisfy the
    hypothesis and the condition (of a refuted theorem: the largest among those of the hypothesis), and `n` the first
    size from which on all of them have 99 % or more.
    """
    counts = np.flatnonzero(row["stated"].values == 1)
    inside = counts[row["met"].values[counts] == 1]
    outside = counts[row["met"].values[counts] == 0]
    name = _name(row, inside, outside, bool(claim.special))
    low, high = (row[f"share_{end}"].values[:, -1] for end in ("low", "high"))
    shown = int(inside[np.argmin(low[inside])] if len(inside) else outside[np.argmax(high[outside])])
    last = row.isel(n=-1, configuration=shown)
    return {
        "theorem": claim.theorem,
        "claimed": claim.statement,
        "tested": claim.tested,
        "special": claim.special,
        "regime": regime_text(map(str, row["cell"].values[counts])),
        "verdict": name,
        "share": _share(row, shown),
        "n": _first_size(row, inside) if name.startswith(("holds", "needs")) else None,
        "n_largest": int(row["n"].values[-1]),
        "condition": claim.condition if len(outside) and len(inside) else "",
        "fails": [_share(row, k) for k in outside],
        "reading": claim.reading,
        "favorable": claim.favorable,
        "estimate": float(last["value"]),
        "standard_error": float(last["value_se"]),
        "approximation": conditions_text(row),
        "configurations": [str(cell) for cell in row["cell"].values if cell],
        "figure": f"figures/theorem_{claim.theorem}.png",
    }


def _name(row: xr.Dataset, inside: np.ndarray, outside: np.ndarray, special: bool) -> str:
    true = bool((row["share_low"].values[inside, -1] >= ENOUGH).all())
    false = bool(_false(row)[outside].all())
    if not (true and false):
        return "undecided"
    if not len(inside):
        return "refuted"
    if len(outside):
        return "needs a condition"
    return "holds in the special case tested" if special else "holds"


def _false(row: xr.Dataset) -> np.ndarray:
    """Return whether the share is below 99 % at the largest n, and no larger than at a hundredth of it."""
    n = row["n"].values
    before = np.flatnonzero(n <= n[-1] / 100)
    low, high = row["share_low"].values, row["share_high"].values
    grows = low[:, -1] > high[:, before[-1]] if len(before) else np.zeros(len(low), bool)
    below: np.ndarray = (high[:, -1] < ENOUGH) & ~grows
    return below


def _share(row: xr.Dataset, configuration: int) -> dict[str, Any]:
    one = row.isel(n=-1, configuration=configuration)
    ends = {"value": one["share"], "low": one["share_low"], "high": one["share_high"]}
    return {"configuration": str(one["cell"].values), **{name: round(float(end), 5) for name, end in ends.items()}}


def _first_size(row: xr.Dataset, inside: np.ndarray) -> int:
    """Return the smallest n from which on the share is 99 % or more."""
    enough = (row["share"].values[inside] >= ENOUGH).all(axis=0)
    failing = np.flatnonzero(~enough)
    return int(row["n"].values[failing[-1] + 1 if len(failing) else 0])


def verdict_report(table: xr.Dataset) -> str:
    """Write the verdicts in Markdown: the standard, a row a theorem, and what was claimed, tested and found."""
    return report_text(json.loads(table.attrs["verdicts"]), int(json.loads(table.attrs["config"])["replicates"]))


def verdict_files(table: xr.Dataset) -> dict[str, str]:
    """Return theorems.json and theorems.md."""
    command = json.loads(table.attrs["provenance"])["command"]
    entries = [
        {**entry, "studies": FURTHER[entry["theorem"]], "command": command}
        for entry in json.loads(table.attrs["verdicts"])
    ]
    return {"theorems.json": json.dumps(entries, indent=1) + "\n", "theorems.md": verdict_report(table) + "\n"}
