"""The words of the report on the theorems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import xarray as xr

# Studies that measure more of a theorem.
FURTHER = {
    **dict.fromkeys(("3.1", "5.1"), ("phase_diagram", "high_dimension")),
    **dict.fromkeys(("3.2", "5.2"), ("low_dimension",)),
    **dict.fromkeys(("3.3", "5.3"), ("capacity",)),
    "3.4": ("out_of_domain",),
    "3.5": ("generative", "real_images"),
    **dict.fromkeys(("4.1", "4.2", "4.3"), ("pseudo_label", "pseudo_label_shift")),
}

STANDARD = (
    "**The standard**, one for all eleven. A theorem is taken with its own quantifiers and regime. A configuration "
    "counts if it satisfies the hypothesis in the words of the paper: no hypothesis is added silently, and one "
    'that the paper states is not called omitted. "With high probability" is a share of training sets that tends '
    "to 1. It is true in a configuration where the share reaches 99 % (its 95 % interval above) at the largest n, "
    "and false where the share is below 99 % there and no larger than at a hundredth of that n. *Holds*: true in "
    "every configuration that counts. *Needs a condition*: true where the condition holds too, false where the "
    "hypothesis alone does. *Refuted*: false in every configuration that counts. *Undecided*: anything else, such as a "
    "share below 99 % that still rises."
)


def conditions_text(row: xr.Dataset) -> str:
    """Name what is approximated; nothing where every law that is drawn is exact."""
    if not bool((row["exact"] == 0).any()):
        return ""
    return "Sums over more than 10,000 unlabeled points are drawn from the normal law that they tend to."


def regime_text(cells: Iterable[str]) -> str:
    """Write all values of each name of some configurations."""
    values: dict[str, dict[str, None]] = {}
    for cell in cells:
        for part in cell.split(", "):
            name, _, value = part.partition(" = ")
            values.setdefault(name, {})[value] = None
    return "; ".join(f"{name} = {', '.join(found)}" for name, found in values.items())


def report_text(entries: Iterable[Mapping[str, Any]], replicates: int) -> str:
    """Write the standard, a table of the verdicts, and a list for each theorem."""
    entries = list(entries)
    lines = [
        f"{STANDARD} Each point is {replicates:,} training sets, by Monte Carlo from exact laws where nothing else is "
        "said; intervals are 95 % (Wilson).",
        "",
        "| theorem | verdict | share of training sets | from n = | what must be added | share without it | more in |",
        "|---|---|---|---:|---|---|---|",
        *(_row(entry) for entry in entries),
        "",
        "The share is the least at the largest n among the configurations that satisfy hypothesis and condition (5.3: "
        "the largest of all), and n the size from which on it is 99 % or more in all of them. The share without it is "
        "the largest among those that satisfy the hypothesis alone. More of a theorem is measured by `python -m sims "
        "STUDY`, with the studies of the last column.",
    ]
    return "\n".join([*lines, *(line for entry in entries for line in _details(entry))])


def share_text(share: Mapping[str, Any]) -> str:
    """Write a share with its interval."""
    return f"{100 * share['value']:.4g} % ({100 * share['low']:.4g} to {100 * share['high']:.4g})"


def _row(entry: Mapping[str, Any]) -> str:
    size = f"{entry['n']:,}" if entry["n"] is not None else "-"
    further = ", ".join(f"`{study}`" for study in FURTHER[entry["theorem"]])
    added = entry["condition"] or "nothing"
    if entry["verdict"] == "refuted":
        added = "nothing helps"
    without = share_text(max(entry["fails"], key=lambda share: share["high"])) if entry["condition"] else "-"
    cells = (entry["theorem"], f"**{entry['verdict']}**", share_text(entry["share"]), size, added, without, further)
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _details(entry: Mapping[str, Any]) -> list[str]:
    fails = "; ".join(f"{share['configuration']}: {share_text(share)}" for share in entry["fails"])
    parts = {
        "Claimed": entry["claimed"],
        "Tested": " ".join(filter(None, (entry["tested"], entry["approximation"]))),
        "Special case": entry["special"] and f"{entry['special']}",
        "Regime": f"{entry['regime']}; n up to {entry['n_largest']:,}.",
        "Found": f"{share_text(entry['share'])} at {entry['share']['configuration']}, n = {entry['n_largest']:,}.",
        "Must be added": entry["condition"],
        "False without it" if entry["condition"] else "False": fails and f"{fails}.",
        "Reading": entry["reading"],
        "In the authors' favor": entry["favorable"],
    }
    listed = (f"* *{name}*: {text}".replace("|", r"\|") for name, text in parts.items() if text)
    return ["", f"**Theorem {entry['theorem']}: {entry['verdict']}.**", "", *listed]
