r"""Squared kernel calibration error (SKCE) of probability vectors.

With the residuals e(y_i) - g_i of the whole vectors, e(y) being the unit vector of class y,

    h_ij = (e(y_i) - g_i)^T (e(y_j) - g_j) exp(-||g_i - g_j|| / nu),

and SKCE is the mean of h over all pairs (biased, never negative), over the pairs i != j (unbiased, which may be
negative), or over the pairs (1, 2), (3, 4), ... (linear: unbiased, O(n), asymptotically normal). It is zero in
expectation for an unbiased form if and only if the probabilities are calibrated as vectors.

No array of n x n is kept: the n^2 terms are summed a block of rows at a time. Reference: D. Widmann, F. Lindsten,
D. Zachariah, "Calibration tests in multi-class classification" (NeurIPS 2019, arXiv:1910.11385).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from mixjax.calibration.rows.clean import positive_scalar
from mixjax.calibration.rows.predictions import Predictions
from mixjax.calibration.rows.spread import spread_rows
from mixjax.numerics.estimate import Estimate
from mixjax.numerics.meshes import jitted
from mixjax.numerics.options import check_option
from mixjax.typing import ArrayLike

Pairs = Literal["biased", "unbiased"]

_BLOCK = 1 << 22  # numbers


def skce(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    estimator: Pairs = "biased",
    bandwidth: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Float[Array, ""]:
    r"""Return the mean of :math:`(e_{y_i} - g_i)^T (e_{y_j} - g_j)\, e^{-\|g_i - g_j\| / \nu}` over pairs of rows.

    `weights` are not supported: the unbiased form depends on which rows are pairs.

    Args:
      probs, labels, where: probabilities [N, K] and classes [N], as for `top_label_ece`.
      estimator: "biased": all pairs; "unbiased": pairs i != j. Static.
      bandwidth: nu > 0, a scalar. None: the median distance of two different predictions; beyond 512 rows, that of
        512 which are evenly spread in the order of the mean class sum_k k g_k. No derivative goes through None.

    Returns:
      A squared error (no root is taken): in [0, 2] if biased, in [-2, 2] otherwise; differentiable. NaN for fewer rows
      than 1 (biased) or 2.

    Raises: as `top_label_ece`, and for another estimator, and a bandwidth that is not positive.

    Accuracy: 1e-6 absolute in float32. Time is O(N^2 K); `skce_linear` takes O(N K).

    Example:
      >>> from mixjax.calibration import skce
      >>> round(float(skce([[0.25, 0.75], [0.5, 0.5]], [1, 0])), 3)
      0.11
    """
    check_option("estimator", estimator, Pairs)
    predictions = Predictions.of(probs, labels, where=where)
    nu = None if bandwidth is None else positive_scalar("bandwidth", bandwidth, predictions.probs.dtype)
    return predictions.raise_if_invalid(_skce(predictions, nu, estimator == "unbiased"))


def skce_linear(
    probs: ArrayLike, labels: ArrayLike, *, bandwidth: ArrayLike | None = None, where: ArrayLike | None = None
) -> Estimate:
    r"""Return the mean of the terms of `skce` over the pairs (1, 2), (3, 4), ..., with its standard error.

    Under calibration value / standard_error is asymptotically standard normal. The order of rows must not depend on
    the data: shuffle rows that are sorted. `weights` are not supported: the estimate depends on which rows are pairs.

    Args:
      probs, labels, bandwidth, where: as for `skce`, with the same errors; pairs are of the rows that count.

    Returns:
      The unbiased value in [-2, 2], NaN for fewer than 2 rows, and its standard error, NaN for fewer than 4.

    Example:
      >>> from mixjax.calibration import skce_linear
      >>> round(float(skce_linear([[0.25, 0.75], [0.5, 0.5]], [1, 0]).value), 3)
      -0.092
    """
    predictions = Predictions.of(probs, labels, where=where)
    nu = None if bandwidth is None else positive_scalar("bandwidth", bandwidth, predictions.probs.dtype)
    return predictions.raise_if_invalid(_skce_linear(predictions, nu))


class _Vectors(NamedTuple):
    """Predictions and residuals, zeros where rows do not count."""

    probs: jax.Array
    residual: jax.Array
    counts: jax.Array

    @classmethod
    def of(cls, predictions: Predictions) -> _Vectors:
        probs = predictions.checked_probs()
        counts = jnp.ones(len(probs), bool) if predictions.where is None else predictions.where
        probs = jnp.where(counts[:, None], probs, 0.0)
        target = jax.nn.one_hot(predictions.labels, probs.shape[1], dtype=probs.dtype)
        return cls(probs, jnp.where(counts[:, None], target - probs, 0.0), counts)

    @property
    def bandwidth(self) -> jax.Array:
        """The median distance of two different predictions; see `skce`."""
        probs = lax.stop_gradient(self.probs)
        if not len(probs):
            return jnp.ones((), probs.dtype)
        chosen, counts = spread_rows(probs, self.counts)
        distance = _distance(probs[chosen][:, None], probs[chosen][None])
        valid = counts[:, None] & counts[None] & (distance > 0)
        ordered = jnp.sort(jnp.where(valid, distance, jnp.inf).ravel())
        count = jnp.sum(valid, dtype=np.int32)
        median = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
        return jnp.where(count > 0, median, 1.0)


def _distance(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return ||a - b|| along the last axis, with the derivative 0 at 0."""
    square = jnp.sum((a - b) ** 2, axis=-1)
    apart = square > 0
    return jnp.where(apart, jnp.sqrt(jnp.where(apart, square, 1.0)), square)


@jitted(static=("unbiased",))
def _skce(predictions: Predictions, bandwidth: jax.Array | None, unbiased: bool) -> jax.Array:
    rows = _Vectors.of(predictions)
    nu = rows.bandwidth if bandwidth is None else bandwidth

    @jax.checkpoint
    def of_row(row: tuple[jax.Array, jax.Array]) -> jax.Array:
        probs, residual = row
        kernel = jnp.exp(-_distance(probs[None], rows.probs) / nu)
        field = jnp.matmul(kernel[None], rows.residual, precision=lax.Precision.HIGHEST)[0]
        return jnp.sum(field * residual) - (jnp.sum(residual**2) if unbiased else 0.0)

    block = int(np.clip(_BLOCK // max(1, rows.probs.size), 1, 128))
    total = jnp.sum(lax.map(of_row, (rows.probs, rows.residual), batch_size=block))
    count = jnp.sum(rows.counts, dtype=np.int32).astype(total.dtype)
    return total / count / (count - 1 if unbiased else count)


@jitted()
def _skce_linear(predictions: Predictions, bandwidth: jax.Array | None) -> Estimate:
    rows = _Vectors.of(predictions)
    nu = rows.bandwidth if bandwidth is None else bandwidth
    first = jnp.argsort(~rows.counts, stable=True)[: len(rows.probs) // 2 * 2]  # rows that count come first
    one, two = (jax.tree.map(lambda column, at=at: column[first[at::2]], rows) for at in (0, 1))
    h = jnp.sum(one.residual * two.residual, axis=1) * jnp.exp(-_distance(one.probs, two.probs) / nu)
    pairs = one.counts & two.counts
    count = jnp.sum(pairs, dtype=np.int32).astype(h.dtype)
    mean = jnp.sum(h) / count
    spread = jnp.sum(jnp.where(pairs, h - mean, 0.0) ** 2) / (count - 1)
    return Estimate(mean, jnp.sqrt(spread / count))
