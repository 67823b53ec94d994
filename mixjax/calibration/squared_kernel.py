r"""Squared kernel calibration error (SKCE) of probability vectors.

With the residuals e(y_i) - g_i of the whole vectors, e(y) being the unit vector of class y,

    h_ij = (e(y_i) - g_i)^T (e(y_j) - g_j) exp(-||g_i - g_j|| / nu),

and SKCE is the mean of h over all pairs (biased, never negative), over the pairs i != j (unbiased, which may be
negative), or over the pairs (1, 2), (3, 4), ... (linear: unbiased, O(n), asymptotically normal). It is zero in
expectation for an unbiased form if and only if the probabilities are calibrated as vectors.

No array of n x n is kept, also not for derivatives: the n^2 terms are summed a block of rows at a time. Reference:
D. Widmann, F. Lindsten, D. Zachariah, "Calibration tests in multi-class classification" (NeurIPS 2019,
arXiv:1910.11385).
"""

from __future__ import annotations

from functools import partial
from typing import Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from mixjax.calibration.rows.clean import width
from mixjax.calibration.rows.predictions import Predictions
from mixjax.calibration.rows.spread import mean_class, spread_rows
from mixjax.numerics.estimate import Estimate

__all__ = ["skce", "skce_linear"]

Estimator = Literal["biased", "unbiased", "linear"]

_BLOCK = 1 << 22  # numbers
_SAMPLE = 512  # rows whose distances give the bandwidth


def skce(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    estimator: Estimator = "biased",
    bandwidth: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Float[Array, ""]:
    r"""SKCE: the mean of :math:`(e_{y_i} - g_i)^T (e_{y_j} - g_j)\, e^{-\|g_i - g_j\| / \nu}` over pairs; no root.

    Args:
      probs: shape [N, K], rows sum to 1 (within 1e-4, or 1e-2 in half precision).
      labels: whole numbers in [0, K), shape [N].
      estimator: "biased": all pairs; "unbiased": pairs i != j; "linear": see `skce_linear`. Static.
      bandwidth: nu > 0, a scalar. None: the median distance of two different predictions; beyond 512 rows, that of
        512 which are evenly spread in the order of the mean class sum_k k g_k. No derivative goes through it.
      where: rows that count, boolean, shape [N]; the others may hold anything.

    Returns:
      A scalar of the dtype of the probabilities: in [0, 2] if biased, in [-2, 2] otherwise; differentiable. NaN for
      NaN in a row that counts, and for fewer rows than 1 (biased) or 2; under `jit` also for the wrong values that
      raise outside of it. Row order matters to "linear" alone.

    Raises:
      ValueError: for wrong shapes, options or values (with the first offending row).
      TypeError: for wrong dtypes.

    Accuracy: 1e-6 absolute in float32. Time is O(N^2 K), but for "linear".
    """
    if estimator not in get_args(Estimator):
        raise ValueError(f"estimator must be one of {get_args(Estimator)}, got {estimator!r}")
    if estimator == "linear":
        return skce_linear(probs, labels, bandwidth=bandwidth, where=where).value
    predictions = Predictions.of(probs, labels, where=where)
    return predictions.answer(_skce(predictions, _given(bandwidth, predictions), estimator == "unbiased"))


def skce_linear(
    probs: ArrayLike, labels: ArrayLike, *, bandwidth: ArrayLike | None = None, where: ArrayLike | None = None
) -> Estimate:
    r"""The mean of h over the pairs (1, 2), (3, 4), ... of rows that count, in O(N K), and its standard error.

    Under calibration value / standard_error is asymptotically standard normal. The pairs are those of the given order,
    which must not depend on the data: shuffle rows that are sorted.

    Args, Raises: as `skce`.

    Returns:
      `Estimate`; NaN for fewer than 2 rows, and its standard error for fewer than 4.
    """
    predictions = Predictions.of(probs, labels, where=where)
    return predictions.answer(_skce_linear(predictions, _given(bandwidth, predictions)))


def _given(bandwidth: ArrayLike | None, predictions: Predictions) -> jax.Array | None:
    return None if bandwidth is None else width("bandwidth", bandwidth, predictions.probs.dtype)


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
        """The median distance; see `skce`."""
        probs = lax.stop_gradient(self.probs)
        if not len(probs):
            return jnp.ones((), probs.dtype)
        chosen, counts = spread_rows(mean_class(probs), self.counts, _SAMPLE)
        distance = _distance(probs[chosen][:, None], probs[chosen][None])
        valid = counts[:, None] & counts[None] & (distance > 0)
        ordered = jnp.sort(jnp.where(valid, distance, jnp.inf).ravel())
        count = jnp.sum(valid, dtype=np.int32)
        median = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
        return jnp.where(count > 0, median, 1.0)


def _distance(a: jax.Array, b: jax.Array) -> jax.Array:
    """||a - b|| along the last axis, with the derivative 0 at 0."""
    square = jnp.sum((a - b) ** 2, axis=-1)
    apart = square > 0
    return jnp.where(apart, jnp.sqrt(jnp.where(apart, square, 1.0)), square)


@partial(jax.jit, static_argnames="unbiased")
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


@jax.jit
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
