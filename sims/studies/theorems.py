"""The eleven theorems of the paper, each as a measured verdict.

Paper: Theorems 3.1 to 3.5, 4.1 to 4.3, 5.1 to 5.3. `mixjax.gaussian.claims` has each as a signed number of a training
set, negative where the statement is true of it. Here it is measured at growing n in the configurations of
`theorem_configurations`, with its limit: "with high probability" is the share of training sets for which it is
negative. `mixjax.sims.reports.theorem_words` has the standard of the verdicts.
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
from .tables import Described, described_dataset, standard_error
from .theorem_configurations import CONFIGURATIONS, cell_text
from .theorem_curves import curve_variables, curves, margins


@dataclass(frozen=True)
class Theorems:
    """Training sample sizes at which every claim is measured."""

    n: AxisValue = option("10:10000000:13:log", "Training sample sizes (of 4.1 to 4.3: labeled ones)")
    replicates: int = option(4_000, "Training sets of a size and configuration")
    seed: int = option(0, "Of every draw")


def _pieces(config: Theorems) -> dict[str, Piece]:
    sizes = axis("n", config.n, whole=True, least=1)
    replicates = whole("replicates", config.replicates, 10)
    measured = {f"theorem-{name}": partial(measure, name, sizes, replicates, config.seed) for name in CLAIMS}
    return {**measured, "curves": curves}


def measure(theorem: str, sizes: np.ndarray, replicates: int, seed: int) -> HostArrays:
    """Measure the signed number at each configuration and size: mean, standard error, and how often it is negative."""
    claim = CLAIMS[theorem]
    key = key_of(seed, f"theorem {theorem}")
    found: dict[str, list[np.ndarray]] = {"mean": [], "se": [], "negative": [], "count": [], "exact": []}
    for number, cell in enumerate(CONFIGURATIONS[theorem]):
        values = np.asarray(claim.value(jax.random.fold_in(key, number), sizes, replicates, **cell), np.float64)
        found["mean"].append(np.nanmean(values, axis=1))
        found["se"].append(standard_error(values, axis=1))
        found["negative"].append((values < 0).sum(axis=1))
        found["count"].append(np.isfinite(values).sum(axis=1))
        found["exact"].append(np.asarray(claim.exact(sizes, **cell)))
    facts = [(claim.limit(**cell), claim.stated(**cell), claim.met(**cell)) for cell in CONFIGURATIONS[theorem]]
    limit, stated, met = np.array(facts, np.float64).T
    return {**{name: np.array(rows) for name, rows in found.items()}, "limit": limit, "stated": stated, "met": met}


def _table(config: Theorems, pieces: Mapping[str, HostArrays]) -> xr.Dataset:
    sizes = axis("n", config.n, whole=True, least=1)
    lines, line_coordinates = curve_variables(pieces["curves"])
    texts = _padded({name: np.array([cell_text(cell) for cell in CONFIGURATIONS[name]]) for name in CLAIMS})
    cell = (("theorem", "configuration"), np.where(texts == "nan", "", texts))
    coordinates = {"theorem": list(CLAIMS), "n": sizes, "cell": cell, **line_coordinates}
    table = described_dataset({**_measured(sizes, pieces), **lines}, coordinates)
    return table.assign_attrs(verdicts=json.dumps([verdict(table.sel(theorem=name), CLAIMS[name]) for name in CLAIMS]))


def _measured(sizes: np.ndarray, pieces: Mapping[str, HostArrays]) -> dict[str, Described]:
    def stacked(name: str) -> np.ndarray:
        return _padded({theorem: np.asarray(pieces[f"theorem-{theorem}"][name], np.float64) for theorem in CLAIMS})

    count = stacked("count")
    share = stacked("negative") / count
    low, high = wilson_interval(share, count)
    no_margin = {name: np.full_like(pieces[f"theorem-{name}"]["mean"], np.nan) for name in CLAIMS}
    margin = _padded(no_margin | {name: margins(name, sizes) for name in ("3.2", "5.2")})
    wide, narrow = ("theorem", "configuration", "n"), ("theorem", "configuration")
    return {
        "value": (wide, stacked("mean"), "mean of the signed number, negative where the statement is true"),
        "value_se": (wide, stacked("se"), "standard error of the mean"),
        "share": (wide, share, "share of training sets of which the statement is true"),
        "share_low": (wide, low, "lower end of its 95 % Wilson interval"),
        "share_high": (wide, high, "upper end of its 95 % Wilson interval"),
        "exact": (wide, stacked("exact"), "1 where the law that is drawn is exact, 0 where sums are taken for normal"),
        "margin": (wide, margin, "p/n over the critical ratio of 3.2 and 5.2, below which Mixup hurts"),
        "limit": (narrow, stacked("limit"), "limit of the signed number as n grows"),
        "stated": (narrow, stacked("stated"), "1 where the paper's hypothesis holds"),
        "met": (narrow, stacked("met"), "1 where what must be added to it holds too"),
    }


def _padded(rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """Stack the rows of the theorems; they have different numbers of configurations, and the rest is NaN."""
    most = max(map(len, rows.values()))
    return np.stack([
        np.concatenate([row, np.full((most - len(row), *row.shape[1:]), np.nan)]) for row in rows.values()
    ])  # fmt: skip


STUDY = PiecewiseStudy(
    name="theorems",
    summary="the eleven theorems of the paper, each as a measured verdict",
    config=Theorems,
    presets={
        "quick": {"n": "10:10000000:7:log", "replicates": 1000},
        "default": {},
        "full": {"n": "10:100000000:29:log", "replicates": 100_000},
    },
    pieces=_pieces,
    table=_table,
    figures=theorem_figures(),
    report=verdict_report,
    files=verdict_files,
)
