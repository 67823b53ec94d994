r"""Calibration error by kernel density: the chance of being right at a confidence, as its neighbors have it.

    ratio_j = sum_{i != j} k(f_j; f_i) y_i / sum_{i != j} k(f_j; f_i),    CE_p = (1/n sum_j |ratio_j - f_j|^p)^(1/p)

with the Beta density k(.; f) of parameters f/h + 1 and (1 - f)/h + 1, or for whole probability vectors the Dirichlet
density of parameters f/h + 1. Rows are left out of their own estimate; the p-th root is taken.

A kernel is computed as log k(g; f) = -KL(f || g) / h + (a function of f), so that terms of size 1/h do not cancel. The
n^2 kernels are summed a block of rows at a time, and no n x n array is kept. On the boundary a kernel is its limit:
where f_j has a probability of exactly 0, only the centers with the least mass there count. Those are the centers with
none, if there are any, since the density of all others is 0.

References: T. Popordanoska, R. Sayer, M. Blaschko (NeurIPS 2022, arXiv:2210.07810); S. X. Chen (1999, Beta kernels).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import digamma, gammaln, xlogy
from jaxtyping import Array, Float

from mixjax.calibration.binned import power_mean
from mixjax.calibration.rows.clean import Rows, positive_scalar
from mixjax.calibration.rows.predictions import Predictions
from mixjax.calibration.rows.spread import spread_rows
from mixjax.numerics.derivatives import once_differentiable
from mixjax.numerics.meshes import jitted
from mixjax.numerics.options import check_norm
from mixjax.typing import ArrayLike, Real

_BLOCK = 1 << 22  # numbers
_BANDWIDTHS = np.geomspace(1e-4, 1, 17)


def kde_ece(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    bandwidth: ArrayLike | None = None,
    norm: Real = 1,
    where: ArrayLike | None = None,
) -> Float[Array, ""]:
    r"""Return CE_p of confidences with Beta kernels, differentiable in the confidences.

    `weights` are not supported: a row is left out of its own estimate, but a copy of it would not be.

    Args:
      confidence, correct, where: shape [N], as for `ece`.
      bandwidth: h > 0, a scalar: a kernel at f has a variance of about h f (1 - f). None: that of 1e-4, ..., 1 (four a
        decade) with the largest leave-one-out likelihood, of all rows or of 512 that are evenly spread over their
        order. The likelihood leaves out a row at exactly 0 or 1 with no other there, whose density is 0 for every h.
        The choice has no derivative.
      norm: p >= 1, or `inf`; the root is taken. Static.

    Returns:
      A probability in [0, 1]; NaN for fewer than two rows. First derivatives are finite, also at 0, 1 and ties;
      second ones raise NotImplementedError.

    Raises: as `ece`, and for a bandwidth that is not positive.

    Accuracy: 1e-5 absolute in float32 for h >= 1e-3 (tests/calibration/test_kde.py). Time is O(N^2).

    Example:
      >>> from mixjax import kde_ece
      >>> round(float(kde_ece([0.9, 0.6], [1, 0], bandwidth=0.1)), 3)
      0.65
    """
    check_norm(norm)
    rows = Rows.of(confidence, correct, where=where)
    h = None if bandwidth is None else positive_scalar("bandwidth", bandwidth, rows.confidence.dtype)
    return rows.raise_if_invalid(_kde_ece(rows, h, float(norm)))


def kde_ece_canonical(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    bandwidth: ArrayLike | None = None,
    norm: Real = 1,
    where: ArrayLike | None = None,
) -> Float[Array, ""]:
    r"""Return CE_p of probability vectors, :math:`(\frac1n \sum_j \|ratio_j - g_j\|_p^p)^{1/p}`, Dirichlet kernels.

    The sum over classes is not divided by K: for two classes the result is 2^(1/p) times `kde_ece`. `weights` are not
    supported either.

    Args:
      probs: shape [N, K], rows sum to 1 and are normalized.
      labels: whole numbers in [0, K), shape [N].
      bandwidth, norm, where: as for `kde_ece`; the 512 rows are spread over the order of sum_k k g_k.

    Returns:
      A number in [0, 2^(1/p)]; NaN for fewer than two rows.

    Raises: as `top_label_ece`, and for a bandwidth that is not positive.

    Example:
      >>> from mixjax.calibration import kde_ece_canonical
      >>> round(float(kde_ece_canonical([[0.1, 0.9], [0.4, 0.6]], [1, 0], bandwidth=0.1)), 3)
      1.3
    """
    check_norm(norm)
    predictions = Predictions.of(probs, labels, where=where)
    h = None if bandwidth is None else positive_scalar("bandwidth", bandwidth, predictions.probs.dtype)
    return predictions.raise_if_invalid(_kde_ece_canonical(predictions, h, float(norm)))


@jitted(static=("norm",))
def _kde_ece(rows: Rows, bandwidth: jax.Array | None, norm: Real) -> jax.Array:
    rows = rows.clean()
    f = rows.confidence
    counts = jnp.ones(f.shape, bool) if rows.where is None else rows.where
    error = once_differentiable("kde_ece")(partial(_error, norm=norm))
    return error(jnp.stack([1 - f, f], axis=1), rows.correct[:, None], f[:, None], counts, bandwidth)


@jitted(static=("norm",))
def _kde_ece_canonical(predictions: Predictions, bandwidth: jax.Array | None, norm: Real) -> jax.Array:
    f = predictions.checked_probs()
    counts = jnp.ones(len(f), bool) if predictions.where is None else predictions.where
    f = jnp.where(counts[:, None], f / jnp.sum(f, axis=1, keepdims=True), 1 / f.shape[1])
    error = once_differentiable("kde_ece_canonical")(partial(_error, norm=norm))
    return error(f, jax.nn.one_hot(predictions.labels, f.shape[1], dtype=f.dtype), f, counts, bandwidth)


class _Centers(NamedTuple):
    """Kernels at the rows f that count, for a bandwidth h."""

    f: jax.Array  # [K, N]: sums over classes are then sums of vectors
    counts: jax.Array
    h: jax.Array
    constant: jax.Array  # log k(f; f)
    digamma: jax.Array  # of f/h + 1, for derivatives

    @classmethod
    def of(cls, f: jax.Array, counts: jax.Array, h: jax.Array) -> _Centers:
        f = f.T
        a, s = lax.stop_gradient(f) / h, 1 / h
        rising = sum(jnp.log(s + m) for m in range(1, len(f)))
        constant = rising + _log_factorial_rest(s) - jnp.sum(_log_factorial_rest(a), axis=0)
        return cls(f, counts, h, constant, digamma(a + 1))

    def of_others(self, j: jax.Array, g: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Return kernels at g over their largest (row j's is 0), its log, and the centers' least mass where g has 0.

        Only centers of the least such mass count: the density itself is 0 unless it is.
        """
        others = self.counts & (lax.iota(np.int32, self.f.shape[1]) != j)
        apart = jnp.where(others, jnp.sum(jnp.where(g[:, None] > 0, 0.0, lax.stop_gradient(self.f)), axis=0), jnp.inf)
        least = jnp.min(apart)
        log_kernel = _log_kernel(g, self.f, self.h, self.constant, self.digamma)
        log_kernel = jnp.where(others & (apart == least), log_kernel, -jnp.inf)
        largest = lax.stop_gradient(jnp.max(log_kernel))
        return jnp.exp(log_kernel - largest), largest, least


@jax.custom_jvp
def _log_kernel(g: jax.Array, f: jax.Array, h: jax.Array, constant: jax.Array, _: jax.Array) -> jax.Array:
    """Return log k(g; f) for each column f, without the powers of zeros in g."""
    d = g[:, None] - f
    least = jnp.maximum(jnp.minimum(f, g[:, None]), jnp.finfo(f.dtype).tiny)
    log_ratio = jnp.sign(d) * jnp.log1p(jnp.abs(d) / least)  # of g to f, accurate where they are close or far apart
    divergence = d - f * log_ratio
    divergence = jnp.where(g[:, None] > 0, divergence, xlogy(f, f) - f)
    return constant - jnp.sum(divergence, axis=0) / h


@_log_kernel.defjvp
def _log_kernel_jvp(primals: tuple[jax.Array, ...], tangents: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
    """Differentiate in f too, for infinite parts of `constant` and of the divergence cancel at f = 0."""
    g, f, h, _, digamma_f = primals
    g_moved, f_moved, *_ = tangents
    inside = g > 0
    safe = jnp.where(inside, g, 1.0)
    big = float(jnp.finfo(f.dtype).max) ** 0.75  # times the 0 of a kernel far away
    by_g = jnp.where(inside[:, None], jnp.clip((f - g[:, None]) / safe[:, None] / h, -big, big), 0.0)
    by_f = (jnp.log(safe / h)[:, None] - digamma_f) / h
    return _log_kernel(*primals), jnp.sum(by_g * g_moved[:, None] + by_f * f_moved, axis=0)


def _log_factorial_rest(a: jax.Array) -> jax.Array:
    """Return log Gamma(a + 1) - (a log a - a) without the cancellation that this has for large a."""
    small, large = jnp.minimum(a, 8.0), jnp.maximum(a, 8.0)
    square = 1 / large**2
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / large
    stirling = 0.5 * jnp.log(2 * np.pi * large) + series
    return jnp.where(a < 8, gammaln(small + 1) - xlogy(small, small) + small, stirling)


def _error(
    f: jax.Array, targets: jax.Array, claims: jax.Array, counts: jax.Array, bandwidth: jax.Array | None, norm: Real
) -> jax.Array:
    """Return CE_p of rows f [N, K] with targets and claims [N, C]."""
    if len(f) == 0:
        return jnp.full((), jnp.nan, f.dtype)
    h = _likeliest(lax.stop_gradient(f), counts) if bandwidth is None else lax.stop_gradient(bandwidth)
    centers = _Centers.of(f, counts, h)

    @jax.checkpoint
    def of_row(row: tuple[jax.Array, jax.Array]) -> jax.Array:
        kernel, _, _ = centers.of_others(*row)
        return jnp.matmul(kernel[None], targets, precision=lax.Precision.HIGHEST)[0] / jnp.sum(kernel)

    ratio = lax.map(of_row, (lax.iota(np.int32, len(f)), f), batch_size=_block(f))
    gap = jnp.where(counts[:, None], ratio - claims, 0.0)
    size = (gap * jnp.sign(gap)).ravel()  # |gap|, with the derivative 0 at 0
    return power_mean(size, jnp.ones_like(size), jnp.sum(counts, dtype=np.int32).astype(f.dtype), norm)


def _likeliest(f: jax.Array, counts: jax.Array) -> jax.Array:
    """Return the bandwidth of the largest leave-one-out likelihood."""
    chosen, valid = spread_rows(f, counts)

    def log_likelihood(h: jax.Array) -> jax.Array:
        centers = _Centers.of(f, counts, h)

        def of_row(j: jax.Array) -> jax.Array:
            kernel, largest, least = centers.of_others(j, f[j])
            return jnp.where(least == 0, largest + jnp.log(jnp.sum(kernel)), 0.0)

        each = lax.map(of_row, chosen, batch_size=_block(f))
        return jnp.sum(jnp.where(valid, each, 0.0))

    bandwidths = jnp.asarray(_BANDWIDTHS, f.dtype)
    return bandwidths[jnp.argmax(lax.map(log_likelihood, bandwidths))]


def _block(f: jax.Array) -> int:
    return int(np.clip(_BLOCK // f.size, 1, 128))
