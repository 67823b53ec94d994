"""The calibration error of a stream as a metric of flax's nnx, around `CalibrationState`.

flax is imported only here in `mixjax.calibration`: `pip install 'mixjax[nnx]'`.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Literal, get_args

import jax
from jaxtyping import Array, Float

from mixjax.calibration.rows.bins import Bins, Closed
from mixjax.calibration.rows.predictions import Predictions
from mixjax.calibration.state import CalibrationState
from mixjax.numerics.arguments import check_norm
from mixjax.typing import ArrayLike

try:
    from flax import nnx
except ImportError:
    raise ImportError("mixjax.calibration.metric needs flax: pip install 'mixjax[nnx]'") from None

__all__ = ["CalibrationMetric"]

Given = Literal["logits", "probs", "confidence"]


class CalibrationMetric(nnx.Metric):
    """ECE_p of all batches so far, in O(bins) memory and right to 1e-6 at any number of rows.

    It works under `nnx.jit`, and in `nnx.MultiMetric` beside `nnx.metrics.Accuracy` with `given="logits"`.

    Args:
      given: what `update` takes by keyword: "logits" (of classes) or "probs" with `labels`, for the error of the top
        label; "confidence" with `correct`.
      num_bins, edges, closed: as for `CalibrationState.empty`.
      norm: p >= 1, or `inf` for the MCE.
      num_classes: K for the class-wise error of "logits" or "probs", instead of that of the top label.

    Raises:
      ValueError: for options that do not go together.

    Example:
      >>> from mixjax.calibration.metric import CalibrationMetric
      >>> metric = CalibrationMetric("confidence")
      >>> metric.update(confidence=[0.9, 0.6], correct=[1, 0])
      >>> round(float(metric.compute()), 3)
      0.35
    """

    def __init__(
        self,
        given: Given = "logits",
        *,
        num_bins: int = 15,
        edges: ArrayLike | None = None,
        norm: float = 1,
        closed: Closed = "left",
        num_classes: int | None = None,
    ):
        if given not in get_args(Given):
            raise ValueError(f"given must be one of {get_args(Given)}, got {given!r}")
        if given == "confidence" and num_classes is not None:
            raise ValueError("num_classes needs logits or probs, got given='confidence'")
        check_norm(norm)
        self.given, self.norm, self.num_classes = given, norm, num_classes
        self.bins = Bins.of(num_bins, closed=closed, edges=edges)
        for name, value in self._arrays(self._empty()).items():
            setattr(self, name, nnx.metrics.MetricState(value))

    def reset(self) -> None:
        """Forget all batches."""
        self._keep(self._empty())

    def update(
        self,
        *,
        where: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        **batch: ArrayLike,
    ) -> None:
        """Count a batch: logits or probs [N, K] and labels [N], or confidence and correct [N]; others are ignored.

        `mask` is `where` by the name that flax's metrics have for it. Raises TypeError for both, and a missing keyword.
        """
        if where is not None and mask is not None:
            raise TypeError("update needs where or mask, which are the same, got both")
        names = ("confidence", "correct") if self.given == "confidence" else (self.given, "labels")
        for name in names:
            if name not in batch:
                raise TypeError(f"update needs {names[0]} and {names[1]} by keyword, got no {name!r}")
        first, second = (batch[name] for name in names)
        self._keep(self._updated(first, second, weights, mask if where is None else where))

    def compute(self) -> Float[Array, ""]:
        """Return the error; NaN before any row."""
        return self.state.ece(self.norm)

    @property
    def state(self) -> CalibrationState:
        """The state of all batches, to be merged, or summed over devices."""
        arrays = {name: getattr(self, name)[...] for name in self._arrays(self._empty())}
        return CalibrationState(**arrays, bins=self.bins, num_classes=self.num_classes)

    def _updated(
        self, first: ArrayLike, second: ArrayLike, weights: ArrayLike | None, where: ArrayLike | None
    ) -> CalibrationState:
        """Return the state after a batch of confidences, or of logits or probabilities with their labels."""
        if self.given == "logits":
            first = Predictions.of_logits(first, second, weights, where).probs
        if self.given == "confidence" or self.num_classes is not None:
            return self.state.update(first, second, weights=weights, where=where)
        predictions = Predictions.of(first, second, weights, where)
        rows = predictions.top_label()  # wrong ones are NaN, and the state is if they count
        return predictions.raise_if_invalid(
            self.state.update(rows.confidence, rows.correct, weights=rows.weights, where=rows.where)
        )

    def _empty(self) -> CalibrationState:
        return CalibrationState.with_bins(self.bins, self.num_classes)

    def _keep(self, state: CalibrationState) -> None:
        for name, value in self._arrays(state).items():
            getattr(self, name)[...] = value

    @staticmethod
    def _arrays(state: CalibrationState) -> dict[str, jax.Array]:
        return {field.name: getattr(state, field.name) for field in fields(state) if not field.metadata.get("static")}
