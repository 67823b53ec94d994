"""The calibration error of a stream as a metric of clu, around `CalibrationState`, for a `clu.metrics.Collection`.

clu is imported only here: `pip install clu`.
"""

from __future__ import annotations

from typing import Any

from jaxtyping import Array, Float

from mixjax.calibration.batches import Batches, Given
from mixjax.calibration.rows.bins import DEFAULT_BINS, Closed
from mixjax.calibration.state import CalibrationState
from mixjax.typing import ArrayLike, Real

try:
    from clu import metrics
    from flax import struct
except ImportError:
    raise ImportError("mixjax.calibration.clu_metric needs clu: pip install clu") from None

__all__ = ["calibration_error"]


def calibration_error(
    given: Given = "logits",
    *,
    num_bins: int = DEFAULT_BINS,
    edges: ArrayLike | None = None,
    norm: Real = 1,
    closed: Closed = "left",
    num_classes: int | None = None,
) -> type[metrics.Metric]:
    """Return the type of a metric whose value is ECE_p of all batches so far, as in a field of a Collection.

    Like `CalibrationMetric`, it takes its batch by keyword, from the model outputs that a Collection is given. It
    ignores other outputs, and `mask` marks the rows that count.

    Args:
      given, num_bins, edges, norm, closed, num_classes: as for `CalibrationMetric`.

    Returns:
      A subclass of `clu.metrics.Metric`. States are merged, gathered and reduced over devices without loss.

    Raises:
      ValueError, TypeError: as `CalibrationMetric`.

    Example:
      >>> from mixjax.calibration.clu_metric import calibration_error
      >>> metric = calibration_error("confidence").from_model_output(confidence=[0.9, 0.6], correct=[1, 0])
      >>> round(float(metric.compute()), 3)
      0.35
    """
    batches = Batches.of(given, num_bins, edges, norm, closed, num_classes)

    @struct.dataclass
    class CalibrationError(metrics.Metric):
        """ECE_p of all batches so far."""

        state: CalibrationState

        @classmethod
        def empty(cls) -> CalibrationError:
            return cls(batches.empty())

        @classmethod
        def from_model_output(
            cls,
            *,
            where: ArrayLike | None = None,
            mask: ArrayLike | None = None,
            weights: ArrayLike | None = None,
            **batch: Any,
        ) -> CalibrationError:
            return cls(batches.counted(batches.empty(), batch, weights, where, mask))

        def merge(self, other: CalibrationError) -> CalibrationError:
            return self.__class__(self.state.merge(other.state))

        def compute(self) -> Float[Array, ""]:
            return self.state.ece(batches.norm)

    return CalibrationError
