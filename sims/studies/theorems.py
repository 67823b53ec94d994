"""The eleven theorems of the paper, each as a measured verdict.

Paper: Theorems 3.1 to 3.5, 4.1 to 4.3, 5.1 to 5.3. `mixjax.gaussian.claims` has each as a signed number of a training
set, negative where the statement is true of it. Here it is measured at growing n, with its limit: "with high
probability" is the share of training sets for which it is negative.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import jax
import numpy as np
import xarray as xr

from mixjax.commands import option
from mixjax.gaussian.claims import CLAIMS

from ..engine.keys import key_of
from ..engine.program import HostArrays
from ..figures.theorems import theorem_figures
from ..grid import AxisValue, axis, whole
from ..reports.theorems import verdict, verdict_files, verdict_report
from ..study import Piece, PiecewiseStudy
from .comparison import wilson_interval
from .tables import described_dataset, standard_error

CONFIGURATIONS: dict[str, tuple[dict[str, float], ...]] = {
    "3.1": tuple({"ratio": c, "theta_norm": theta} for c, theta in ((0.1, 1), (0.5, 1), (1, 0.5), (0.5, 2), (5, 2))),
    "3.2": tuple({"p": 5, "theta_norm": theta, "alpha": a} for theta in (0.5, 1, 2) for a in (0.2, 1)),
    "3.3": tuple(
        {"theta_norm": theta, "low": low, "high": high}
        for theta, low, high in ((2, 0.5, 1), (2, 4, 8), (3, 20, 40), (1, 0.5, 1), (2, 10, 20))
    ),
    "3.4": tuple(
        {"ratio": c, "theta_norm": theta, "test_norm": norm, "cosine": cosine}
        for c, theta, norm, cosine in ((1, 1, 1, 0.5), (1, 1, 1.4, 1), (0.5, 2, 1, -0.5), (0.5, 1, 1.2, 0.9))
    ),
    "3.5": tuple({"ratio": c, "theta_norm": theta} for c, theta in ((0.5, 1), (1, 0.5), (5, 2))),
    "4.1": tuple({"ratio": c, "relative_norm": k, "per_label": 200} for c, k in ((5, 0.5), (5, 1), (20, 0.5), (20, 1))),
    "4.2": tuple({"p": 5, "theta_norm": theta, "per_label": 10} for theta in (0.5, 1, 2)),
    "4.3": tuple(
        {"ratio": c, "theta_norm": theta, "per_label": r}
        for c, theta, r in ((1, 1, 10), (12, 1, 10), (12, 2, 10), (12, 2, 100), (50, 4, 100))
    ),
    "5.1": tuple({"ratio": c, "theta_norm": theta} for c, theta in ((0.1, 1), (0.5, 1), (1, 0.5), (5, 2))),
    "5.2": tuple({"p": 5, "theta_norm": theta, "alpha": a} for theta in (0.5, 1, 2) for a in (0.2, 1)),
    "5.3": tuple(
        {"theta_norm": theta, "low": low, "high": high}
        for theta, low, high in ((0.3, 0.05, 0.1), (1, 0.5, 1), (2, 4, 8), (3, 20, 40))
    ),
}


@dataclass(frozen=True)
class Theorems:
    """Training sample sizes at which every claim is measured."""

    n: AxisValue = option("10:10000000:13:log", "Training sample sizes (of 4.1 to 4.3: labelled ones)")
    replicates: int = option(10_000, "Training sets of a size and configuration")
    seed: int = option(0, "Of every draw")


def _pieces(config: Theorems) -> dict[str, Piece]:
    sizes = axis("n", config.n, whole=True, least=1)
    replicates = whole("replicates", config.replicates, 10)
    return {f"theorem-{name}": partial(measure, name, sizes, replicates, config.seed) for name in CLAIMS}


def measure(theorem: str, sizes: np.ndarray, replicates: int, seed: int) -> HostArrays:
    """Measure the signed number at each configuration and size: mean, standard error, and how often it is negative."""
    claim = CLAIMS[theorem]
    key = key_of(seed, f"theorem {theorem}")
    found: dict[str, list[np.ndarray]] = {"mean": [], "se": [], "negative": [], "count": []}
    for number, cell in enumerate(CONFIGURATIONS[theorem]):
        values = np.asarray(claim.value(jax.random.fold_in(key, number), sizes, replicates, **cell), np.float64)
        count = np.isfinite(values).sum(axis=1)
        found["mean"].append(np.nanmean(values, axis=1))
        found["se"].append(standard_error(values, axis=1))
        found["negative"].append((values < 0).sum(axis=1))
        found["count"].append(count)
    facts = [(claim.limit(**cell), claim.stated(**cell), claim.met(**cell)) for cell in CONFIGURATIONS[theorem]]
    limit, stated, met = np.array(facts, np.float64).T
    return {**{name: np.array(rows) for name, rows in found.items()}, "limit": limit, "stated": stated, "met": met}


def _table(config: Theorems, pieces: Mapping[str, HostArrays]) -> xr.Dataset:
    """Theorems have different numbers of configurations: the rest is NaN."""
    sizes = axis("n", config.n, whole=True, least=1)
    most = max(map(len, CONFIGURATIONS.values()))

    def stacked(name: str) -> np.ndarray:
        rows = [np.asarray(pieces[f"theorem-{theorem}"][name], np.float64) for theorem in CLAIMS]
        return np.stack([
            np.concatenate([row, np.full((most - len(row), *row.shape[1:]), np.nan)]) for row in rows
        ])  # fmt: skip

    count, negative = stacked("count"), stacked("negative")
    share = negative / count
    low, high = wilson_interval(share, count)
    wide, narrow = ("theorem", "configuration", "n"), ("theorem", "configuration")
    variables = {
        "value": (wide, stacked("mean"), "mean of the signed number, negative where the statement is true"),
        "value_se": (wide, stacked("se"), "standard error of the mean"),
        "share": (wide, share, "share of training sets of which the statement is true"),
        "share_low": (wide, low, "lower end of its 95 % Wilson interval"),
        "share_high": (wide, high, "upper end of its 95 % Wilson interval"),
        "limit": (narrow, stacked("limit"), "limit of the signed number as n grows"),
        "stated": (narrow, stacked("stated"), "1 where the paper's hypothesis holds"),
        "met": (narrow, stacked("met"), "1 where the condition that the paper omits holds too"),
    }
    texts = [[_cell_text(cell) for cell in CONFIGURATIONS[name]] for name in CLAIMS]
    texts = [row + [""] * (most - len(row)) for row in texts]
    coordinates = {"theorem": list(CLAIMS), "n": sizes, "cell": (narrow, np.array(texts))}
    table = described_dataset(variables, coordinates)
    return table.assign_attrs(verdicts=json.dumps([verdict(table.sel(theorem=name), CLAIMS[name]) for name in CLAIMS]))


def _cell_text(cell: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in cell.items())


STUDY = PiecewiseStudy(
    name="theorems",
    summary="the eleven theorems of the paper, each as a measured verdict",
    config=Theorems,
    presets={
        "quick": {"n": "10,100,1000,10000,100000,1000000", "replicates": 1000},
        "default": {},
        "full": {"n": "10:100000000:29:log", "replicates": 1_000_000},
    },
    pieces=_pieces,
    table=_table,
    figures=theorem_figures(),
    report=verdict_report,
    files=verdict_files,
)
