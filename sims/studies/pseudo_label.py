"""Pseudo-labels: where they help, hurt and overshoot, and where Mixup in the last step repairs what they do.

Paper: Algorithm 1 and Theorems 4.1 to 4.3, over p / n_labeled, n_unlabeled / n_labeled and |theta|. The exact law over
data sets is `sample_pseudo_label_scores`: point by point up to MOST_EXACT unlabeled points, and beyond with normal
sums, or as the option `sums` asks. Overshooting is rho = mean/var of the score above 1: an under-confident classifier.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from mixjax.commands import option
from mixjax.gaussian import (
    ScoreLaw,
    best_weight,
    expected_errors,
    limit_pseudo_label_scores,
    population_accuracy,
    population_ece,
    sample_pseudo_label_scores,
)
from mixjax.gaussian.unlabeled_sums import SumsLaw
from mixjax.runs import RunError

from ..engine.moments import Moments
from ..engine.program import Arrays, Experiment
from ..figures.pseudo_label import pseudo_label_figures
from ..grid import LARGEST, AxisValue, Grid, axis, grid_of, with_axes
from ..study import GridStudy
from .comparison import as_variable, fraction_variables, grid_dataset, mean_or_nan, mean_variables

MOST_EXACT = 10_000  # unlabeled points that are drawn one by one by default
MOST_RATIO = 1e30  # p / n_unlabeled, as large as if there were none


@dataclass(frozen=True, kw_only=True)
class PseudoLabelConfig:
    """Axes are start:stop:count, start:stop:count:log, or values separated by commas."""

    n: AxisValue = option("20,100", "Labeled training points")
    ratio: AxisValue = option("0.1:30:18:log", "p/n; p is max(1, round(ratio n))")
    theta_norm: AxisValue = option("0.5,1,2", "Signal |theta| / sigma")
    unlabeled_per_label: AxisValue = option("0.3:100:14:log", "Unlabeled points / n")
    alpha: AxisValue = option("0.2,1", "alpha of lambda ~ Beta(alpha, beta) in the last step; 0 is no Mixup")
    beta: AxisValue = option("same", "beta, one for each alpha or one for all; 'same' is alpha")
    sums: str = option("auto", "Over unlabeled points: exact, gaussian, or auto, exact up to 10,000 of them")
    replicates: int = option(1000, "Data sets a cell")
    seed: int = option(0, "Of every draw")


def experiment_of(grid: Grid) -> Experiment:
    """Return the experiment with the sums over unlabeled points that the grid asks for."""
    return _experiment(grid.options["sums"])


@lru_cache(maxsize=2)
def _experiment(sums: SumsLaw) -> Experiment:
    return Experiment(partial(_sample, sums=sums), _score)


def _sample(key: jax.Array, cells: Arrays, settings: Arrays, replicates: int, sums: SumsLaw) -> dict[str, ScoreLaw]:
    """Draw laws of shape [cells, settings + 1, replicates]: the settings, and the weight that is best in the limit."""
    n, n_unlabeled, p = (cells[name][:, None] for name in ("n", "n_unlabeled", "p"))
    model = {name: cells[name][:, None] for name in ("theta_norm", "unlabeled_norm")}
    model["cosine"] = jnp.cos(jnp.deg2rad(cells["angle"]))[:, None]
    limit = limit_pseudo_label_scores(p / n, jnp.minimum(p / n_unlabeled, MOST_RATIO), t=0.0, **model)["final"]
    best = jnp.clip(limit.gap / limit.var, 0.0, 0.5)
    t = jnp.concatenate([jnp.broadcast_to(settings["t"][None], (len(n), len(settings["t"]))), best], axis=1)
    data: dict[str, Any] = {"n_labeled": n, "n_unlabeled": n_unlabeled, "p": p, **model}
    return sample_pseudo_label_scores(key, **data, t=t, replicates=replicates, sums=sums)


def _score(laws: dict[str, ScoreLaw], settings: Arrays) -> Arrays:
    first = {name: jax.tree.map(lambda part: part[:, 0], laws[name]) for name in ("init", "final")}
    init, final, mix = population_ece(first["init"]), population_ece(first["final"]), population_ece(laws["mix"])
    values = {
        "ece": init,
        "ece_final": final,
        "ece_mix": mix[:, :-1],
        "ece_best": mix[:, -1],
        "final_difference": final - init,
        "mix_difference": mix[:, :-1] - final[:, None],
        "best_difference": mix[:, -1] - final,
        "repaired_difference": mix[:, -1] - init,
        "accuracy": population_accuracy(first["init"]),
        "accuracy_final": population_accuracy(first["final"]),
    }
    return values | {"overshoot": jnp.where(jnp.isnan(final), jnp.nan, 0.5 * (1.0 - jnp.sign(first["final"].gap)))}


_LABELS = {
    "ece": "ECE of the labeled data's classifier",
    "ece_final": "ECE with pseudo-labels",
    "ece_mix": "ECE with pseudo-labels and Mixup",
    "ece_best": "ECE with pseudo-labels and the Mixup weight that is best in the limit",
    "final_difference": "ECE with pseudo-labels - ECE without",
    "mix_difference": "ECE with pseudo-labels and Mixup - ECE with pseudo-labels",
    "best_difference": "ECE with pseudo-labels and the best Mixup weight - ECE with pseudo-labels",
    "repaired_difference": "ECE with pseudo-labels and the best Mixup weight - ECE without either",
    "accuracy": "accuracy without pseudo-labels",
    "accuracy_final": "accuracy with pseudo-labels",
}


def pseudo_label_grid(config: PseudoLabelConfig) -> Grid:
    """Return the cells of the Gaussian model at every number of unlabeled points, which are of the same domain."""
    grid = with_axes(grid_of(config), unlabeled_per_label=axis("unlabeled_per_label", config.unlabeled_per_label))
    points = np.rint(grid.cells["unlabeled_per_label"] * grid.cells["n"])
    same = {"unlabeled_norm": grid.cells["theta_norm"], "angle": np.zeros_like(points)}
    options = {"sums": _sums(config.sums, points.max())}
    return replace(grid, cells={**grid.cells, "n_unlabeled": points, **same}, options=options)


def _sums(chosen: str, points: float) -> SumsLaw:
    """Return how sums over so many points are drawn.

    Raises:
      RunError: for another name, or too many points.
    """
    if chosen not in ("auto", "exact", "gaussian"):
        raise RunError(f"sums must be auto, exact or gaussian, got {chosen!r}")
    if points > LARGEST:
        raise RunError(f"unlabeled points must be at most {LARGEST:g}, got {points:g}")
    if chosen == "exact" and points > 2**24:
        raise RunError(f"exact sums are for up to 2^24 unlabeled points, got {points:g}; give --sums gaussian")
    exact = chosen == "exact" or (chosen == "auto" and points <= MOST_EXACT)
    return "exact" if exact else "gaussian"


def pseudo_label_table(config: PseudoLabelConfig, grid: Grid, moments: Mapping[str, Moments]) -> xr.Dataset:
    table = grid_dataset(grid)
    for name, label in _LABELS.items():
        table = table.assign(mean_variables(grid, name, moments[name], label))
    event = "rho > 1, under-confident, with pseudo-labels"
    table = table.assign(fraction_variables(grid, "overshoot", moments["overshoot"], event))
    return table.assign(_limits(grid)).assign(_against_labeled(grid, moments["ece_best"]))


def _against_labeled(grid: Grid, mixed: Moments) -> dict[str, xr.Variable]:
    """Compare pseudo-labels and Mixup with Mixup of the labeled data alone, whose expected ECE is exact."""
    n, p, theta = (grid.cells[name].reshape(*grid.shape[:3], -1)[..., :1] for name in ("n", "p", "theta_norm"))
    with jax.enable_x64(True):
        t = np.minimum(np.asarray(best_weight(p / n, theta)), 0.5)
        labeled = np.asarray(expected_errors(n=n, p=p, theta_norm=theta, t=t).ece)
    labeled = np.broadcast_to(labeled, (*grid.shape[:3], np.prod(grid.shape[3:], dtype=int))).ravel()
    label = "ECE of the labeled data with the Mixup weight that is best in the limit"
    difference = f"{_LABELS['ece_best']} - {label}"
    return {
        "ece_labeled_best": as_variable(grid, labeled, f"{label}, its exact expectation"),
        "labeled_best_difference": as_variable(grid, mean_or_nan(mixed) - labeled, difference),
        "labeled_best_difference_se": as_variable(grid, mixed.standard_error, f"standard error of {difference}"),
    }


def _limits(grid: Grid) -> dict[str, xr.Variable]:
    """Compute the limits as the numbers of points grow in proportion to p."""
    with jax.enable_x64(True):
        n, p, n_unlabeled = (grid.cells[name] for name in ("n", "p", "n_unlabeled"))
        model = {name: grid.cells[name] for name in ("theta_norm", "unlabeled_norm")}
        cosine = np.cos(np.deg2rad(grid.cells["angle"]))
        with np.errstate(divide="ignore"):
            ratios = p / n, np.minimum(p / n_unlabeled, MOST_RATIO)
        laws = limit_pseudo_label_scores(*ratios, t=0.0, cosine=cosine, **model)
        plain, final = (np.asarray(population_ece(laws[name])) for name in ("init", "final"))
        slope = np.asarray(laws["final"].slope)
    return {
        "ece_limit": as_variable(grid, plain, "limit of ECE without pseudo-labels"),
        "final_difference_limit": as_variable(grid, final - plain, f"limit of {_LABELS['final_difference']}"),
        "slope_limit": as_variable(grid, slope, "limit of rho = mean/var of the score with pseudo-labels"),
    }


STUDY = GridStudy(
    name="pseudo_label",
    summary="where pseudo-labels help, hurt and overshoot, and where Mixup repairs them (Theorems 4.1-4.3)",
    config=PseudoLabelConfig,
    presets={
        "quick": {
            "n": "20",
            "ratio": "0.1:30:8:log",
            "theta_norm": "0.5,2",
            "unlabeled_per_label": "0.3:100:6:log",
            "replicates": 300,
        },
        "default": {},
        "full": {
            "n": "10,100,1000",
            "ratio": "0.05:50:64:log",
            "theta_norm": "0.5,1,2,3",
            "unlabeled_per_label": "0.1:1000:48:log",
            "replicates": 10_000,
        },
    },
    grid=pseudo_label_grid,
    experiment=experiment_of,
    table=pseudo_label_table,
    figures=pseudo_label_figures(),
)
