"""The predicted numbers of two classes: every arm with every penalty, from their moments and n."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mixjax.gaussian import (
    ClassMoments,
    ScoreLaw,
    at_best_temperature,
    class_moments,
    population_accuracy,
    population_ece,
    population_nll,
    population_signed_gap,
    predict_logistic_scores,
    separable_ratio,
)
from mixjax.prediction.features import FileFeatures, Pair
from mixjax.prediction.settings import Arm, Settings
from mixjax.runs import RunError


class Numbers(NamedTuple):
    """Numbers of classifiers, arrays of one shape; `scaled_nll` is that after the best temperature."""

    accuracy: np.ndarray
    signed_gap: np.ndarray
    ece: np.ndarray
    nll: np.ndarray
    scaled_nll: np.ndarray


NAMES = ("accuracy", "signed gap", "ECE", "NLL", "NLL after the best temperature")  # of the fields of `Numbers`
Cell = tuple[int, int]  # numbers of an arm and of a penalty


@dataclass(frozen=True)
class Prediction:
    """The prediction for a pair of classes.

    Attributes:
      pair: their labels.
      rows: of each class in the file.
      variances: of each class, summed over features.
      settings: the options.
      arms: ways to train.
      penalties: mu, ascending.
      moments: of the classes.
      numbers: predicted, shape [arms, penalties]; NaN where none was found.
    """

    pair: Pair
    rows: tuple[int, int]
    variances: tuple[float, float]
    settings: Settings
    arms: list[Arm]
    penalties: tuple[float, ...]
    moments: ClassMoments
    numbers: Numbers

    @property
    def num_features(self) -> int:
        """The number of features p."""
        return len(self.moments.eigenvalues)

    def best(self, number: str, kinds: tuple[str, ...] = ("decay", "mixup", "smoothing")) -> Cell:
        """Return the arm and penalty, among arms of these kinds, with the least NLL, scaled NLL or ECE."""
        values = getattr(self.numbers, number)
        mine = np.array([arm.kind in kinds for arm in self.arms])
        lowest = int(np.nanargmin(np.where(mine[:, None], values, np.inf)))
        return divmod(lowest, len(self.penalties))

    def best_of_arm(self, number: str, arm: int) -> Cell:
        """Return the arm with the penalty at which its number is least."""
        return arm, int(np.nanargmin(getattr(self.numbers, number)[arm]))

    def at(self, number: str, cell: Cell) -> float:
        """Return a number of an arm with a penalty."""
        return float(getattr(self.numbers, number)[cell])

    def has(self, kind: str) -> bool:
        """Return whether an arm is of a kind."""
        return any(arm.kind == kind for arm in self.arms)

    def cells(self) -> list[Cell]:
        """Return what tables show: of each arm its best penalty by NLL and, where it is another, by ECE."""
        each = ([self.best_of_arm("nll", arm), self.best_of_arm("ece", arm)] for arm in range(len(self.arms)))
        return [cell for both in each for cell in sorted(set(both))]


def predict_pair(file: FileFeatures, pair: Pair, settings: Settings, penalties: tuple[float, ...]) -> Prediction:
    """Predict every arm with every penalty for two classes.

    Raises:
      RunError: for features that are constant, a penalty that is not positive, and an arm of which nothing is found.
    """
    x, y = file.of_pair(pair)
    moments = class_moments(jnp.asarray(x), jnp.asarray(y))
    _refuse_no_penalty(penalties, moments, settings.n)
    arms = settings.arms
    with jax.enable_x64(True):  # float32 resolves no soft labels that are met
        numbers = numbers_of_laws(predicted_laws(moments, settings.n, arms, penalties))
    if np.isnan(numbers.nll).all(axis=1).any():
        raise RunError(
            f"{file.name}: the prediction for the classes {pair[0]} and {pair[1]} was not found numerically with any "
            f"penalty from {min(penalties):g} to {max(penalties):g}; --penalties may be nearer to the features' scale"
        )
    rows = int(np.sum(y < 0)), int(np.sum(y > 0))
    first, second = (float(x[y == sign].var(axis=0, ddof=1).sum()) for sign in (-1, 1))
    return Prediction(pair, rows, (first, second), settings, arms, penalties, moments, numbers)


def predicted_laws(moments: ClassMoments, n: int, arms: list[Arm], penalties: tuple[float, ...]) -> ScoreLaw:
    """Return the laws of the score, shape [arms, penalties]."""
    alpha, smoothing = (np.array([getattr(arm, name) for arm in arms])[:, None] for name in ("alpha", "smoothing"))
    return predict_logistic_scores(
        moments.eigenvalues, moments.theta_squared, n, penalty=np.array(penalties)[None], alpha=alpha,
        smoothing=smoothing,
    )  # fmt: skip


def numbers_of_laws(law: ScoreLaw) -> Numbers:
    """Return the numbers of laws, and the NLL after the best temperature."""
    return Numbers(*map(np.asarray, _numbers(law)))


@jax.jit
def _numbers(law: ScoreLaw) -> tuple[jax.Array, ...]:
    scaled = population_nll(at_best_temperature(law))
    return population_accuracy(law), population_signed_gap(law), population_ece(law), population_nll(law), scaled


def _refuse_no_penalty(penalties: tuple[float, ...], moments: ClassMoments, n: int) -> None:
    if min(penalties) > 0:
        return
    s, theta_squared = np.asarray(moments.eigenvalues), np.asarray(moments.theta_squared)
    seen = s > 1e-9 * s.max()
    norm = float(np.sqrt(np.sum(theta_squared[seen] / s[seen])))
    ratio = float(separable_ratio(norm))
    raise RunError(
        f"--penalties must be positive, got {min(penalties):g}: without one there is no fit where the classes are "
        f"separable, and such classes (|theta| {norm:.2g} when whitened) are from p/n = {ratio:.2g} on, where p/n is "
        f"{len(s) / n:.2g} here"
    )
