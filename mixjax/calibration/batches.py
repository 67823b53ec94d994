"""What a metric object counts of its batches, for flax's nnx and clu alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mixjax.calibration.rows.bins import Bins, Closed
from mixjax.calibration.rows.predictions import Predictions
from mixjax.calibration.state import CalibrationState
from mixjax.numerics.options import check_norm, check_option, check_size
from mixjax.typing import ArrayLike, Real

Given = Literal["logits", "probs", "confidence"]


@dataclass(frozen=True)
class Batches:
    """The options of a metric: which arrays of a batch it takes, and which error it has."""

    given: Given
    bins: Bins
    norm: Real
    num_classes: int | None

    @classmethod
    def of(
        cls, given: Given, num_bins: int, edges: ArrayLike | None, norm: Real, closed: Closed, num_classes: int | None
    ) -> Batches:
        """Check the options.

        Raises:
          ValueError, TypeError: for wrong options, and those that do not go together.
        """
        check_option("given", given, Given)
        if given == "confidence" and num_classes is not None:
            raise ValueError("num_classes needs logits or probs, got given='confidence'")
        check_norm(norm)
        if num_classes is not None:
            check_size("num_classes", num_classes)
        return cls(given, Bins.of(num_bins, closed=closed, edges=edges), norm, num_classes)

    def empty(self) -> CalibrationState:
        """Return the state before any batch."""
        return CalibrationState.with_bins(self.bins, self.num_classes)

    def counted(
        self,
        state: CalibrationState,
        batch: Mapping[str, ArrayLike],
        weights: ArrayLike | None,
        where: ArrayLike | None,
        mask: ArrayLike | None,
    ) -> CalibrationState:
        """Return the state with one more batch; `mask` is flax's name for `where`.

        Raises:
          TypeError: for both, and for a missing keyword.
          ValueError, TypeError: as `CalibrationState.update`.
        """
        if where is not None and mask is not None:
            raise TypeError("give where or mask, which are the same, got both")
        names = ("confidence", "correct") if self.given == "confidence" else (self.given, "labels")
        for name in names:
            if name not in batch:
                raise TypeError(f"{names[0]} and {names[1]} are needed by keyword, got no {name!r}")
        first, second = (batch[name] for name in names)
        where = mask if where is None else where
        if self.given == "confidence":
            return state.update(first, second, weights=weights, where=where)
        to_predictions = Predictions.of_logits if self.given == "logits" else Predictions.of
        predictions = to_predictions(first, second, weights, where)
        if self.num_classes is not None:
            kept = {"weights": predictions.weights, "where": predictions.where}
            return state.update_probs(predictions.probs, predictions.labels, **kept)
        rows = predictions.top_label()  # wrong ones are NaN, and the state is if they count
        return predictions.raise_if_invalid(
            state.update(rows.confidence, rows.correct, weights=rows.weights, where=rows.where)
        )
