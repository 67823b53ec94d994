"""Where Mixup helps on test data of another mean theta', over |theta'| and the angle between theta and theta'.

Paper: Theorem 3.4, whose condition <theta' - theta, theta> <= sigma^2 p / (2n) is sufficient for some (alpha, beta). In
the limit p/n -> c some Mixup helps if and only if <theta' - theta, theta> < sigma^2 c (`mixjax.gaussian.ood`): the
condition asks for half of what is needed. All cells of one (n, p, |theta|) share their training sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from mixjax.commands import option
from mixjax.gaussian import (
    ScoreLaw,
    best_ood_weight,
    limit_ood_scores,
    mixup_can_help_ood,
    mixup_helps_ood,
    population_accuracy,
    population_ece,
    sample_ood_scores,
)
from mixjax.numerics.crossings import crossings
from mixjax.runs import RunError

from ..engine.moments import Moments
from ..engine.program import Arrays, Experiment
from ..figures.out_of_domain import out_of_domain_figures
from ..grid import AxisValue, Grid, axis, grid_of, with_axes
from ..study import GridStudy
from .comparison import as_variable, fraction_variables, grid_dataset, mean_variables, negative_with_ties_half
from .tables import described


@dataclass(frozen=True)
class OutOfDomain:
    """Axes are start:stop:count, start:stop:count:log, or values separated by commas."""

    n: AxisValue = option("1000", "Training sample sizes")
    ratio: AxisValue = option("0.5,2", "p/n; p is max(1, round(ratio n)), 2 at least")
    theta_norm: AxisValue = option("1.5", "Signal |theta| / sigma")
    test_norm: AxisValue = option("0.2:6:40:log", "|theta'| / sigma of the test data")
    angle: AxisValue = option("0:120:25", "Degrees between theta' and theta, 0 to 180")
    alpha: AxisValue = option("0.05,1", "alpha of lambda ~ Beta(alpha, beta); 0 is no Mixup")
    beta: AxisValue = option("same", "beta, one for each alpha or one for all; 'same' is alpha")
    replicates: int = option(1000, "Training sets a cell")
    seed: int = option(0, "Of every draw")


def _sample(key: jax.Array, cells: Arrays, settings: Arrays, replicates: int) -> ScoreLaw:
    """Draw laws, [cells, 1 + settings + 1, replicates]: plain, the settings, and the weight best in the limit."""
    n, p, theta_norm, test_norm, angle = (cells[name][:, None] for name in _NAMES)
    cosine = jnp.cos(jnp.deg2rad(angle))
    best = jnp.minimum(best_ood_weight(p / n, theta_norm, test_norm=test_norm, cosine=cosine), 0.5)
    fixed = jnp.concatenate([jnp.zeros_like(settings["t"][:1]), settings["t"]])[None]
    t = jnp.concatenate([jnp.broadcast_to(fixed, (len(n), fixed.shape[1])), best], axis=1)
    cell = {"n": n, "p": p, "theta_norm": theta_norm, "test_norm": test_norm, "cosine": cosine}
    return sample_ood_scores(key, **cell, t=t, replicates=replicates)


_NAMES = ("n", "p", "theta_norm", "test_norm", "angle")


def _score(law: ScoreLaw, settings: Arrays) -> Arrays:
    error = population_ece(law)
    plain, mixed, best = error[:, 0], error[:, 1:-1], error[:, -1]
    difference = mixed - plain[:, None]
    return {
        "ece": plain,
        "ece_mix": mixed,
        "ece_best": best,
        "ece_difference": difference,
        "ece_mix_better": negative_with_ties_half(difference),
        "best_difference": best - plain,
        "accuracy": population_accuracy(law)[:, 0],
    }


def _grid(config: OutOfDomain) -> Grid:
    model = grid_of(config)
    if model.cells["p"].min() < 2:
        raise RunError("p = ratio n must be at least 2, for theta' of another direction than theta")
    return with_axes(model, test_norm=axis("test_norm", config.test_norm), angle=angles(config.angle))


def angles(value: AxisValue) -> np.ndarray:
    """Return an axis of angles in degrees."""
    values = axis("angle", value)
    if values.max() > 180:
        raise RunError(f"angle must be from 0 to 180 degrees, got {values.max():g}")
    return values


_LABELS = {
    "ece": "ECE on the test domain",
    "ece_mix": "ECE(mix) on the test domain",
    "ece_best": "ECE of the weight that is best in the limit",
    "ece_difference": "ECE(mix) - ECE on the test domain",
    "best_difference": "ECE of the weight that is best in the limit - ECE, on the test domain",
    "accuracy": "accuracy on the test domain",
}


def _table(config: OutOfDomain, grid: Grid, moments: Mapping[str, Moments]) -> xr.Dataset:
    table = grid_dataset(grid).assign(
        fraction_variables(grid, "ece_mix_better", moments["ece_mix_better"], "ECE(mix) < ECE on the test domain")
    )
    for name, label in _LABELS.items():
        table = table.assign(mean_variables(grid, name, moments[name], label))
    table = table.assign(_limits(grid))
    return table.assign(_measured_share(table))


def _limits(grid: Grid) -> dict[str, xr.Variable]:
    """Compute the limit p/n -> c of each cell, and where the theorem's condition holds."""
    with jax.enable_x64(True):
        n, p, theta_norm, test_norm, angle = (grid.cells[name] for name in _NAMES)
        cosine = np.cos(np.deg2rad(angle))
        cell = {"ratio": p / n, "theta_norm": theta_norm, "test_norm": test_norm, "cosine": cosine}
        t = np.concatenate([[0.0], grid.settings["t"]])[None]
        column = {name: value[:, None] for name, value in cell.items()}
        error = np.asarray(population_ece(limit_ood_scores(**column, t=t)))
        excess = theta_norm * (test_norm * cosine - theta_norm) / (p / n)
        values = {
            "ece_limit": (error[:, 0], "limit of ECE on the test domain"),
            "ece_difference_limit": (error[:, 1:] - error[:, :1], "limit of ECE(mix) - ECE on the test domain"),
            "excess": (excess, "<theta' - theta, theta> in units of sigma^2 p/n"),
            "sufficient": (np.asarray(mixup_helps_ood(**cell)), "whether the condition of Theorem 3.4 holds"),
            "some_mixup_helps_limit": (np.asarray(mixup_can_help_ood(**cell)), "whether some Mixup helps in the limit"),
        }
    return {name: as_variable(grid, value, label) for name, (value, label) in values.items()}


def _measured_share(table: xr.Dataset) -> dict[str, xr.Variable]:
    """Interpolate, for each angle below 60 degrees, the excess up to which the difference is negative."""
    few = table.sel(angle=table["angle"] < 60).sortby("test_norm")
    smooth = few["ece_difference"] / (few["ece"] + few["ece_mix"])  # to interpolate
    arguments, dims = (few["excess"], smooth), [["test_norm"], ["test_norm"]]
    found = xr.apply_ufunc(_first_crossing, *arguments, input_core_dims=dims, vectorize=True)
    text = "largest <theta' - theta, theta>, in units of sigma^2 p/n, at which Mixup helps"
    parts = {"helps_up_to": (found.mean("angle"), "mean"), "helps_up_to_sd": (found.std("angle"), "standard deviation")}
    return {
        name: described(part.dims, part.values, f"{text}: {what} over angles below 60 degrees")
        for name, (part, what) in parts.items()
    }


def _first_crossing(position: np.ndarray, value: np.ndarray) -> float:
    """Return the position at which a value, negative at first, becomes positive; NaN where it does not."""
    found, falls = crossings(position, value)
    return float("nan") if falls.all() else float(found[~falls][0])


STUDY = GridStudy(
    name="out_of_domain",
    summary="where Mixup helps on test data of another mean, over its length and angle (Theorem 3.4)",
    config=OutOfDomain,
    presets={
        "quick": {"test_norm": "0.3:6:16:log", "angle": "0:120:9", "replicates": 300},
        "default": {},
        "full": {
            "ratio": "0.2,0.5,1,2,5",
            "theta_norm": "0.5,1,1.5,2",
            "test_norm": "0.1:10:96:log",
            "angle": "0:180:73",
            "alpha": "0.02,0.05,0.2,1",
            "replicates": 10_000,
        },
    },
    grid=_grid,
    experiment=Experiment(_sample, _score),
    table=_table,
    figures=out_of_domain_figures(),
)
