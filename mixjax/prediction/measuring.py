"""A check of a prediction: the same classifiers, fitted to random subsets and scored on the other rows.

A subset is n rows of both classes at random, without replacement; its rows, and those that it is scored on, are
centered where the prediction centers them. The fit is `mixup_logistic_coefficients`, Mixup of all pairs in expectation.
Intervals are Student's, of the mean over subsets of one file: they leave out what another file would change.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import stdtrit

from mixjax.calibration import ece
from mixjax.gaussian import mixup_logistic_coefficients
from mixjax.prediction.features import FileFeatures
from mixjax.prediction.settings import Settings
from mixjax.prediction.table import Cell, Numbers, Prediction
from mixjax.runs import RunError

_LEAST_SCORED = 30  # rows: of fewer, accuracy moves in steps of more than 3 %
_SPAN = 7.0  # of the logarithm of the temperature


class Measured(NamedTuple):
    """A mean over subsets with the ends of its interval."""

    mean: float
    low: float
    high: float


class Check(NamedTuple):
    """What was measured.

    Attributes:
      cells: the arms and penalties that were fitted.
      numbers: of each subset, shape [subsets, cells]; NaN where a fit has not converged.
      level: of the intervals.
    """

    cells: list[Cell]
    numbers: Numbers
    level: float

    def at(self, number: str, cell: Cell) -> Measured:
        """Return the mean of a number over subsets, with its interval."""
        return _interval(getattr(self.numbers, number)[:, self.cells.index(cell)], self.level)

    def difference(self, number: str, first: Cell, second: Cell) -> Measured:
        """Return first - second, paired by subset."""
        values = getattr(self.numbers, number)
        return _interval(values[:, self.cells.index(first)] - values[:, self.cells.index(second)], self.level)


def check_rows(file: FileFeatures, prediction_rows: int, settings: Settings) -> None:
    """Raise RunError unless a subset leaves enough rows to score."""
    if prediction_rows - settings.n < _LEAST_SCORED:
        raise RunError(
            f"--check fits {settings.n} rows and scores the others, at least {_LEAST_SCORED}, and {file.name} has "
            f"{prediction_rows} of these classes; use a smaller --n, or leave out --check"
        )


def measure(file: FileFeatures, prediction: Prediction) -> Check:
    """Fit and score each cell of `Prediction.cells` on every subset; `check_rows` says before whether it can."""
    settings = prediction.settings
    x, y = file.of_pair(prediction.pair)
    x = x - np.asarray(prediction.moments.center)
    kinds = [kind for kind in ("decay", "mixup", "smoothing") if prediction.has(kind)]
    cells = sorted({*prediction.cells(), *(prediction.best("scaled_nll", (kind,)) for kind in kinds)})
    found = []
    for subset in range(settings.subsets):
        rng = np.random.default_rng([settings.seed, subset, *(label % 2**32 for label in prediction.pair)])
        order = rng.permutation(len(y))
        fitted, scored = order[: settings.n], order[settings.n :]
        found.append([_numbers(_fit(x[fitted], y[fitted], prediction, c), x[scored], y[scored]) for c in cells])
    return Check(cells, Numbers(*np.moveaxis(np.array(found), -1, 0)), settings.level)


def _fit(x: np.ndarray, y: np.ndarray, prediction: Prediction, cell: Cell) -> np.ndarray:
    arm, penalty = prediction.arms[cell[0]], prediction.penalties[cell[1]]
    fitted = mixup_logistic_coefficients(
        jnp.asarray(x), jnp.asarray(y), penalty=penalty, alpha=arm.alpha, smoothing=arm.smoothing
    )
    return np.asarray(fitted)


def _numbers(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[float, ...]:
    """Return the fields of `Numbers`; the temperature is the best for these very rows."""
    if np.isnan(w).any():
        return (np.nan,) * len(Numbers._fields)
    margin = y * (x @ w)
    confidence, correct = 1.0 / (1.0 + np.exp(-np.abs(margin))), margin > 0

    def nll(log_factor: float) -> float:
        return float(np.mean(np.logaddexp(0.0, -np.exp(log_factor) * margin)))

    scaled = minimize_scalar(nll, bounds=(-_SPAN, _SPAN), method="bounded").fun
    accuracy = float(correct.mean())
    gap = float(confidence.mean()) - accuracy
    return accuracy, gap, float(ece(confidence, correct)), nll(0.0), min(float(scaled), nll(0.0))


def _interval(values: np.ndarray, level: float) -> Measured:
    mean = float(values.mean())
    half = float(stdtrit(len(values) - 1, 0.5 + 0.5 * level)) * float(values.std(ddof=1)) / len(values) ** 0.5
    return Measured(mean, mean - half, mean + half)
