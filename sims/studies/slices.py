"""One-dimensional slices: Monte Carlo points under the exact curves, and quantiles over training sets.

The law over training sets is skewed and bounded, so that a standard deviation to either side would reach what no
training set does: the table has quantiles.

`high_dimension` (Theorem 3.1): ECE(mix) - ECE against p/n at fixed n, from the region where Mixup hurts to
the region where it helps. `low_dimension` (Theorem 3.2): the same against n at fixed p, so that p/n -> 0, where
any fixed (alpha, beta) hurts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax.numpy as jnp
import xarray as xr

from mixjax.commands import option
from mixjax.gaussian import ScoreLaw

from ..engine.moments import Moments
from ..engine.program import BLOCK, Arrays, Experiment
from ..figures.slices import slice_figures
from ..grid import AxisValue, Grid, grid_of
from ..study import GridStudy
from .comparison import (
    EXPERIMENT,
    LONG_NAMES,
    METRICS,
    as_variable,
    comparison_dataset,
    expected_variables,
    limit_variables,
    mean_or_nan,
)
from .curves import refined, with_curves

QUANTILES = {"q05": 0.05, "q95": 0.95}  # between them lie nine training sets in ten


@dataclass(frozen=True)
class HighDimension:
    """Axes are start:stop:count, start:stop:count:log, or values separated by commas."""

    n: AxisValue = option("1000", "Training sample sizes")
    ratio: AxisValue = option("0.05:16:41:log", "p/n; p is max(1, round(ratio n))")
    theta_norm: AxisValue = option("1,2", "Signal |theta| / sigma")
    alpha: AxisValue = option("0.2,1,5", "alpha of lambda ~ Beta(alpha, beta); 0 is no Mixup")
    beta: AxisValue = option("same", "beta, one for each alpha or one for all; 'same' is alpha")
    replicates: int = option(2000, "Training sets a cell")
    seed: int = option(0, "Of every draw")


@dataclass(frozen=True)
class LowDimension:
    """Axes are start:stop:count, start:stop:count:log, or values separated by commas."""

    n: AxisValue = option("30:1000000:37:log", "Training sample sizes")
    p: AxisValue = option("10", "Dimensions")
    theta_norm: AxisValue = option("1,2", "Signal |theta| / sigma")
    alpha: AxisValue = option("0.2,1,5", "alpha of lambda ~ Beta(alpha, beta); 0 is no Mixup")
    beta: AxisValue = option("same", "beta, one for each alpha or one for all; 'same' is alpha")
    replicates: int = option(2000, "Training sets a cell")
    seed: int = option(0, "Of every draw")


def _score(law: ScoreLaw, settings: Arrays) -> Arrays:
    """Return the comparison, and quantiles of the differences over the block, the same for each of its replicates."""
    values = EXPERIMENT.score(law, settings)
    for metric in METRICS:
        difference = values[f"{metric}_difference"]
        for name, level in QUANTILES.items():
            quantile = jnp.nanquantile(difference, level, axis=-1, keepdims=True)
            values[f"{metric}_difference_{name}"] = jnp.broadcast_to(quantile, difference.shape)
    return values


def _table(axis: str, config: HighDimension | LowDimension, grid: Grid, moments: Mapping[str, Moments]) -> xr.Dataset:
    quantiles = {f"{metric}_difference_{name}" for metric in METRICS for name in QUANTILES}
    table = comparison_dataset(grid, {name: value for name, value in moments.items() if name not in quantiles})
    for metric in METRICS:
        label = f"{LONG_NAMES[metric]}(mix) - {LONG_NAMES[metric]} over training sets"
        spread = moments[f"{metric}_difference"].standard_deviation
        table[f"{metric}_difference_sd"] = as_variable(grid, spread, f"standard deviation of {label}")
        for name, level in QUANTILES.items():
            value = mean_or_nan(moments[f"{metric}_difference_{name}"])
            long_name = f"{100 * level:g} % quantile of {label}, the mean of those of blocks of {BLOCK}"
            table[f"{metric}_difference_{name}"] = as_variable(grid, value, long_name)
    table = table.assign(expected_variables(grid))
    change: dict[str, Any] = {axis: refined(grid.axes[axis], whole=axis == "n")}
    fine = grid_of(replace(config, **change))
    variables = expected_variables(fine, float64=False) | limit_variables(fine)
    curves = {name: v for name, v in variables.items() if name.endswith(("_expected", "_limit"))}
    return with_curves(table, axis, fine, curves)


EXPERIMENT_WITH_QUANTILES = Experiment(EXPERIMENT.sample, _score)

HIGH_DIMENSION = GridStudy(
    name="high_dimension",
    summary="ECE(mix) - ECE against p/n at fixed n (Theorem 3.1)",
    config=HighDimension,
    presets={
        "quick": {"ratio": "0.05:16:13:log", "replicates": 1000},
        "default": {},
        "full": {"ratio": "0.02:32:81:log", "replicates": 100_000},
    },
    grid=grid_of,
    experiment=EXPERIMENT_WITH_QUANTILES,
    table=partial(_table, "ratio"),
    figures=slice_figures("ratio"),
)

LOW_DIMENSION = GridStudy(
    name="low_dimension",
    summary="ECE(mix) - ECE against n at fixed p (Theorem 3.2)",
    config=LowDimension,
    presets={
        "quick": {"n": "30:1000000:13:log", "replicates": 1000},
        "default": {},
        "full": {"n": "30:100000000:73:log", "replicates": 100_000},
    },
    grid=grid_of,
    experiment=EXPERIMENT_WITH_QUANTILES,
    table=partial(_table, "n"),
    figures=slice_figures("n"),
)
