"""The numbers of docs/beyond.md about pairs and classes; those about fits are in `fits_numbers`."""

from __future__ import annotations

import numpy as np

from tests.pages.fits_numbers import fits_numbers, last_crossing
from tests.pages.tables import at, table

PAIRS = "beyond/alpha-epochs-ratio-theta_norm.csv"
PAIRS_LIMIT = "beyond/alpha-ratio-theta_norm-fine_epochs.csv"
EXPECTATION = "beyond/alpha-ratio-theta_norm.csv"
UNEQUAL = "beyond/positive_rate-error-imbalanced_ratio.csv"
UNEQUAL_LIMIT = "beyond/positive_rate-error-fine_ratio.csv"
CLASSES = "beyond/classes-kind-class_ratio.csv"
CLASS_SETS = "beyond/classes-kind-classes_ratio.csv"
ERRORS = {"none": "top-label, no bias", "bias": "top-label, bias", "class": "class, bias"}
KINDS = {"top": "top-label", "each": "class-wise"}


def numbers() -> dict[str, float]:
    return pairs() | few_pairs() | unequal() | classes() | training_sets() | fits_numbers()


def pairs() -> dict[str, float]:
    """Return the pairs / n from which random pairs are near the expectation, and beat no Mixup at p/n = 4."""
    near, beats = [], {}
    for cell in table(EXPECTATION).itertuples():
        place = {"alpha": cell.alpha, "ratio": cell.ratio, "theta_norm": cell.theta_norm}
        curve = table(PAIRS_LIMIT, **place)
        off = (curve.ece_pairs_limit - cell.ece_expectation_limit).abs() - 0.1 * cell.ece_plain_limit
        near.append(last_crossing(curve.fine_epochs, off))
        if cell.ratio == 4:
            worse = curve.ece_pairs_limit - cell.ece_plain_limit
            beats[cell.alpha, cell.theta_norm] = last_crossing(curve.fine_epochs, worse)
    assert beats[1, 1] == min(beats.values())
    assert beats[0.2, 2] == max(beats.values())
    ends = {"near.least": min(near), "near.most": max(near)}
    return ends | {"cells": len(near), "beats.least": beats[1, 1], "beats.most": beats[0.2, 2]}


def few_pairs() -> dict[str, float]:
    def after_one(ratio: float) -> float:
        curve = table(PAIRS_LIMIT, alpha=1, ratio=ratio, theta_norm=1)
        return float(np.interp(0, np.log(curve.fine_epochs), curve.ece_pairs_limit))

    high, low = (at(EXPECTATION, alpha=1, ratio=ratio, theta_norm=1) for ratio in (4, 0.25))
    return {
        "four.plain": high.ece_plain_limit,
        "four.one": after_one(4),
        "four.mix": high.ece_expectation_limit,
        "quarter.mix": low.ece_expectation_limit,
        "quarter.one": after_one(0.25),
        "quarter.literal": at(PAIRS, alpha=1, ratio=0.25, theta_norm=1, epochs=1).ece_pairs,
    }


def unequal() -> dict[str, float]:
    values = {}
    for rate in (0.5, 0.7, 0.9, 0.97):
        for name, error in ERRORS.items():
            curve = table(UNEQUAL_LIMIT, positive_rate=rate, error=error)
            values[f"{rate}.{name}"] = last_crossing(curve.fine_ratio, curve.change_limit)
    row = table(UNEQUAL, "0.6 < imbalanced_ratio < 0.7")
    gain = row[row.error == ERRORS["none"]].set_index("positive_rate").change
    odd = table(UNEQUAL_LIMIT, f"fine_ratio < {values['0.97.bias']}", positive_rate=0.97)
    return values | {
        "point": row.imbalanced_ratio.iloc[0],
        "gain.0.5": -gain[0.5],
        "gain.0.9": -gain[0.9],
        "odd": odd[odd.error == ERRORS["bias"]].change_limit.abs().max(),
    }


def classes() -> dict[str, float]:
    values, scaled = {}, []
    for number in (2, 3, 5, 10):
        for name, kind in KINDS.items():
            curve = table(CLASSES, classes=number, kind=kind)
            one = at(CLASSES, classes=number, kind=kind, class_ratio=1)
            edge = last_crossing(curve.class_ratio, curve.classes_mix - curve.classes_plain)
            values[f"{number}.{name}.edge"] = edge
            values |= {f"{number}.{name}.plain": one.classes_plain, f"{number}.{name}.mix": one.classes_mix}
            scaled.append((number - 1) * edge)
    return values | {"scaled.least": min(scaled), "scaled.most": max(scaled)}


def training_sets() -> dict[str, float]:
    """Return how far training sets of n = 200 are from the limit, at the p/n that they have: p is K at least."""
    rows = table(CLASS_SETS)
    rows = rows.assign(p=np.maximum(rows.classes, np.rint(200 * rows.classes_ratio)))
    far: dict[str, list[float]] = {"below": [], "above": []}
    for row in rows.itertuples():
        curve = table(CLASSES, classes=row.classes, kind=row.kind)
        change = np.interp(np.log(row.p / 200), np.log(curve.class_ratio), curve.classes_mix - curve.classes_plain)
        far["above" if row.classes_ratio >= 0.3 else "below"].append(abs(row.classes_change - change))
    least = rows[(rows.classes == 10) & (rows.kind == "top-label")].iloc[0]
    return {f"{name}.far": max(parts) for name, parts in far.items()} | {"ten.p": least.p, "ten.ratio": least.p / 200}
