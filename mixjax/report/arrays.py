"""The report of `mixjax report FILE`, from arrays in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import jax
import numpy as np

from mixjax.calibration.groups import group_names
from mixjax.calibration.rows.bins import DEFAULT_BINS, Binning, Closed
from mixjax.calibration.rows.clean import Rows, as_mask, as_scores
from mixjax.calibration.rows.predictions import Predictions
from mixjax.calibration.summary import Kind, kind_given
from mixjax.commands.origin import versions
from mixjax.numerics.arguments import as_array
from mixjax.numerics.meshes import pooled
from mixjax.report.class_names import class_names, listed, places_among
from mixjax.report.comparison import check_pair
from mixjax.report.frames import classes_of, in_order, refuse_other_columns, refuse_other_order
from mixjax.report.groups import Groups
from mixjax.report.metrics import Settings
from mixjax.report.numbers import numbered_row
from mixjax.report.reading import FilePredictions
from mixjax.report.whole import CalibrationReport
from mixjax.runs import RunError
from mixjax.typing import ArrayLike

__all__ = ["of_arrays"]

Scores: TypeAlias = ArrayLike | Mapping[str, ArrayLike]


def of_arrays(
    *,
    probs: Scores | None = None,
    logits: Scores | None = None,
    confidence: Scores | None = None,
    labels: ArrayLike | None = None,
    correct: Scores | None = None,
    where: ArrayLike | None = None,
    groups: ArrayLike | Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    num_bins: int = DEFAULT_BINS,
    binning: Binning = "equal-width",
    closed: Closed = "left",
    level: float = 0.95,
    seed: int = 0,
) -> CalibrationReport:
    """Return the report that `mixjax report` makes from a file: every number with its interval, to print or to write.

    Args:
      probs, logits, confidence: exactly one of them; probabilities or logits [N, K] go with `labels`, confidences [N]
        with `correct`. To compare two models on the same rows, pass a mapping from their names to these.
      labels: whole numbers in [0, K), shape [N]; or names out of `classes`, which may be numbers too.
      correct: 0 or 1, shape [N]; for two models a mapping too.
      where: shape [N]: rows that are False are left out.
      groups: shape [N]: of each row the name or the number of its group. The report has accuracy, ECE and signed gap of
        each group, by `group_intervals`.
      classes: names of the K classes, in the order of the scores, as a scikit-learn model has them in `classes_`; by
        default the columns of a DataFrame of scores, for labels that are text or of which one names a column. A
        DataFrame that has these columns (prob_cat or logit_cat for cat, too) may have them in any order.
      num_bins, binning, closed: as for `ece`.
      level: of every interval and band, in (0, 1).
      seed: of the bootstrap and of the test.

    Returns:
      A `CalibrationReport`. float64 arrays are computed in float64, others in float32, whatever JAX is set to.

    Raises:
      TypeError: unless exactly one kind of scores is given, with its labels or correctness.
      ValueError: for more than two models; for two with different numbers of rows or classes; for groups of another
        shape; for classes that are not those of the scores, or not those of the labels; for pandas objects with the
        same index in another order; without rows, for NaN in a row, and as the functions of `mixjax.calibration`.

    Example:
      >>> from mixjax.report import of_arrays
      >>> probs = {"plain": [[0.9, 0.1], [0.2, 0.8]], "mixup": [[0.7, 0.3], [0.4, 0.6]]}
      >>> pair = of_arrays(probs=probs, labels=[0, 0])
      >>> round(pair.differences["signed gap"].estimate, 3)
      -0.2
    """
    kind = kind_given({"probs": probs, "logits": logits, "confidence": confidence}, labels, correct)
    names = () if classes is None else class_names(classes)
    settings = Settings(num_bins, binning, closed, level, seed)
    scores = _by_name({"probs": probs, "logits": logits, "confidence": confidence}[kind])
    right = _by_name(correct if kind == "confidence" else labels, scores)
    what = "correct" if kind == "confidence" else "labels"
    if len(scores) not in (1, 2):
        raise ValueError(f"a report takes one model or two, got {len(scores)}")
    refuse_other_order({**_of_models(kind, scores), **_of_models(what, right), "where": where, "groups": groups})
    for values in scores.values():
        refuse_other_columns(kind, values)
    if kind != "confidence":
        names = names or classes_of(scores, right)
        scores = {model: in_order(values, names) for model, values in scores.items()} if names else scores
        right = {model: places_among(names, values, where) for model, values in right.items()} if names else right
    with jax.enable_x64(True):
        files = [_predictions(name, kind, scores[name], right[name], where, groups, names) for name in scores]
        if len(files) == 1:
            return CalibrationReport.of(files, list(scores), settings, versions())
        try:
            check_pair(*files)
        except RunError as error:
            raise ValueError(str(error)) from None
        titles = [f"{letter}: {name}" for letter, name in zip("AB", scores, strict=True)]
        return CalibrationReport.of(files, titles, settings, versions())


def _by_name(values: Any, names: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """Return arrays by the name of their model: one array is that of every name, by default of "model"."""
    if not isinstance(values, Mapping):
        return dict.fromkeys(names or ("model",), values)
    if names is not None and values.keys() != names.keys():
        raise ValueError(f"models must have the same names, got {listed([*names])} and {listed([*values])}")
    return values


def _of_models(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return arrays by what messages call them."""
    return {name if len(values) == 1 else f"{name} of {model}": array for model, array in values.items()}


def _predictions(
    name: str,
    kind: Kind,
    scores: ArrayLike,
    right: ArrayLike,
    where: ArrayLike | None,
    groups: ArrayLike | Sequence[str] | None,
    classes: tuple[str, ...],
) -> FilePredictions:
    """Check the rows that count of one model.

    Raises:
      ValueError, TypeError: for wrong shapes, dtypes or values, NaN among them, and without rows.
    """
    given = as_scores(kind, scores, where)
    if kind != "confidence" and given.shape[-1] < 2:
        raise ValueError(f"{kind} must have a column for each of 2 or more classes, got shape {given.shape}")
    if kind == "confidence":
        rows = Rows.of(given, right, None, where)
        values, labels = rows.confidence, rows.correct
        checked = rows.raise_if_invalid(rows.clean().confidence)
    else:
        to_predictions = Predictions.of_logits if kind == "logits" else Predictions.of
        predictions = to_predictions(given, right, None, where)
        values, labels = pooled(given, kept=1), predictions.labels
        checked = predictions.raise_if_invalid(predictions.top_label().confidence)
    kept = np.ones(len(labels), bool) if where is None else np.asarray(as_mask(where)).ravel()
    missing = np.isnan(np.asarray(checked)) & kept
    if missing.any():
        raise ValueError(f"{kind} must not be NaN, as in row {int(np.argmax(missing))}; where= leaves rows out")
    if not kept.any():
        raise ValueError(f"{kind} must have rows that count, got none of {len(kept)}")
    of_rows = None
    if groups is not None:
        names = group_names(groups, kept.reshape(np.shape(as_array("labels", right)))).ravel()[kept]
        found, codes = np.unique(names, return_inverse=True)
        of_rows = Groups("groups", found.tolist(), codes)
    if classes and (kind == "confidence" or len(classes) != np.shape(values)[1]):
        raise ValueError(f"classes must name the columns of the scores, got {len(classes)} for {np.shape(values)}")
    return FilePredictions(
        name,
        "",
        "binary" if kind == "confidence" else kind,
        np.asarray(values)[kept],
        np.asarray(labels)[kept].astype(np.int64),
        missing=np.zeros(int(kept.sum()), bool),
        row_name=numbered_row,
        groups=of_rows,
        class_names=classes,
    )
