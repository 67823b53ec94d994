"""All numbers of a set of predictions in one compiled program, under the names of the functions that compute them.

With equal-width bins nothing is sorted: the cost is linear in the rows, so that a training loop can log it every epoch.
"""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from mixjax.calibration.binned import classwise_ece, ece, mce
from mixjax.calibration.debiased import debiased_ece2
from mixjax.calibration.rows.bins import DEFAULT_BINS, Binning, Bins, Closed, NumBins
from mixjax.calibration.rows.clean import Rows, as_scores
from mixjax.calibration.rows.predictions import Predictions
from mixjax.calibration.rows.sums import mean
from mixjax.calibration.scoring import brier_score, nll, nll_from_logits, signed_gap
from mixjax.calibration.smooth import smooth_ece
from mixjax.numerics.meshes import jitted, pooled
from mixjax.typing import ArrayLike

Kind = Literal["probs", "logits", "confidence"]
Summary = dict[str, Float[Array, ""]]


def calibration_summary(
    *,
    probs: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    confidence: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    num_bins: NumBins = DEFAULT_BINS,
    binning: Binning = "equal-width",
    edges: ArrayLike | None = None,
    closed: Closed = "left",
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Summary:
    """Return accuracy, calibration errors and proper scores as a dictionary of scalars, for any logger.

    Args:
      probs, logits, confidence: exactly one of them; probabilities or logits [N, K] go with `labels`, confidences [N]
        with `correct`. Rows of other shapes, as [..., K], are pooled.
      labels: whole numbers in [0, K), shape [N].
      correct: 0 or 1 (or boolean), shape [N].
      num_bins, binning, edges, closed, weights, where: as for `ece`.

    Returns:
      Scalars by name; calibration errors are those of the predicted class. A scalar with the name of a function is its
      value.

      * `num_rows`: how many rows count, or their total weight; `accuracy`, `mean_confidence`: weighted means.
      * `signed_gap`, `ece`, `mce`, `smooth_ece`; `rms_ece`, the ECE of norm 2.
      * `debiased_squared_ece` and `debiased_rms_ece`, both parts of `debiased_ece2`; not with `weights`.
      * `nll`, in nats, which of logits is `nll_from_logits`; `brier_score`. Of confidences they are the scores of the
        claim that the row is correct, and the Brier score counts it once, as `brier_decomposition` does.
      * `classwise_ece`; not of confidences.

      All but `num_rows` are NaN without rows.

    Raises:
      TypeError: unless exactly one kind of scores is given, with its labels or correctness.
      ValueError, TypeError: as the functions.

    Example:
      >>> from mixjax import calibration_summary
      >>> summary = calibration_summary(probs=[[0.25, 0.75], [0.5, 0.5]], labels=[1, 0])
      >>> {name: round(float(summary[name]), 3) for name in ("accuracy", "ece", "nll")}
      {'accuracy': 1.0, 'ece': 0.375, 'nll': 0.49}
    """
    kind = kind_given({"probs": probs, "logits": logits, "confidence": confidence}, labels, correct)
    if kind == "confidence":
        rows = Rows.of(confidence, correct, weights, where)  # type: ignore[arg-type]
        bins = Bins.of(num_bins, binning, closed, edges, num_rows=len(rows.confidence))
        return rows.raise_if_invalid(_of_confidence(rows, bins))
    if logits is None:
        predictions = Predictions.of(probs, labels, weights, where)  # type: ignore[arg-type]
    else:
        predictions = Predictions.of_logits(logits, labels, weights, where)  # type: ignore[arg-type]
        logits = pooled(as_scores("logits", logits, where), kept=1)
    bins = Bins.of(num_bins, binning, closed, edges, num_rows=len(predictions.probs))
    return predictions.raise_if_invalid(_of_classes(predictions, logits, bins))


def kind_given(scores: dict[Kind, object], labels: object, correct: object) -> Kind:
    """Return the kind of the scores that are given.

    Raises:
      TypeError: unless it is one, with `labels` or, for confidences, `correct`, and not the other.
    """
    kinds = [kind for kind, value in scores.items() if value is not None]
    if len(kinds) != 1:
        raise TypeError(f"give exactly one of probs, logits and confidence, got {' and '.join(kinds) or 'none'}")
    partner, other = ("correct", "labels") if kinds[0] == "confidence" else ("labels", "correct")
    given = {"labels": labels is not None, "correct": correct is not None}
    if not given[partner] or given[other]:
        raise TypeError(f"{kinds[0]} needs {partner}, got {' and '.join(filter(given.get, given)) or 'neither'}")
    return kinds[0]


@jitted(static=("bins",))
def _of_confidence(rows: Rows, bins: Bins) -> Summary:
    clean = rows.clean()
    f, y = clean.confidence, clean.correct
    scores = {
        "nll": nll(jnp.stack([1.0 - f, f], axis=-1), y.astype(np.int32), weights=rows.weights, where=rows.where),
        "brier_score": mean((f - y) ** 2, clean.counted),
    }
    return _of_rows(rows, bins) | scores


@jitted(static=("bins",))
def _of_classes(predictions: Predictions, logits: jax.Array | None, bins: Bins) -> Summary:
    probs, labels, weights, where = predictions
    kept: dict[str, Any] = {"weights": weights, "where": where}
    return _of_rows(predictions.top_label(), bins) | {
        "classwise_ece": classwise_ece(probs, labels, **kept, **bins.options),
        "brier_score": brier_score(probs, labels, **kept),
        "nll": nll(probs, labels, **kept) if logits is None else nll_from_logits(logits, labels, **kept),
    }


def _of_rows(rows: Rows, bins: Bins) -> Summary:
    confidence, correct, weights, where = rows
    clean = rows.clean()
    kept: dict[str, Any] = {"weights": weights, "where": where}
    summary = {
        "num_rows": jnp.sum(clean.counted, dtype=clean.counted.dtype).astype(confidence.dtype) * rows.unit,
        "accuracy": mean(clean.correct + 0.0 * clean.confidence, clean.counted),  # NaN, too, for a wrong confidence
        "mean_confidence": mean(clean.confidence, clean.counted),
        "signed_gap": signed_gap(confidence, correct, **kept),
        "ece": ece(confidence, correct, **bins.options, **kept),
        "rms_ece": ece(confidence, correct, norm=2, **bins.options, **kept),
        "mce": mce(confidence, correct, **bins.options, **kept),
        "smooth_ece": smooth_ece(confidence, correct, **kept),
    }
    if weights is None:
        squared, root = debiased_ece2(confidence, correct, where=where, **bins.options)
        summary |= {"debiased_squared_ece": squared, "debiased_rms_ece": root}
    return summary
