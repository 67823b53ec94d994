"""One-dimensional slices: Monte Carlo points and bands under the exact curves.

`high_dimension` (Theorem 3.1): ECE(mix) - ECE against p/n at fixed n, from the region where Mixup hurts to
the region where it helps. `low_dimension` (Theorem 3.2): the same against n at fixed p, so that p/n -> 0, where
any fixed (alpha, beta) hurts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import xarray as xr

from sims.figures import slice_figures
from sims.grid import AxisValue, Grid, gaussian_grid
from sims.moments import Moments
from sims.studies.comparison import EXPERIMENT, comparison_dataset, expected_variables
from sims.study import Study, option


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


def _table(config: HighDimension | LowDimension, grid: Grid, moments: Mapping[str, Moments]) -> xr.Dataset:
    table = comparison_dataset(grid, moments)
    for name in ("ece", "ece2", "mce"):
        spread = table[f"{name}_difference_se"] * table["replicates_used"] ** 0.5
        table[f"{name}_difference_sd"] = spread.assign_attrs(
            long_name=f"standard deviation over training sets ({name})", units="1"
        )
    return table.assign(expected_variables(grid))


HIGH_DIMENSION = Study(
    name="high_dimension",
    summary="ECE(mix) - ECE against p/n at fixed n (Theorem 3.1)",
    config=HighDimension,
    presets={
        "quick": {"ratio": "0.05:16:13:log", "replicates": 1000},
        "default": {},
        "full": {"ratio": "0.02:32:81:log", "replicates": 100_000},
    },
    grid=lambda config: gaussian_grid(
        n=config.n, ratio=config.ratio, p=None, theta_norm=config.theta_norm, alpha=config.alpha, beta=config.beta
    ),
    experiment=EXPERIMENT,
    table=_table,
    figures=slice_figures("ratio"),
)

LOW_DIMENSION = Study(
    name="low_dimension",
    summary="ECE(mix) - ECE against n at fixed p (Theorem 3.2)",
    config=LowDimension,
    presets={
        "quick": {"n": "30:1000000:13:log", "replicates": 1000},
        "default": {},
        "full": {"n": "30:100000000:73:log", "replicates": 100_000},
    },
    grid=lambda config: gaussian_grid(
        n=config.n, ratio=None, p=config.p, theta_norm=config.theta_norm, alpha=config.alpha, beta=config.beta
    ),
    experiment=EXPERIMENT,
    table=_table,
    figures=slice_figures("n"),
)
