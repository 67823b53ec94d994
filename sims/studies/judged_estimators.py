"""Estimators of calibration error beside the exact value that each is an estimate of, and laws to judge them on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from mixjax.calibration import brier_score, debiased_ece2, ece, kde_ece, mce, nll, signed_gap, smooth_ece, sweep_ece
from mixjax.calibration.intervals import Interval, bootstrap_intervals, mean_interval
from mixjax.gaussian import (
    ScoreLaw,
    population_brier,
    population_ece,
    population_mce,
    population_nll,
    population_signed_gap,
)
from mixjax.typing import Real

Rows = tuple[jax.Array, jax.Array]

LAWS = {  # mean and gap of the score
    "calibrated": (1.2, 0.0),
    "over-confident": (1.2, 0.8),
    "slightly over-confident": (1.2, 0.12),
    "under-confident": (1.8, -0.6),
}


@dataclass(frozen=True)
class Estimator:
    """An estimator, called with (confidence, correct, num_bins), and the exact value of a law.

    Attributes:
      binned: whether the number of bins matters.
      most: rows beyond which it is left out (NaN), for what it costs.
    """

    estimate: Callable[[jax.Array, jax.Array, int], jax.Array]
    truth: Callable[[ScoreLaw], jax.Array]
    binned: bool = True
    most: Real = float("inf")


_rms = partial(population_ece, norm=2)


def _binary(confidence: jax.Array, correct: jax.Array) -> Rows:
    """Return the probabilities of two classes, and labels; class 1 is the predicted one."""
    return jnp.stack([1.0 - confidence, confidence], axis=-1), correct.astype(np.int32)


ESTIMATORS: dict[str, Estimator] = {
    "ECE, equal width": Estimator(lambda c, y, m: ece(c, y, num_bins=m), population_ece),
    "ECE, equal mass": Estimator(lambda c, y, m: ece(c, y, num_bins=m, binning="equal-mass"), population_ece),
    "ECE, sweep": Estimator(lambda c, y, _: sweep_ece(c, y, norm=1), population_ece, binned=False),
    "smooth ECE": Estimator(lambda c, y, _: smooth_ece(c, y), population_ece, binned=False),
    "KDE ECE": Estimator(lambda c, y, _: kde_ece(c, y), population_ece, binned=False, most=1_000),
    "ECE_2, equal width": Estimator(lambda c, y, m: ece(c, y, num_bins=m, norm=2), _rms),
    "ECE_2, debiased": Estimator(lambda c, y, m: debiased_ece2(c, y, num_bins=m)[1], _rms),
    "ECE_2 squared, debiased": Estimator(
        lambda c, y, m: debiased_ece2(c, y, num_bins=m)[0], lambda law: _rms(law) ** 2
    ),
    "MCE": Estimator(lambda c, y, m: mce(c, y, num_bins=m), population_mce),
    "signed gap": Estimator(lambda c, y, _: signed_gap(c, y), population_signed_gap, binned=False),
    "NLL": Estimator(lambda c, y, _: nll(*_binary(c, y)), population_nll, binned=False),
    "Brier score": Estimator(lambda c, y, _: brier_score(*_binary(c, y)), population_brier, binned=False),
}
INTERVALS = ("ECE, equal width", "ECE_2, equal width", "ECE_2 squared, debiased", "signed gap", "NLL", "Brier score")


@partial(jax.jit, static_argnames="size")
def sample(key: jax.Array, law: ScoreLaw, size: int) -> Rows:
    """Draw (confidence, correct) of independent rows under a law."""
    noise = jax.random.normal(key, (size,), np.float32)
    u = jnp.float32(law.mean) + jnp.sqrt(jnp.float32(law.mean) + jnp.float32(law.gap)) * noise  # y v
    return jax.nn.sigmoid(2.0 * jnp.abs(u)), (u > 0).astype(np.float32)


def intervals(key: jax.Array, rows: Rows, bins: int) -> dict[str, Interval]:
    """Compute the 95 % intervals of a sample: from its bins, and of means from the rows' own values."""
    found = bootstrap_intervals(key, *rows, num_bins=bins, replicates=300)
    confidence, correct = (np.asarray(part, np.float64) for part in rows)
    claimed = np.where(correct == 1, confidence, 1.0 - confidence)  # for the class that is right
    return {
        "ECE, equal width": found.ece,
        "ECE_2, equal width": found.rms_ece,
        "ECE_2 squared, debiased": found.debiased_squared_ece,
        "signed gap": found.signed_gap,
        "NLL": mean_interval(-np.log(claimed)),
        "Brier score": mean_interval(2.0 * (1.0 - claimed) ** 2),
    }
