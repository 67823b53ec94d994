"""Plain against Mixup on the same training sets: the experiment that the phase diagram and the slices share."""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from mixjax.gaussian import (
    ScoreLaw,
    critical_ratio,
    expected_errors,
    limit_scores,
    population_accuracy,
    population_errors,
    sample_scores,
)

from ..engine.moments import Moments
from ..engine.program import Arrays, Experiment
from ..grid import Grid
from .tables import described

METRICS = {"ece": 1, "rms_ece": 2, "mce": np.inf}  # name -> norm
LONG_NAMES = {"ece": "ECE", "rms_ece": "ECE_2", "mce": "MCE", "accuracy": "accuracy"}


def _sample(key: jax.Array, cells: Arrays, settings: Arrays, replicates: int) -> ScoreLaw:
    """Draw laws of shape [cells, 1 + settings, replicates]: the plain classifier first."""
    n, p, theta_norm = (cells[name][:, None] for name in ("n", "p", "theta_norm"))
    t = jnp.concatenate([jnp.zeros_like(settings["t"][:1]), settings["t"]])
    return sample_scores(key, n=n, p=p, theta_norm=theta_norm, t=t[None, :], replicates=replicates)


def _score(law: ScoreLaw, settings: Arrays) -> Arrays:
    values: Arrays = {}
    no_mixup = settings["t"][None, :, None] == 0  # nothing changes, not even the last digit
    for name, error in population_errors(law)._asdict().items():
        plain = error[:, :1]
        mixed = jnp.where(no_mixup, plain, error[:, 1:])
        difference = mixed - plain
        values[name], values[f"{name}_mix"], values[f"{name}_difference"] = error[:, 0], mixed, difference
        values[f"{name}_mix_better"] = negative_with_ties_half(difference)
    accuracy = population_accuracy(law)
    values["accuracy"], values["accuracy_mix"] = accuracy[:, 0], accuracy[:, 1:]
    return values


EXPERIMENT = Experiment(_sample, _score)


def negative_with_ties_half(value: jax.Array) -> jax.Array:
    """Return 1 where a value is negative, 1/2 where it is exactly 0, and 0 where it is positive; NaN stays."""
    return 0.5 * (1.0 - jnp.sign(value))


TIES = "an exact tie counts one half; where all training sets tie, the difference and its standard error are 0"


def comparison_dataset(grid: Grid, moments: Mapping[str, Moments]) -> xr.Dataset:
    """Make a table of means, standard errors, P(mix better) with its 95 % Wilson interval, and limits."""
    table = grid_dataset(grid)
    for name, value in moments.items():
        if name.endswith("_mix_better"):
            table = table.assign(fraction_variables(grid, name, value, _label(name)))
        else:
            table = table.assign(mean_variables(grid, name, value, _label(name)))
    used = moments["ece"].count.astype(np.int64)
    table["replicates_used"] = as_variable(grid, used, "replicates that are not degenerate")
    return table.assign(limit_variables(grid))


def expected_variables(grid: Grid, *, float64: bool = True) -> dict[str, xr.Variable]:
    """Compute the expectations of the errors and their differences (`expected_errors`); float32 is faster."""
    with jax.enable_x64(float64):
        n, p, theta_norm = (grid.cells[name][:, None] for name in ("n", "p", "theta_norm"))
        t = np.concatenate([[0.0], grid.settings["t"]])[None, :]
        errors = expected_errors(n=n, p=p, theta_norm=theta_norm, t=t)
    variables = {}
    for name, error in errors._asdict().items():
        error = np.asarray(error, np.float64)
        difference = f"{name}_difference"
        variables[f"{name}_expected"] = as_variable(grid, error[:, 0], f"expected {LONG_NAMES[name]}")
        variables[f"{difference}_expected"] = as_variable(
            grid, error[:, 1:] - error[:, :1], f"expected {_label(difference)}"
        )
    return variables


def limit_variables(grid: Grid) -> dict[str, xr.Variable]:
    """Compute the limits of the errors and differences at each cell's own p/n, and the phase boundaries."""
    with jax.enable_x64(True):
        ratio, theta_norm = grid.cells["p"] / grid.cells["n"], grid.cells["theta_norm"]
        t = np.concatenate([[0.0], grid.settings["t"]])[None, :]
        errors = jax.jit(population_errors)(limit_scores(ratio[:, None], theta_norm[:, None], t))
        boundaries = {
            name: np.asarray(critical_ratio(grid.axes["theta_norm"][:, None], t[:, 1:], norm=norm))
            for name, norm in METRICS.items()
        }
    variables = {}
    for name, error in errors._asdict().items():
        error = np.asarray(error)
        difference = f"{name}_difference"
        variables[f"{name}_limit"] = as_variable(grid, error[:, 0], f"limit of {LONG_NAMES[name]} as p/n stays")
        variables[f"{difference}_limit"] = as_variable(
            grid, error[:, 1:] - error[:, :1], f"limit of {_label(difference)}"
        )
        text = f"p/n above which Mixup lowers the {LONG_NAMES[name]}, in the limit"
        variables[f"{name}_critical_ratio"] = described(("theta_norm", "mixup"), boundaries[name], text)
    return variables


def grid_dataset(grid: Grid) -> xr.Dataset:
    """Return the coordinates of a grid."""
    settings = {name: ("mixup", values) for name, values in grid.settings.items()}
    table = xr.Dataset(coords={**grid.axes, **settings})
    dims = tuple(grid.axes)
    p, n = (grid.cells[name].reshape(*grid.shape[:2], -1)[..., 0] for name in ("p", "n"))
    realized = {"realized_p": (dims[:2], p), "realized_ratio": (dims[:2], p / n)}
    return table.assign_coords(realized)


def as_variable(grid: Grid, values: np.ndarray, long_name: str) -> xr.Variable:
    """Lay out values with a leading axis of cells along the axes of the grid."""
    dims = (*grid.axes, "mixup")[: len(grid.axes) + values.ndim - 1]
    return described(dims, values.reshape(grid.shape + values.shape[1:]), long_name)


def mean_variables(grid: Grid, name: str, value: Moments, label: str) -> dict[str, xr.Variable]:
    """Return the mean of a value, NaN where every replicate was degenerate, and its standard error."""
    return {
        name: as_variable(grid, mean_or_nan(value), label),
        f"{name}_se": as_variable(grid, value.standard_error, f"standard error of {label}"),
    }


def fraction_variables(grid: Grid, name: str, value: Moments, event: str) -> dict[str, xr.Variable]:
    """Return P(event) with its 95 % Wilson interval, from moments of `negative_with_ties_half`."""
    low, high = wilson_interval(value.mean, value.count)
    parts = {"": mean_or_nan(value), "_low": low, "_high": high}
    variables = {name + suffix: as_variable(grid, part, f"P({event})") for suffix, part in parts.items()}
    for variable in variables.values():
        variable.attrs["ties"] = TIES
    return variables


def wilson_interval(
    fraction: np.ndarray, count: np.ndarray, z: float = 1.959963984540054
) -> tuple[np.ndarray, np.ndarray]:
    """Return the 95 % interval of a binomial fraction (Wilson 1927): [0, 1] without data, never empty at 0 or 1."""
    count = np.maximum(count, 1e-300)
    center = (fraction + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * np.sqrt(fraction * (1 - fraction) / count + z**2 / (4 * count**2))
    return np.where(fraction > 0, center - half, 0.0), np.where(fraction < 1, center + half, 1.0)


def mean_or_nan(value: Moments) -> np.ndarray:
    """Return the mean, NaN where every replicate was degenerate."""
    return np.where(value.count > 0, value.mean, np.nan)


def _label(name: str) -> str:
    (metric,) = (metric for metric in LONG_NAMES if name.startswith(metric))
    long_name = LONG_NAMES[metric]
    if name.endswith("_mix_better"):
        return f"{long_name}(mix) < {long_name}"
    if name.endswith("_difference"):
        return f"{long_name}(mix) - {long_name}"
    return f"{long_name}(mix)" if name.endswith("_mix") else long_name
