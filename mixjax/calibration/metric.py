"""The calibration error of a stream as a metric of flax's nnx, around `CalibrationState`.

flax is imported only here in `mixjax.calibration`: `pip install 'mixjax[nnx]'`.
"""

from __future__ import annotations

from dataclasses import fields, replace

import jax
from jaxtyping import Array, Float

from mixjax.calibration.batches import Batches, Given
from mixjax.calibration.rows.bins import DEFAULT_BINS, Closed
from mixjax.calibration.state import CalibrationState
from mixjax.typing import ArrayLike, Real

try:
    from flax import nnx
except ImportError:
    raise ImportError("mixjax.calibration.metric needs flax: pip install 'mixjax[nnx]'") from None

__all__ = ["CalibrationMetric"]


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
        num_bins: int = DEFAULT_BINS,
        edges: ArrayLike | None = None,
        norm: Real = 1,
        closed: Closed = "left",
        num_classes: int | None = None,
    ):
        self.batches = Batches.of(given, num_bins, edges, norm, closed, num_classes)
        for name, value in _arrays(self.batches.empty()).items():
            setattr(self, name, nnx.metrics.MetricState(value))

    def reset(self) -> None:
        """Forget all batches."""
        self._keep(self.batches.empty())

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
        self._keep(self.batches.counted(self.state, batch, weights, where, mask))

    def compute(self) -> Float[Array, ""]:
        """Return the error; NaN before any row."""
        return self.state.ece(self.batches.norm)

    @property
    def state(self) -> CalibrationState:
        """The state of all batches, to be merged, or summed over devices."""
        empty = self.batches.empty()
        return replace(empty, **{name: getattr(self, name)[...] for name in _arrays(empty)})

    def _keep(self, state: CalibrationState) -> None:
        for name, value in _arrays(state).items():
            getattr(self, name)[...] = value


def _arrays(state: CalibrationState) -> dict[str, jax.Array]:
    return {field.name: getattr(state, field.name) for field in fields(state) if not field.metadata.get("static")}
