"""The numbers of README.md, which are those of the pages that it sums up."""

from __future__ import annotations

from collections import Counter

from tests.pages import logistic, nets, temperature
from tests.pages.tables import table
from tests.pages.theorems import entries, favored

STATED = {
    logistic: ("settings", "nll.none", "decay.nll", "decay.scaled", "Mixup.accuracy", "plain.accuracy"),
    temperature: ("1.best.least", "1.best.most", "1.0.553.mix", "1.0.248.mix"),
    nets: (
        *(
            f"{sweep}{end}"
            for sweep in ("units.10", "units.1000", "crops.300", "layers.24")
            for end in ("", ".low", ".high")
        ),
        "ratio.least",
        "ratio.most",
    ),
}
VERDICTS = {"holds": "holds", "special": "holds in the special case tested", "condition": "needs a condition",
            "refuted": "refuted"}  # fmt: skip


def numbers() -> dict[str, float]:
    pages = {page: page.numbers() for page in STATED}
    values = {name: pages[page][name] for page, names in STATED.items() for name in names}
    verdicts = Counter(entry["verdict"] for entry in entries().values())
    fits = table("real_fits/pair-n-penalty-fit.csv", "signed == signed")
    near = ((fits.signed_predicted - fits.signed).abs() <= 0.03).sum()
    values |= {name: verdicts[verdict] for name, verdict in VERDICTS.items()} | {"favored": favored()}
    values |= {
        f"units.1000{end}": -values[f"units.1000{end}"] for end in ("", ".low", ".high")
    }  # what it is lowered by
    return values | {"near": near, "cells": len(fits)}
