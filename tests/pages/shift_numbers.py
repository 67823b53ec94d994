"""The numbers that docs/theorems.md states about pseudo-labels over their grids, of the same domain and of another."""

from __future__ import annotations

import jax
import numpy as np
import pandas as pd

from mixjax.gaussian import best_weight, expected_errors
from tests.pages.tables import table

SAME, SHIFTED = "pseudo_label/table.csv", "pseudo_label_shift/table.csv"


def shift_numbers() -> dict[str, float]:
    return same_domain() | counts() | harm() | lengths() | across()


def clear(rows: pd.DataFrame, name: str, sign: int) -> pd.Series:
    """Return where a difference has a sign by two standard errors."""
    return sign * rows[name] > 2 * rows[f"{name}_se"]


def same_domain() -> dict[str, float]:
    cells = table(SAME, alpha=1)
    hurts, overshoot = clear(cells, "final_difference", 1), cells[cells.overshoot > 0.5]
    mixed = cells.assign(against=cells.ece_best - labeled_mixup(cells), against_se=cells.ece_best_se)
    many = hurts & (cells.ratio < 3)
    assert (cells[hurts & ~many].unlabeled_per_label == 0.3).all()
    assert (overshoot.theta_norm == 2).all()
    assert clear(mixed[hurts], "against", 1).sum() == clear(mixed, "against", 1).sum()
    return {
        "shift.cells": len(cells),
        "shift.helps": clear(cells, "final_difference", -1).sum(),
        "shift.hurts": hurts.sum(),
        **{f"shift.hurts.{theta}": hurts[cells.theta_norm == theta].sum() for theta in (0.5, 1, 2)},
        "shift.of.theta": (cells.theta_norm == 1).sum(),
        "shift.hurts.ratio": cells[many].ratio.max(),
        "shift.hurts.others": (hurts & ~many).sum(),
        "shift.repaired": (hurts & clear(cells, "repaired_difference", -1)).sum(),
        "shift.worse": clear(mixed[hurts], "against", 1).sum(),
        "shift.better": clear(mixed[hurts], "against", -1).sum(),
        "shift.better.all": clear(mixed, "against", -1).sum(),
        "shift.overshoot": len(overshoot),
        "shift.overshoot.points": overshoot.unlabeled_per_label.min(),
        "shift.overshoot.ratio": overshoot.ratio.min(),
    }


def labeled_mixup(cells: pd.DataFrame) -> np.ndarray:
    """Return the exact expected ECE of the labeled data with the best Mixup weight of the limit, at most 1/2."""
    sizes = cells[["n", "p", "theta_norm"]].to_numpy(float)
    (n, p, theta), place = (part.T for part in np.unique(sizes, axis=0, return_inverse=True))
    with jax.enable_x64(True):
        t = np.minimum(np.asarray(best_weight(p / n, theta)), 0.5)
        return np.asarray(expected_errors(n=n, p=p, theta_norm=theta, t=t).ece)[place]


def of_ratio(ratio: int) -> pd.DataFrame:
    return table(SHIFTED, alpha=1, ratio=ratio)


def counts() -> dict[str, float]:
    values = {}
    for ratio in (1, 5):
        cells = of_ratio(ratio)
        for name, difference in (("alone", "final_difference"), ("mixup", "labeled_best_difference")):
            for word, sign in (("better", -1), ("worse", 1)):
                values[f"shift.{ratio}.{name}.{word}"] = clear(cells, difference, sign).sum()
        values[f"shift.{ratio}.labeled"] = cells.ece_labeled_best.mean()
    return values | {"shift.1.cells": len(of_ratio(1))}


def harm() -> dict[str, float]:
    """Return the share of the harm, summed over cells, that Mixup takes away, and count the cells that gain."""
    values, removed, total = {}, 0.0, 0.0
    for ratio in (1, 5):
        cells = of_ratio(ratio)
        worse = cells[clear(cells, "final_difference", 1)]
        gone = np.minimum(-worse.best_difference, worse.final_difference).sum()
        removed, total = removed + gone, total + worse.final_difference.sum()
        values[f"shift.{ratio}.removed"] = gone / worse.final_difference.sum()
        values[f"shift.{ratio}.repaired"] = clear(worse, "repaired_difference", -1).sum()
    return values | {"shift.removed": removed / total}


def lengths() -> dict[str, float]:
    """Return where pseudo-labels harm at p/n = 5, and between which lengths they help at p/n = 1 without an angle."""
    few, along = of_ratio(5), table(SHIFTED, alpha=1, ratio=1, angle=0)
    worse, helped = few[clear(few, "final_difference", 1)], along[clear(along, "final_difference", -1)]
    return {
        "shift.5.length": worse.unlabeled_norm.min(),
        "shift.5.angle.least": worse.angle.min(),
        "shift.5.angle.most": worse.angle.max(),
        "shift.1.from": helped.unlabeled_norm.min(),
        "shift.1.to": helped.unlabeled_norm.max(),
    }


def across() -> dict[str, float]:
    """Count over the lengths at right angles to theta."""
    rows = {ratio: table(SHIFTED, alpha=1, ratio=ratio, angle=90) for ratio in (1, 5)}
    found = {
        f"shift.{ratio}.across.{word}": clear(cells, "final_difference", sign).sum()
        for ratio, cells in rows.items()
        for word, sign in (("better", -1), ("worse", 1))
    }
    return found | {"shift.lengths": len(rows[1])}
