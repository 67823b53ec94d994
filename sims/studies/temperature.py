"""Mixup against temperature scaling fitted on held-out points: who is better calibrated, and what both together do.

Beyond the paper. In this model Mixup is nearly a temperature of at most 2, and needs no held-out points; a fitted
temperature may have any value, and an error that falls with their number. Compared on the same training sets: Mixup of
fixed (alpha, beta), of the weight that is best in the limit, and of the weight estimated from the training set
(`estimated_weight`); and Mixup with the held-out points as training points, which is what they could be used for
instead (other draws: these differences are not paired).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from mixjax.commands import option
from mixjax.gaussian import (
    ScoreLaw,
    TemperatureFit,
    best_weight,
    critical_held_out_ratio,
    expected_errors,
    held_out_ece,
    held_out_size_matching,
    limit_scores,
    population_ece,
    sample_training_sets,
    scale_on_held_out,
    scaled_ece,
)
from mixjax.gaussian.beyond.temperature_limits import WeightKind
from mixjax.runs import RunError

from ..engine.moments import Moments
from ..engine.program import Arrays, Experiment
from ..figures.temperature import temperature_figures
from ..grid import AxisValue, Grid, grid_of, positive_axis, with_axes
from ..study import GridStudy
from .comparison import as_variable, fraction_variables, grid_dataset, mean_variables, negative_with_ties_half
from .held_out_worth import worth_variables
from .tables import described

MOST_HELD_OUT = 1e7


@dataclass(frozen=True)
class Temperature:
    """Axes are start:stop:count, start:stop:count:log, or values separated by commas."""

    n: AxisValue = option("200", "Training sample sizes")
    ratio: AxisValue = option("0.05:8:20:log", "p/n; p is max(1, round(ratio n))")
    theta_norm: AxisValue = option("1,2", "Signal |theta| / sigma")
    held_out_ratio: AxisValue = option("0.03:100:18:log", "Held-out points / n; their number is max(1, round(ratio n))")
    alpha: AxisValue = option("0.2,1", "alpha of lambda ~ Beta(alpha, beta)")
    beta: AxisValue = option("same", "beta, one for each alpha or one for all; 'same' is alpha")
    replicates: int = option(1000, "Training sets a cell, each with held-out points of its own")
    seed: int = option(0, "Of every draw")


class Sample(NamedTuple):
    """Laws of shape [cells, 2, weights, replicates], and the fit of those of the plain training sets.

    Weights: no Mixup, the settings, the best, the estimated one (which is not fitted). Before each weight: the training
    points alone, and the held-out points among them.
    """

    law: ScoreLaw
    fit: TemperatureFit


def _sample(key: jax.Array, cells: Arrays, settings: Arrays, replicates: int) -> Sample:
    n, p, theta_norm, points = (cells[name][:, None, None] for name in ("n", "p", "theta_norm", "n_held_out"))
    size = jnp.concatenate([n, n + points], axis=1)
    sets = sample_training_sets(key, n=size, p=p, theta_norm=theta_norm, replicates=replicates)
    fixed = jnp.concatenate([jnp.zeros_like(settings["t"][:1]), settings["t"]])[None, None, :, None]
    best = jnp.minimum(best_weight(p / size, theta_norm), 0.5)[..., None]
    own = sets.estimated_weights()
    wide = (*own.shape[:2], fixed.shape[2], replicates)
    law = sets.scores(jnp.concatenate([jnp.broadcast_to(fixed, wide), jnp.broadcast_to(best, own.shape), own], axis=2))
    training = jax.tree.map(lambda part: part[:, :1], sets)
    fit = scale_on_held_out(training, ScoreLaw(law.mean[:, :1, :-1], law.gap[:, :1, :-1]), n_held_out=points)
    return Sample(law, jax.tree.map(lambda part: part[:, 0], fit))


def _score(sample: Sample, settings: Arrays) -> Arrays:
    """Return errors, and their differences from the error after temperature scaling of no Mixup."""
    (own, pooled), scaled = jnp.moveaxis(population_ece(sample.law), 1, 0), scaled_ece(sample.fit)
    reference, temperature = scaled[:, :1], sample.fit.temperature[:, 0]
    values = {
        "ece": own[:, 0],
        "ece_temperature": scaled[:, 0],
        "plain_difference": own[:, 0] - scaled[:, 0],
        "at_an_end": jnp.where((temperature > 0) & jnp.isfinite(temperature), 0.0, 1.0),
        "ece_mix_temperature": scaled[:, 1:-1],
        "combined_difference": scaled[:, 1:-1] - reference,
    }
    for name, position in WEIGHTS.items():
        difference = (own - reference)[:, position]
        values |= {
            f"ece_{name}": own[:, position],
            f"ece_{name}_pooled": pooled[:, position],
            f"{name}_difference": difference,
            f"{name}_pooled_difference": (pooled - reference)[:, position],
            f"{name}_better": negative_with_ties_half(difference),
        }
    return values


WEIGHTS = {"mix": slice(1, -2), "best": -2, "estimated": -1}


def _grid(config: Temperature) -> Grid:
    """Return the cells of the Gaussian model, each at every number of held-out points."""
    grid = with_axes(grid_of(config), held_out_ratio=positive_axis(config, "held_out_ratio"))
    points = np.maximum(1.0, np.rint(grid.cells["held_out_ratio"] * grid.cells["n"]))
    if points.max() > MOST_HELD_OUT:
        raise RunError(f"held-out points = held_out_ratio n must be at most {MOST_HELD_OUT:g}, got {points.max():g}")
    return replace(grid, cells={**grid.cells, "n_held_out": points})


_WEIGHTS = {"mix": "Mixup", "best": "the best weight", "estimated": "the estimated weight"}
_AFTER, _POOLED = "ECE after temperature scaling", "with the held-out points in training"
_NAMES = {
    "ece": "ECE, plain",
    "ece_temperature": _AFTER,
    "plain_difference": f"ECE, plain, - {_AFTER}",
    "at_an_end": "share of held-out sets whose temperature is 0 or infinite",
    "ece_mix": "ECE(mix)",
    "ece_best": "ECE of the best Mixup weight",
    "ece_estimated": "ECE of the estimated Mixup weight",
    "ece_mix_temperature": "ECE of Mixup after temperature scaling",
    "combined_difference": f"ECE of Mixup after temperature scaling - {_AFTER}",
    **{f"{name}_difference": f"ECE of {weight} - {_AFTER}" for name, weight in _WEIGHTS.items()},
    **{f"{name}_pooled_difference": f"ECE of {weight}, {_POOLED}, - {_AFTER}" for name, weight in _WEIGHTS.items()},
    **{f"ece_{name}_pooled": f"ECE of {weight}, {_POOLED}" for name, weight in _WEIGHTS.items()},
}


def _table(config: Temperature, grid: Grid, moments: Mapping[str, Moments]) -> xr.Dataset:
    table = grid_dataset(grid)
    for name, value in moments.items():
        if name.endswith("_better"):
            event = f"{_NAMES['ece_' + name.removesuffix('_better')]} < ECE after temperature scaling"
            table = table.assign(fraction_variables(grid, name, value, event))
        else:
            table = table.assign(mean_variables(grid, name, value, _NAMES[name]))
    return table.assign(worth_variables(table)).assign(_boundaries(grid))


def _boundaries(grid: Grid) -> dict[str, xr.Variable]:
    """Compute the held-out points / n where temperature scaling equals Mixup, at this n and in the limit."""
    shape = (*grid.shape[:3], -1)
    cells = {name: values.astype(np.float32).reshape(shape) for name, values in grid.cells.items()}
    found = _critical(cells, grid.settings["t"].astype(np.float32))

    def boundary(values: jax.Array, text: str, *more: str) -> xr.Variable:
        long_name = f"held-out points / n beyond which temperature scaling is better calibrated than {text}"
        dims = (*tuple(grid.axes)[:3], *more)
        return described(dims, np.asarray(values, np.float64), long_name)

    return {
        "mix_critical": boundary(found["matching"][..., :-1], "Mixup, at this n", "mixup"),
        "best_critical": boundary(found["matching"][..., -1], "the best Mixup weight, at this n"),
        "best_critical_limit": boundary(found["best"], "the best Mixup weight, in the limit"),
        "estimated_critical_limit": boundary(found["estimated"], "the estimated Mixup weight, in the limit"),
        "ece_temperature_expansion": as_variable(
            grid, np.asarray(found["ece"], np.float64).ravel(), "leading order of ECE after temperature scaling"
        ),
    }


@jax.jit
def _critical(cells: Arrays, weights: jax.Array) -> Arrays:
    """Compute the boundaries of cells of shape [n, ratio, theta_norm, held-out points]."""
    n, p, theta_norm = (cells[name][..., :1] for name in ("n", "p", "theta_norm"))
    best = jnp.minimum(best_weight(p / n, theta_norm), 0.5)
    t = jnp.concatenate([jnp.broadcast_to(weights, (*best.shape[:-1], len(weights))), best], axis=-1)
    law = limit_scores(p / n, theta_norm, 0.0)
    ece = expected_errors(n=n, p=p, theta_norm=theta_norm, t=t).ece
    limits = {
        weight: critical_held_out_ratio(p[..., 0] / n[..., 0], theta_norm[..., 0], weight=weight)
        for weight in get_args(WeightKind)
    }
    return {"matching": held_out_size_matching(law, ece) / n, "ece": held_out_ece(law, cells["n_held_out"]), **limits}


STUDY = GridStudy(
    name="temperature",
    summary="Mixup against temperature scaling fitted on held-out points, over p/n and their number",
    config=Temperature,
    presets={
        "quick": {"ratio": "0.05:8:8:log", "held_out_ratio": "0.03:30:7:log", "replicates": 300},
        "default": {},
        "full": {
            "n": "1000",
            "ratio": "0.02:16:64:log",
            "theta_norm": "0.5,1,1.5,2",
            "held_out_ratio": "0.01:100:48:log",
            "replicates": 10_000,
        },
    },
    grid=_grid,
    experiment=Experiment(_sample, _score),
    table=_table,
    figures=temperature_figures(),
)
