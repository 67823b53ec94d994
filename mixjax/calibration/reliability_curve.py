r"""The CORP reliability curve: correctness against confidence by isotonic regression, with its consistency band.

The band is where the curve of calibrated scores lies, point by point: rows are drawn with replacement, correct with the
probability that each claims, and fitted again. Reference: T. Dimitriadis, T. Gneiting, A. I. Jordan, "Stable
reliability diagrams for probabilistic classifiers" (PNAS 118, 2021).
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from mixjax.calibration.corp import isotonic_regression
from mixjax.calibration.reliability_table import check_level
from mixjax.calibration.rows.clean import as_mask
from mixjax.numerics.arguments import as_floats
from mixjax.numerics.options import check_size
from mixjax.numerics.threefry import single
from mixjax.typing import ArrayLike, Real

_MOST_POINTS = 10_000  # to fit again and again
_MOST_SHOWN = 1001  # of a band


@dataclass(frozen=True, eq=False)
class CorpCurve:
    """The points of the curve, one for each confidence that occurs, in ascending order.

    Example:
      >>> from mixjax.calibration import corp_curve
      >>> corp_curve([0.9, 0.6, 0.6], [1, 0, 1]).accuracy.tolist()
      [0.5, 1.0]
    """

    confidence: Float[np.ndarray, " points"]
    accuracy: Float[np.ndarray, " points"]  # the isotonic fit
    count: Float[np.ndarray, " points"]  # rows of the confidence

    def consistency_band(
        self, key: PRNGKeyArray, level: Real = 0.95, *, replicates: int = 500
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (confidence, low, high): where the curves of calibrated scores lie but for (1 - level)/2 at each end.

        At up to 1001 of the confidences, evenly spread over the points. Of more than 10,000 points neighbors are
        pooled, which are far fewer than the rows of a block then; a replicate takes some milliseconds.
        """
        check_level(level)
        replicates = check_size("replicates", replicates, least=2)
        rng = np.random.default_rng(np.asarray(jax.random.key_data(single(key))).tolist())
        pooled = self._pooled()
        shown = _spread_over(len(pooled.confidence), _MOST_SHOWN)
        curves = np.stack([pooled._calibrated(rng)[shown] for _ in range(replicates)])
        low, high = np.quantile(curves, [0.5 * (1 - level), 0.5 * (1 + level)], axis=0)
        return pooled.confidence[shown], low, high

    def _pooled(self) -> CorpCurve:
        """Return the curve with neighboring points as one, at their mean, where there are very many."""
        if len(self.count) <= _MOST_POINTS:
            return self
        starts = _spread_over(len(self.count), _MOST_POINTS)
        rows, *sums = (np.add.reduceat(self.count * part, starts) for part in (1.0, self.confidence, self.accuracy))
        return CorpCurve(sums[0] / rows, sums[1] / rows, rows)

    def _calibrated(self, rng: np.random.Generator) -> np.ndarray:
        """Return the fit to calibrated rows, drawn again; where none was drawn, that of the point below."""
        from scipy.optimize import isotonic_regression as fit

        size = int(self.count.sum())
        count = rng.multinomial(size, self.count / size)
        drawn = count > 0
        share = rng.binomial(count[drawn], self.confidence[drawn]) / count[drawn]
        return fit(share, weights=count[drawn]).x[np.maximum(np.cumsum(drawn) - 1, 0)]


def corp_curve(confidence: ArrayLike, correct: ArrayLike, *, where: ArrayLike | None = None) -> CorpCurve:
    """Return the isotonic fit of correctness at each confidence that occurs; not under `jit`.

    `weights` are not supported: the band is for whole rows. `isotonic_regression` supports them.

    Args:
      confidence, correct, where: as for `ece`, with the same errors.

    Returns:
      The curve; a block of equal accuracy is a bin that the data have chosen.

    Raises:
      ValueError: also for NaN in a row that counts, and without rows.

    Example:
      >>> from mixjax.calibration import corp_curve
      >>> corp_curve([0.9, 0.6, 0.6], [1, 0, 1]).confidence.round(1).tolist()
      [0.6, 0.9]
    """
    fitted = np.asarray(isotonic_regression(confidence, correct, where=where), np.float64)
    given = np.asarray(as_floats(confidence=confidence)[0], np.float64)
    kept = np.ones(fitted.shape, bool) if where is None else np.asarray(as_mask(where))
    if not kept.any() or np.isnan(fitted[kept]).any():
        raise ValueError("a curve needs rows, and no NaN among them")
    points, first, count = np.unique(np.clip(given[kept], 0, 1), return_index=True, return_counts=True)
    return CorpCurve(points, fitted[kept][first], count.astype(np.float64))


def _spread_over(size: int, most: int) -> np.ndarray:
    """Return at most so many indices below a size, evenly spread, from the first to the last."""
    return np.unique(np.linspace(0, size - 1, most).round().astype(int))
