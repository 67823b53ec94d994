"""Verdicts on the theorems from measured shares of training sets, as rows of a table and as JSON.

A configuration that satisfies the hypothesis counts; among these the condition that the paper omits, if there is one,
divides those that are claimed to be true from those that are claimed to be false. True is a share of training sets
that reaches 99 % (its interval above) at the largest n; false is one below one half (its interval below).
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xarray as xr

from mixjax.gaussian.claims.claim import Claim

ENOUGH = 0.99

# Studies that measure more of a theorem.
FURTHER = {
    **dict.fromkeys(("3.1", "5.1"), ("phase_diagram", "high_dimension")),
    **dict.fromkeys(("3.2", "5.2"), ("low_dimension",)),
    **dict.fromkeys(("3.3", "5.3"), ("capacity",)),
    "3.4": ("out_of_domain",),
    "3.5": ("generative", "real_images"),
    **dict.fromkeys(("4.1", "4.2", "4.3"), ("pseudo_label", "pseudo_label_shift")),
}


def verdict(row: xr.Dataset, claim: Claim) -> dict[str, Any]:
    """Return the verdict on one theorem: an entry of theorems.json.

    "holds", "holds with condition" (true where the condition holds, false where only the hypothesis does), "refuted"
    (false in every configuration that satisfies the hypothesis), or "undecided". The estimate is the mean of the
    signed number at the largest n in the configuration that is the closest to the opposite; `n` is the first size from
    which on the share is 99 % or more in every configuration that counts.
    """
    stated, met = row["stated"].values == 1, row["met"].values == 1
    inside, outside = np.flatnonzero(stated & met), np.flatnonzero(stated & ~met)
    last = row.isel(n=-1)
    true = bool(len(inside)) and bool((last["share_low"].values[inside] >= ENOUGH).all())
    false = bool((last["share_high"].values[outside] < 0.5).all())
    name = _name(true, false, len(inside), len(outside))
    shown = inside if len(inside) else outside
    values = last["value"].values[shown]
    closest = int(shown[np.argmax(values) if len(inside) else np.argmin(values)])
    return {
        "theorem": claim.theorem,
        "statement": claim.statement,
        "verdict": name,
        "estimate": float(last["value"].values[closest]),
        "standard_error": float(last["value_se"].values[closest]),
        "n": _first_size(row, inside) if name.startswith("holds") else None,
        "conditions": _conditions(row, claim, closest, outside),
        "figure": f"figures/theorem_{claim.theorem}.png",
    }


def _name(true: bool, false: bool, inside: int, outside: int) -> str:
    if inside and not outside:
        return "holds" if true else "undecided"
    if not inside:
        return "refuted" if false else "undecided"
    return "holds with condition" if true and false else "undecided"


def _first_size(row: xr.Dataset, inside: np.ndarray) -> int:
    """Return the smallest n from which on the share is 99 % or more."""
    enough = (row["share"].values[inside] >= ENOUGH).all(axis=0)
    failing = np.flatnonzero(~enough)
    return int(row["n"].values[failing[-1] + 1 if len(failing) else 0])


def _conditions(row: xr.Dataset, claim: Claim, closest: int, outside: np.ndarray) -> str:
    parts = [claim.condition] if claim.condition else []
    parts.append(f"Estimate at {row['cell'].values[closest]}, n = {int(row['n'].values[-1]):,}.")
    if claim.condition and len(outside):
        cells = "; ".join(f"{row['cell'].values[k]} ({row['value'].values[k, -1]:+.2g})" for k in outside)
        parts.append(f"Without the condition it is false: {cells}.")
    return " ".join(parts)


def verdict_report(table: xr.Dataset) -> str:
    """Write the verdicts as a table in Markdown."""
    lines = ["| theorem | statement | verdict | estimate | 99 % of training sets from n = | conditions | more in |"]
    lines.append("|---|---|---|---:|---:|---|---|")
    for entry in json.loads(table.attrs["verdicts"]):
        estimate = f"{entry['estimate']:+.3g} ± {entry['standard_error']:.1g}"
        size = f"{entry['n']:,}" if entry["n"] is not None else "-"
        further = ", ".join(f"`{study}`" for study in FURTHER[entry["theorem"]])
        cells = (entry["theorem"], entry["statement"], f"**{entry['verdict']}**", estimate, size, entry["conditions"],
                 further)  # fmt: skip
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    note = (
        "The estimate is of a signed number that is negative where the statement is true of a training set. More of a "
        "theorem is measured by `python -m sims STUDY`, with the studies of the last column."
    )
    return "\n".join([note, "", *lines])


def verdict_files(table: xr.Dataset) -> dict[str, str]:
    """Return theorems.json and theorems.md."""
    command = json.loads(table.attrs["provenance"])["command"]
    entries = [
        {**entry, "studies": FURTHER[entry["theorem"]], "command": command}
        for entry in json.loads(table.attrs["verdicts"])
    ]
    return {"theorems.json": json.dumps(entries, indent=1) + "\n", "theorems.md": verdict_report(table) + "\n"}
