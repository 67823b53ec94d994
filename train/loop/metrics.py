"""The metrics of a net on a whole test set, by the functions of `mixjax.calibration`.

All are fractions, never percent. Calibration errors are of the top label, in 15 equal-width bins closed at the left.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from mixjax import brier_score, classwise_ece, debiased_ece2, ece, mce
from mixjax.calibration.scoring import nll_from_logits, signed_gap
from mixjax.recalibration import fit_temperature
from mixjax.scores import top_label_from_logits
from mixjax.typing import Real

__all__ = ["METRICS", "best_temperatures", "score_logits"]

NUM_BINS = 15

Logits = Float[Array, "N K"]
Labels = Int[Array, " N"]


def _top_label_metric(metric: Callable[..., jax.Array], **options: Real) -> Callable[[Logits, Labels], jax.Array]:
    return lambda logits, labels: metric(*top_label_from_logits(logits, labels), **options)


METRICS: dict[str, Callable[[Logits, Labels], jax.Array]] = {
    "accuracy": lambda logits, labels: top_label_from_logits(logits, labels)[1].mean(),
    "nll": nll_from_logits,
    "brier": lambda logits, labels: brier_score(jax.nn.softmax(logits), labels),
    "ece": _top_label_metric(ece, num_bins=NUM_BINS),
    "rms_ece": _top_label_metric(ece, num_bins=NUM_BINS, norm=2),
    "mce": _top_label_metric(mce, num_bins=NUM_BINS),
    "signed_gap": _top_label_metric(signed_gap),
    "debiased_squared_ece": lambda logits, labels: (
        debiased_ece2(*top_label_from_logits(logits, labels), num_bins=NUM_BINS).squared
    ),
    "classwise_ece": lambda logits, labels: classwise_ece(jax.nn.softmax(logits), labels, num_bins=NUM_BINS),
}


@jax.jit
def score_logits(
    logits: Float[Array, "members N K"], labels: Int[Array, "members N"]
) -> dict[str, Float[Array, " members"]]:
    """Return every metric of every net; NaN for a net with logits that are not finite.

    Args:
      logits: of all rows of a split.
      labels: of the same rows; members may differ in them.
    """
    return jax.vmap(lambda one, truth: {name: metric(one, truth) for name, metric in METRICS.items()})(
        logits.astype(jnp.float32), labels
    )


@jax.jit
def best_temperatures(logits: Float[Array, "members N K"], labels: Int[Array, "members N"]) -> Float[Array, " members"]:
    """Return the temperature at which each net would have the smallest NLL on these rows; NaN where there is none.

    There is none for a net that is right on every row, is no better than chance, or has diverged.
    """
    return jax.vmap(lambda one, truth: fit_temperature(one, truth).temperature)(logits.astype(jnp.float32), labels)
