"""Reliability diagrams: binned, with intervals and a consistency band, or by isotonic regression; one model or several.

Points are (mean confidence, accuracy) of the bins that hold rows, with Clopper and Pearson's bars, and hollow for a bin
of fewer than ten rows. Boxes are the consistency band, where a point lies with the probability `level` if the scores
are calibrated (Brocker and Smith, 2007). The CORP curve (Dimitriadis, Gneiting and Jordan, 2021) has no bins, and a
band of its own. On the diagonal confidence and accuracy agree; below it a model is overconfident.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mixjax.calibration.reliability_curve import CorpCurve
from mixjax.calibration.reliability_table import Reliability, reliability
from mixjax.plots.diagram import LOOKS, draw_curve, draw_diagonal, draw_histogram, draw_reliability
from mixjax.typing import ArrayLike, Real

if TYPE_CHECKING:
    import jax
    from matplotlib.axes import Axes

_ROUNDING = 1e-6  # of edges in float32

Model: TypeAlias = Reliability | CorpCurve | tuple[ArrayLike, ArrayLike]


def reliability_diagram(
    ax: Axes,
    models: Model | Mapping[str, Model],
    *,
    level: Real = 0.95,
    band: bool | None = None,
    key: jax.Array | None = None,
    edges: np.ndarray | None = None,
    histogram: Axes | None = None,
) -> None:
    """Draw accuracy against confidence, of one model or of up to six by name, on square Axes from 0 to 1.

    Args:
      ax: to draw on; `ax.legend()` explains what is drawn.
      models: a table of `reliability`, a curve of `corp_curve`, or (confidence, correct) for a table of 15 equal-width
        bins; or any of these by name. Rows have no weights.
      level: of bars and bands, point by point, in (0, 1).
      band: True to draw where points of calibrated scores lie; by default only for a single model, since each has its
        own.
      key: random key for the band of a curve; without one a curve has no band.
      edges: of the bins of a table, which are the sides of the boxes of its band; by default a box is as wide as the
        scores in its bin.
      histogram: Axes on which to draw the share of rows in equal-width bins, those of a table or 15.

    Raises:
      ValueError: for more than six models, weights, NaN, a level outside (0, 1), and a histogram of other bins.
      TypeError: for a model that is none of these.

    Example:
      >>> from mixjax.plots import panels, reliability_diagram
      >>> _, (ax,) = panels(1, 1, height=3)
      >>> reliability_diagram(ax, {"plain": ([0.9, 0.6], [1, 0]), "mixup": ([0.7, 0.4], [1, 0])})
      >>> [text.get_text() for text in ax.legend().get_texts()]
      ['calibrated', 'plain', 'mixup']
    """
    named = models if isinstance(models, Mapping) else {"": models}
    if len(named) > len(LOOKS):
        raise ValueError(f"one diagram holds at most {len(LOOKS)} models, got {len(named)}")
    alone = len(named) == 1
    band = alone if band is None else band
    draw_diagonal(ax, "calibrated")
    for (name, model), look in zip(named.items(), LOOKS, strict=False):
        shown, sides = (model, edges) if isinstance(model, Reliability | CorpCurve) else _binned(model)
        if np.isnan(np.asarray(shown.count)).any():
            raise ValueError("a diagram needs rows without NaN; where= of `reliability` leaves rows out")
        if isinstance(shown, CorpCurve):
            draw_curve(ax, shown, level=level, look=look, label=name, key=key if band else None)
        else:
            draw_reliability(ax, shown, level=level, look=look, label=name, band=band, edges=sides)
        if histogram is not None:
            draw_histogram(histogram, _rows_in_bins(shown), look=look, fill=alone)
    ax.set_box_aspect(1)
    ax.set_ylabel("accuracy")
    (histogram or ax).set_xlabel("confidence")
    if histogram is not None:
        histogram.set_ylabel("share of rows")


def _binned(pair: tuple[ArrayLike, ArrayLike]) -> tuple[Reliability, np.ndarray]:
    """Return the table of 15 equal-width bins, and their edges."""
    try:
        confidence, correct = pair
    except (TypeError, ValueError):
        kind = type(pair).__name__ + (f" of {len(pair)}" if isinstance(pair, Sized) else "")
        raise TypeError(f"models must be tables, curves or pairs (confidence, correct), got {kind}") from None
    return reliability(confidence, correct), np.linspace(0, 1, 16)


def _rows_in_bins(model: Reliability | CorpCurve) -> np.ndarray:
    """Return the rows in equal-width bins, 15 of a curve.

    Raises:
      ValueError: for a table of other bins.
    """
    count = np.asarray(model.count, np.float64)
    if isinstance(model, CorpCurve):
        return np.histogram(model.confidence, 15, (0, 1), weights=count)[0]
    left, right = (np.linspace(0, 1, len(count) + 1)[ends][count > 0] for ends in (slice(-1), slice(1, None)))
    lowest, highest = (np.asarray(end)[count > 0] for end in (model.lowest, model.highest))
    if (lowest < left - _ROUNDING).any() or (highest > right + _ROUNDING).any():
        raise ValueError("a histogram needs tables of equal-width bins")
    return count
