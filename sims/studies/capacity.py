"""How much a little Mixup helps, against p/n: the derivative of ECE and MCE in alpha at alpha = 0+.

Paper: Theorems 3.3 and 5.3. In each training set the exact law is differentiated in the Mixup weight t at
t = 0 and the calibration error along it, both by forward automatic differentiation; dt/dalpha = 2/(beta + 1).
Where rho = mean/var of the score passes 1 (an under-confident training set) both derivatives change sign, and a mean
over training sets mixes the two signs: P(derivative < 0) is stored beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from mixjax.commands import option
from mixjax.gaussian import ScoreLaw, derivative_at_zero, population_ece, population_mce, sample_scores

from ..engine.moments import Moments
from ..engine.program import Arrays, Experiment
from ..figures.capacity import capacity_figures
from ..grid import AxisValue, Grid, axis, gaussian_grid
from ..study import GridStudy
from .comparison import as_variable, fraction_variables, grid_dataset, mean_variables, negative_with_ties_half
from .curves import refined, with_curves
from .monotonicity import monotonicity

NORMS = {"ece": 1, "mce": np.inf}


@dataclass(frozen=True)
class Capacity:
    """Axes are start:stop:count, start:stop:count:log, or values separated by commas."""

    n: AxisValue = option("1000", "Training sample sizes")
    ratio: AxisValue = option("0.05:16:41:log", "p/n; p is max(1, round(ratio n))")
    theta_norm: AxisValue = option("0.5,1,1.7,2.5", "Signal |theta| / sigma")
    beta: AxisValue = option("1", "beta of lambda ~ Beta(alpha, beta)")
    replicates: int = option(2000, "Training sets a cell")
    seed: int = option(0, "Of every draw")


def _sample(key: jax.Array, cells: Arrays, settings: Arrays, replicates: int) -> tuple[ScoreLaw, ScoreLaw]:
    """Draw the plain law of each training set, and its derivative in t."""
    n, p, theta_norm = (cells[name][:, None] for name in ("n", "p", "theta_norm"))

    def laws(t: jax.Array) -> ScoreLaw:
        return sample_scores(key, n=n, p=p, theta_norm=theta_norm, t=t, replicates=replicates)

    zero = jnp.zeros((1, 1), n.dtype)
    at_zero, slope = jax.jvp(laws, (zero,), (jnp.ones_like(zero),))
    return at_zero, slope


def _score(sample: tuple[ScoreLaw, ScoreLaw], settings: Arrays) -> Arrays:
    law, slope = sample
    rate = 2.0 / (settings["beta"] + 1.0)
    values = {}
    for name, function in (("ece", population_ece), ("mce", population_mce)):
        _, derivative = jax.jvp(function, (law,), (slope,))
        values[f"{name}_derivative"] = derivative * rate[None, :, None]
    values["derivative_negative"] = negative_with_ties_half(values["ece_derivative"])
    return values


def _grid(config: Capacity) -> Grid:
    beta = axis("beta", config.beta, above=True)
    grid = gaussian_grid(n=config.n, ratio=config.ratio, p=None, theta_norm=config.theta_norm, alpha="0", beta="same")
    return Grid(grid.axes, grid.cells, {"alpha": np.zeros_like(beta), "beta": beta, "t": np.zeros_like(beta)})


def _table(config: Capacity, grid: Grid, moments: Mapping[str, Moments]) -> xr.Dataset:
    table = grid_dataset(grid)
    for name in NORMS:
        value, label = moments[f"{name}_derivative"], _label(name)
        spread = f"standard deviation over training sets of {label}"
        table = table.assign(mean_variables(grid, f"{name}_derivative", value, label))
        table[f"{name}_derivative_sd"] = as_variable(grid, value.standard_deviation, spread)
    negative = moments["derivative_negative"]
    table = table.assign(fraction_variables(grid, "derivative_negative", negative, "derivative < 0"))
    used = moments["ece_derivative"].count[:, 0].astype(np.int64)
    table["replicates_used"] = as_variable(grid, used, "replicates that are not degenerate")
    fine = _grid(replace(config, ratio=refined(grid.axes["ratio"])))
    table = with_curves(table.assign(_limits(grid)), "ratio", fine, _limits(fine))
    ratio = table["realized_ratio"].values
    return table.merge(monotonicity(grid.axes["theta_norm"], ratio.min(), ratio.max()))


def _limits(grid: Grid) -> dict[str, xr.Variable]:
    """Compute the limits of the derivatives at fixed p/n; NaN for the MCE where theta is 0 (every MCE is 1/2)."""
    variables = {}
    with jax.enable_x64(True):
        ratio, theta = (a[:, None] for a in (grid.cells["p"] / grid.cells["n"], grid.cells["theta_norm"]))
        for name, norm in NORMS.items():
            limit = np.asarray(derivative_at_zero(ratio, theta, beta=grid.settings["beta"][None, :], norm=norm))
            variables[f"{name}_derivative_limit"] = as_variable(grid, limit, f"limit of {_label(name)}")
    return variables


def _label(name: str) -> str:
    return f"d{name.upper()}/dalpha at alpha = 0+"


STUDY = GridStudy(
    name="capacity",
    summary="the derivative of ECE and MCE in alpha at alpha = 0+ against p/n (Theorems 3.3, 5.3)",
    config=Capacity,
    presets={
        "quick": {"ratio": "0.05:16:13:log", "replicates": 1000},
        "default": {},
        "full": {"ratio": "0.02:128:121:log", "replicates": 100_000},
    },
    grid=_grid,
    experiment=Experiment(_sample, _score),
    table=_table,
    figures=capacity_figures(),
)
