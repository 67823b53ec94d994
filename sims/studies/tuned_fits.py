"""The best penalty, Mixup and label smoothing of a logistic fit: a search from the best points of a grid.

A grid of penalties a factor of 2 apart loses up to .003 of NLL to its spacing, more than the gains that are compared.
So the grid gives the starts alone, and L-BFGS-B goes on from them in (log mu, t, eps), with the derivatives of the
limit. t is the Mixup weight of alpha = beta, below 1/2. The ends of the grid are the bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

from mixjax.gaussian import ScoreLaw, at_best_temperature, population_nll

from ..engine.program import HostArrays
from .logistic_laws import metrics_of

CHOICES = ("penalty", "alpha", "smoothing")
ARMS = {  # which of CHOICES are free; the others have the value of no choice
    "none": (False, False, False),
    "weight decay": (True, False, False),
    "Mixup": (False, True, False),
    "smoothing": (False, False, True),
    "weight decay, Mixup": (True, True, False),
    "weight decay, smoothing": (True, False, True),
    "all three": (True, True, True),
}
CRITERIA = ("nll", "nll_scaled")

Laws = Callable[..., ScoreLaw]  # of the facts of a cell, by position, and of CHOICES, by name
Free = tuple[bool, ...]
_NO_FIT = 100.0  # in place of an NLL that is NaN: a search turns back
_STOP = {"ftol": 1e-11, "gtol": 1e-7, "maxiter": 100}


def tuned_arms(laws: Laws, cell: tuple[Any, ...], tried: Mapping[str, np.ndarray]) -> HostArrays:
    """Compute the METRICS and the CHOICES of the best fit of each arm, [criterion, arm].

    Args:
      laws: hashable, `limit_logistic_scores` or `predict_logistic_scores`.
      cell: its arguments but for CHOICES.
      tried: the values of each of CHOICES; the first is that of the arms that do not choose.
    """
    with jax.enable_x64(True):
        grid = np.stack([part.ravel() for part in np.meshgrid(*(tried[name] for name in CHOICES))], axis=1)
        found = metrics_of(_laws_at(laws, cell, grid))
        tuning = [Tuning(laws, cell, criterion, tried, grid, found[criterion]) for criterion in CRITERIA]
        best = np.array([each.best_of_arms() for each in tuning])
        return metrics_of(_laws_at(laws, cell, best)) | {name: best[..., k] for k, name in enumerate(CHOICES)}


def _laws_at(laws: Laws, cell: tuple[Any, ...], choices: Any) -> ScoreLaw:
    return laws(*cell, **{name: choices[..., k] for k, name in enumerate(CHOICES)})


@dataclass(frozen=True)
class Tuning:
    """The search of one cell and criterion, and the values of the criterion on the grid of starts [points, choice]."""

    laws: Laws
    cell: tuple[Any, ...]
    criterion: str
    tried: Mapping[str, np.ndarray]
    grid: np.ndarray
    values: np.ndarray

    def best_of_arms(self) -> list[np.ndarray]:
        """Return the best CHOICES of each arm; those of the arms with one choice less are among its starts."""
        ends: dict[Free, tuple[float, np.ndarray]] = {}
        for free in ARMS.values():
            starts = [end for other, (_, end) in ends.items() if _one_less(other, free)]
            ends[free] = min((self.search(free, start) for start in (*starts, self.start(free))), key=itemgetter(0))
        return [end for _, end in ends.values()]

    def start(self, free: Free) -> np.ndarray:
        """Return the best point of the grid where what is free, and nothing else, differs from no choice."""
        chosen = self.grid != [self.tried[name][0] for name in CHOICES]
        inside = np.flatnonzero((chosen == free).all(axis=1))
        point: np.ndarray = self.grid[inside[np.nanargmin(self.values[inside])]]
        return point

    def search(self, free: Free, start: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the CHOICES where a search over what is free ends."""
        free_ones = np.flatnonzero(free)
        at = _coordinates(start)

        def objective(part: np.ndarray) -> tuple[float, np.ndarray]:
            at[free_ones] = part
            value, slope = _value_and_slope(at, self.cell, laws=self.laws, criterion=self.criterion)
            return float(np.nan_to_num(value, nan=_NO_FIT)), np.nan_to_num(slope)[free_ones]

        if not len(free_ones):
            return objective(at[free_ones])[0], start
        ends = _coordinates(np.stack([[end(self.tried[name]) for name in CHOICES] for end in (np.min, np.max)]))
        found = minimize(
            objective, at[free_ones], jac=True, method="L-BFGS-B", bounds=ends[:, free_ones].T, options=_STOP
        )
        at[free_ones] = found.x
        return float(found.fun), np.array(_choices(at))


def _one_less(other: Free, free: Free) -> bool:
    return sum(other) == sum(free) - 1 and all(np.less_equal(other, free))


def _coordinates(choices: np.ndarray) -> np.ndarray:
    penalty, alpha, smoothing = np.moveaxis(choices, -1, 0)
    return np.stack([np.log(penalty), alpha / (2 * alpha + 1), smoothing], axis=-1)


def _choices(at: Any) -> Any:
    return jnp.stack([jnp.exp(at[0]), at[1] / (1.0 - 2.0 * at[1]), at[2]])


@partial(jax.jit, static_argnames=("laws", "criterion"))
@jax.value_and_grad
def _value_and_slope(at: jax.Array, cell: tuple[jax.Array, ...], *, laws: Laws, criterion: str) -> jax.Array:
    law = _laws_at(laws, cell, _choices(at))
    return population_nll(law if criterion == "nll" else at_best_temperature(law))
