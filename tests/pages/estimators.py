"""The numbers of docs/estimators.md."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tests.pages.tables import at, table

BIASES = "estimator_bias/law-size-estimator-bins.csv"
COVERAGES = "estimator_bias/law-size-interval-bins.csv"
CALIBRATED, OVER = "calibrated", "over-confident"
ESTIMATORS = {
    "width": "ECE, equal width",
    "mass": "ECE, equal mass",
    "sweep": "ECE, sweep",
    "smooth": "smooth ECE",
    "kde": "KDE ECE",
    "debiased": "ECE_2, debiased",
    "gap": "signed gap",
}
UNBINNED = ("signed gap", "NLL", "Brier score")  # intervals that hold a truth without bins


def numbers() -> dict[str, float]:
    return biases() | spreads() | plain_bias() | ratios() | unbinned() | binned()


def bias(law: str, size: int, name: str) -> float:
    return float(at(BIASES, law=law, size=size, estimator=ESTIMATORS[name], bins=15).bias)


def biases() -> dict[str, float]:
    cells = {
        f"{law}.{name}.{size}": bias(law, size, name)
        for law in (CALIBRATED, OVER)
        for name in ESTIMATORS
        for size in (30, 300, 3000, 30_000, 1_000_000)
        if name != "kde" or size <= 300
    }
    law = at("estimator_bias/law-estimator.csv", law=OVER, estimator="ECE, equal width")
    return cells | {"truth": law.truth, "mce": at(BIASES, law=CALIBRATED, size=300, estimator="MCE", bins=15).bias}


def spreads() -> dict[str, float]:
    return {
        f"{law}.{name}.sd": at(BIASES, law=law, size=300, estimator=ESTIMATORS[name], bins=15).sd
        for law in (CALIBRATED, OVER)
        for name in ("sweep", "smooth", "debiased")
    }


def plain_bias() -> dict[str, float]:
    """Return the largest bias of the plain ECE over sqrt(num_bins / N), of all laws, sizes and bins."""
    rows = pd.concat([table(BIASES, estimator=ESTIMATORS[name]) for name in ("width", "mass")])
    return {"plain.scale": (rows.bias / np.sqrt(rows.bins / rows["size"])).max()}


def ratios() -> dict[str, float]:
    values = {
        f"{short}.{name}.share": bias(law, 300, name) / bias(law, 300, "width")
        for short, law in {CALIBRATED: CALIBRATED, OVER: OVER, "slight": "slightly over-confident"}.items()
        for name in ("sweep", "smooth")
    }
    for name in ("sweep", "smooth"):
        rows = table(BIASES, law=CALIBRATED, estimator=ESTIMATORS[name], bins=15).sort_values("size")
        plain = table(BIASES, law=CALIBRATED, estimator=ESTIMATORS["width"], bins=15).sort_values("size")
        values[f"{name}.loses"] = rows["size"].values[np.argmax(rows.bias.values > plain.bias.values)]
        falls = bias(CALIBRATED, 3000, name) / bias(CALIBRATED, 1_000_000, name)
        values[f"{name}.power"] = -np.log(falls) / np.log(1_000_000 / 3000)
    return values


def unbinned() -> dict[str, float]:
    """Return coverages with 300 samples each: 10 to 100, of more rows, say little."""
    rows = table(COVERAGES, f"interval in {UNBINNED} and size >= 300 and size <= 30000", bins=15)
    few = table(COVERAGES, f"interval in {UNBINNED}", size=30, bins=15)
    samples = table("estimator_bias/law-size.csv", "size >= 30 and size <= 30000").interval_samples
    assert (samples == 300).all()
    return {
        "unbinned.cells": len(rows),
        "unbinned.mean": rows.coverage.mean(),
        "unbinned.least": rows.coverage.min(),
        "unbinned.most": rows.coverage.max(),
        "unbinned.few.least": few.coverage.min(),
        "unbinned.few.most": few.coverage.max(),
    }


def binned() -> dict[str, float]:
    plain = {law: table(COVERAGES, law=law, interval="ECE, equal width", bins=15) for law in (CALIBRATED, OVER)}
    several = plain[OVER].query("size <= 300000").coverage  # ten samples of a million rows say nothing
    squared = at(BIASES, law=OVER, size=300_000, estimator="ECE_2 squared, debiased", bins=15)
    less = at(BIASES, law=OVER, size=100_000, estimator="ECE_2 squared, debiased", bins=15)
    assert 2 * 1.96 * squared.sd < -squared.bias < 2 * 1.96 * less.sd  # the interval is narrower from 300,000 rows on
    truth = at("estimator_bias/law-estimator.csv", law=OVER, estimator="ECE_2 squared, debiased").truth
    exact = {
        f"squared.{size}": at(COVERAGES, law=OVER, size=size, interval="ECE_2 squared, debiased", bins=15).coverage
        for size in (10_000, 100_000, 300_000)
    }
    return exact | {
        "within": -squared.bias / truth,
        "plain.calibrated.least": plain[CALIBRATED].coverage.min(),
        "plain.calibrated.most": plain[CALIBRATED].coverage.max(),
        "plain.over.least": several.min(),
        "plain.over.most": several.max(),
    }
