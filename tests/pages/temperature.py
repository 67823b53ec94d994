"""The numbers of docs/temperature.md."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mixjax.gaussian import critical_held_out_ratio
from tests.pages.tables import table

FILE = "temperature/table.csv"
POINTS = {1: (0.05, 0.248, 0.553, 0.944, 1.611), 2: (0.05, 0.248, 0.944, 3.59, 6.125)}  # p/n of the page's table
WEIGHTS = ("plain", "mix", "best", "estimated")


def numbers() -> dict[str, float]:
    return worths() | ranges() | gains() | fixed() | beyond() | both() | pooled() | information()


def rows(theta: int) -> pd.DataFrame:
    """Return the row of each p/n of Beta(1, 1), with what does not change with the held-out points."""
    return table(FILE, alpha=1, theta_norm=theta, held_out_ratio=100).sort_values("ratio")


def at_ratio(theta: int, ratio: float) -> pd.Series:
    found = rows(theta)
    return found.iloc[int(np.argmin(np.abs(found.ratio.values - ratio)))]


def worths() -> dict[str, float]:
    return {
        f"{theta}.{ratio}.{weight}{end}": at_ratio(theta, ratio)[f"{weight}_worth{end}"]
        for theta, ratios in POINTS.items()
        for ratio in ratios
        for weight in WEIGHTS
        for end in ("", "_from", "_to")
        if at_ratio(theta, ratio)[f"{weight}_worth"] > 0
    }


def ranges() -> dict[str, float]:
    """Return the range over p/n below |theta|^2, where a Beta law has the best weight, beside that of the limit."""
    values = {}
    for theta in POINTS:
        below = rows(theta).query(f"ratio < {theta**2}")
        for weight in ("best", "estimated"):
            worth = below[f"{weight}_worth"]
            values |= {f"{theta}.{weight}.least": worth.min(), f"{theta}.{weight}.most": worth.max()}
        limit = critical_held_out_ratio(below.p.values / below.n.values, float(theta))
        values |= {f"{theta}.best.limit.least": float(limit.min()), f"{theta}.best.limit.most": float(limit.max())}
    best = pd.concat([rows(theta).query(f"ratio < {theta**2}") for theta in POINTS])
    reach = {"below": 1 - best.best_worth_from / best.best_worth, "above": best.best_worth_to / best.best_worth - 1}
    return values | {name: float(part.max()) for name, part in reach.items()}


def gains() -> dict[str, float]:
    """Return how many times the held-out points of no Mixup the best weight is worth."""
    return {
        f"{theta}.{ratio}.gain": at_ratio(theta, ratio).best_worth / at_ratio(theta, ratio).plain_worth
        for theta in POINTS
        for ratio in (0.248, 0.944)
    }


def fixed() -> dict[str, float]:
    """Return the p/n between which Beta(1, 1) is worth n points or more, and up to which it is worth less than none."""
    worthy = {theta: rows(theta).query("mix_worth >= 1").ratio for theta in POINTS}
    harms = {
        f"{theta}.fixed.harms": rows(theta).query("mix_worth_to < plain_worth_from").ratio.max() for theta in POINTS
    }
    return harms | {
        f"{theta}.fixed.{name}": getattr(worthy[theta], name)() for theta in POINTS for name in ("min", "max")
    }


def beyond() -> dict[str, float]:
    none = rows(1).query("best_worth == 0").ratio
    few = table(FILE, alpha=1, theta_norm=1, ratio=8, held_out_ratio=0.03).iloc[0]
    return {
        "none.from": none.min(),
        "1.233.best": at_ratio(1, 1.233).best_worth,
        "large.best": few.ece_best,
        "large.held_out": few.ece_temperature,
    }


def both() -> dict[str, float]:
    return {"both": table(FILE).combined_difference.abs().max()}


def pooled() -> dict[str, float]:
    """Count cells: training on the further points is clearly better with the estimated weight, but for the worse."""
    small, large = (table(FILE, f"ratio {side} 1.7", alpha=1, theta_norm=1) for side in "<>")
    far = table(FILE, alpha=1, theta_norm=2)
    for part in (small, far):
        assert (part.estimated_pooled_difference < -2 * part.estimated_pooled_difference_se).all()
    worse = table(FILE, "estimated_pooled_difference > 2 * estimated_pooled_difference_se", alpha=1, theta_norm=1)
    better = (large.estimated_pooled_difference < -2 * large.estimated_pooled_difference_se).sum()
    last = worse[worse.ratio == 8]
    return {
        "fixed.low": most_trained(0.05),
        "fixed.middle": most_trained(0.5534),
        "fixed.high": most_trained(0.9441),
        "pooled.1.small.cells": len(small),
        "pooled.1.large.cells": len(large),
        "pooled.1.large.worse": len(worse),
        "pooled.1.large.better": better,
        "pooled.2.all.cells": len(far),
        "pooled.worse.from": worse.ratio.min(),
        "pooled.8.from": last.held_out_ratio.min(),
        "pooled.8.to": last.held_out_ratio.max(),
    }


def most_trained(ratio: float) -> float:
    """Return the most further points / n up to which training on them with Beta(1, 1) is clearly better."""
    part = table(FILE, "mix_pooled_difference < -2 * mix_pooled_difference_se", alpha=1, theta_norm=1)
    return float(part[np.isclose(part.ratio, ratio, rtol=1e-3)].held_out_ratio.max())


def information() -> dict[str, float]:
    """Return I by quadrature, and what the best weight is worth, as p/n vanishes: M = |theta|^2."""
    x = np.linspace(-8, 20, 28_001)
    density = {
        theta: np.exp(-((x - theta**2) ** 2) / (2 * theta**2)) / (theta * np.sqrt(2 * np.pi)) for theta in POINTS
    }
    found = {theta: float(np.sum(density[theta] * x**2 / np.cosh(x) ** 2) * 1e-3) for theta in POINTS}
    worth = {f"vanishing.{theta}": theta**2 / found[theta] for theta in POINTS}  # V = 1 / |theta|^2
    return worth | {f"information.{theta}": value for theta, value in found.items()}
