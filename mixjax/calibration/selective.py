r"""Selective prediction: the risk that is left when a model answers only where it is confident.

The model answers the rows whose confidence is at least that of row i. With weights w (1 for each row without),

    coverage_i = sum_{f_j >= f_i} w_j / sum_j w_j,    risk_i = sum_{f_j >= f_i} w_j (1 - y_j) / sum_{f_j >= f_i} w_j,
    AURC = sum_i w_i risk_i / sum_i w_i.

Rows of equal confidence are answered together, so that their order never matters. References: Y. Geifman, R. El-Yaniv,
"Selective classification for deep neural networks" (NeurIPS 2017); Y. Geifman, G. Uziel, R. El-Yaniv, "Bias-reduced
uncertainty estimation for deep neural classifiers" (ICLR 2019), with the excess of the AURC.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.order import Ties, sorted_rows
from mixjax.calibration.rows.sums import mean, over, prefix_sums
from mixjax.numerics.arguments import SHARE, check_scalars, checked
from mixjax.numerics.meshes import jitted
from mixjax.typing import ArrayLike


class RiskCoverage(NamedTuple):
    """The curve of selective risk, from the most confident row on; rows of one confidence have equal entries.

    Example:
      >>> from mixjax.calibration import risk_coverage
      >>> risk_coverage([0.9, 0.6], [1, 0]).risk.tolist()
      [0.0, 0.5]
    """

    threshold: Float[Array, " N"]  # the lowest confidence that is answered
    coverage: Float[Array, " N"]  # share of rows that are answered
    risk: Float[Array, " N"]  # share of these that are wrong


def risk_coverage(
    confidence: ArrayLike, correct: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> RiskCoverage:
    """Return the share of wrong rows among those that are answered, against the share that is answered.

    Args:
      confidence, correct, weights, where: as for `ece`, with the same errors. The confidence may be any score in [0, 1]
        that ranks the rows.

    Returns:
      (threshold, coverage, risk), each of shape [N]: entry i is of all rows at least as confident as the i-th most
      confident one. Where fewer rows count, the last entries repeat the end of the curve: coverage 1, the risk of all
      rows. Coverage and risk are NaN for NaN in a row that counts, and without rows.

    Example:
      >>> from mixjax.calibration import risk_coverage
      >>> risk_coverage([0.9, 0.8, 0.8, 0.6], [1, 0, 1, 1]).coverage.tolist()
      [0.25, 0.75, 0.75, 1.0]
    """
    rows = Rows.of(confidence, correct, weights, where)
    return rows.raise_if_invalid(_risk_coverage(rows))


def aurc(
    confidence: ArrayLike, correct: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> Float[Array, ""]:
    r"""Return the area under the risk-coverage curve, :math:`\sum_i w_i\,\mathrm{risk}_i / \sum_i w_i`.

    Args:
      confidence, correct, weights, where: as for `risk_coverage`.

    Returns:
      A number in [0, 1]: the error rate if all confidences are equal, and less if confident rows are right more often.
      It depends only on the order of the confidences, so its derivative is 0. NaN without rows.

    Example:
      >>> from mixjax.calibration import aurc
      >>> round(float(aurc([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1])), 4)  # (0 + 0 + 1/3 + 1/4) / 4
      0.1458
    """
    rows = Rows.of(confidence, correct, weights, where)
    return rows.raise_if_invalid(_aurc(rows))


def excess_aurc(
    confidence: ArrayLike, correct: ArrayLike, *, weights: ArrayLike | None = None, where: ArrayLike | None = None
) -> Float[Array, ""]:
    r"""Return the AURC minus that of a perfect ranking, :math:`e + (1 - e) \log(1 - e)` at the error rate e.

    That is the limit of many rows (Geifman et al. 2019). For N rows that are ranked perfectly, without ties, the AURC
    is above it by at most 1/N.

    Args:
      confidence, correct, weights, where: as for `risk_coverage`.

    Returns:
      A number in [0, 1), up to rounding: 0 where all rows are right, or all wrong. NaN without rows.

    Example:
      >>> from mixjax.calibration import excess_aurc
      >>> round(float(excess_aurc([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1])), 4)
      0.1116
    """
    rows = Rows.of(confidence, correct, weights, where)
    return rows.raise_if_invalid(_excess_aurc(rows))


def selective_accuracy(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    coverage: ArrayLike,
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Float[Array, ""]:
    """Return the accuracy on the most confident rows that make up at least a share `coverage` of all rows.

    The threshold is the highest that covers enough; with ties, it may cover more.

    Args:
      confidence, correct, weights, where: as for `risk_coverage`.
      coverage: a number in [0, 1], not static; at 0 the rows of the highest confidence are answered.

    Returns:
      A number in [0, 1]; NaN without rows.

    Raises: as `ece`, and ValueError for a coverage outside [0, 1].

    Example:
      >>> from mixjax.calibration import selective_accuracy
      >>> round(float(selective_accuracy([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1], coverage=0.75)), 3)
      0.667
    """
    (share,) = checked({"coverage": SHARE}, coverage=coverage)
    check_scalars(coverage=share)
    rows = Rows.of(confidence, correct, weights, where)
    return rows.raise_if_invalid(_selective_accuracy(rows, share.astype(rows.confidence.dtype)))


@jitted()
def _risk_coverage(rows: Rows) -> RiskCoverage:
    curve, ordered, num_rows = _ascending(rows)
    most_confident_first = jnp.maximum(num_rows - 1 - lax.iota(np.int32, len(ordered.confidence)), 0)
    return RiskCoverage(*(part[most_confident_first] for part in curve))


@jitted()
def _aurc(rows: Rows) -> jax.Array:
    curve, ordered, _ = _ascending(rows)
    return mean(curve.risk, ordered.counted)


@jitted()
def _excess_aurc(rows: Rows) -> jax.Array:
    curve, ordered, _ = _ascending(rows)
    e = mean(1.0 - ordered.correct, ordered.counted)
    return mean(curve.risk, ordered.counted) - (e + jax.scipy.special.xlog1py(1.0 - e, -e))


@jitted()
def _selective_accuracy(rows: Rows, coverage: jax.Array) -> jax.Array:
    curve, ordered, num_rows = _ascending(rows)
    if not len(ordered.confidence):
        return jnp.full((), jnp.nan, coverage.dtype)
    row = lax.iota(np.int32, len(ordered.confidence))
    enough = (curve.coverage >= coverage) & (row < num_rows)
    return 1.0 - curve.risk[jnp.max(jnp.where(enough, row, 0))] + 0.0 * coverage  # NaN for a wrong one


def _ascending(rows: Rows) -> tuple[RiskCoverage, Rows, jax.Array]:
    """Return the curve in ascending order of confidence, the sorted rows, and how many count, which come first."""
    ordered = sorted_rows(rows.clean())
    ties, dtype = Ties.of(ordered), ordered.confidence.dtype
    start, end = ties.first[ties.group], jnp.broadcast_to(ties.num_rows, ties.group.shape)
    counted = ordered.counted
    wrong = jnp.where(ordered.correct == 0, counted, jnp.zeros((), counted.dtype))
    answered = over(prefix_sums(counted), start, end).astype(dtype)
    nan = 0.0 * jnp.sum(ordered.confidence)  # if a confidence is
    risk = over(prefix_sums(wrong), start, end).astype(dtype) / answered + nan
    coverage = answered / jnp.max(answered, initial=0.0) + nan
    return RiskCoverage(ordered.confidence, coverage, risk), ordered, ties.num_rows
