r"""Soft-binned calibration error: every row belongs a little to every bin, so that the error can be trained on.

A row with confidence s belongs to bin b, of center xi_b = (b - 1/2) / M, by the share

    u_b(s) = exp(-(s - xi_b)^2 / T) / sum_c exp(-(s - xi_c)^2 / T),    S_b = sum_i u_b(s_i),

and the error is the binned one of these shares: (sum_b (S_b / n) |ybar_b - sbar_b|^p)^(1/p), with means weighted by
u_b. T -> 0 gives equal-width bins. A. Karandikar et al., "Soft calibration objectives for neural networks" (NeurIPS
2021, arXiv:2108.00106), Eq. 11.

Memory: blocks of rows, here and in the derivative, so that no array of N x M is kept.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from mixjax.calibration.binned import error_of
from mixjax.calibration.rows.bins import DEFAULT_BINS, BinSums, NumBins, check_num_bins
from mixjax.calibration.rows.clean import Rows, positive_scalar
from mixjax.numerics.meshes import jitted
from mixjax.numerics.options import check_norm
from mixjax.typing import ArrayLike, Real

_BLOCK = 8192  # rows


def soft_ece(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    num_bins: NumBins = DEFAULT_BINS,
    temperature: ArrayLike | None = None,
    norm: Real = 1,
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Float[Array, ""]:
    r"""Return the soft-binned ECE :math:`(\sum_b \frac{S_b}{n} |\bar y_b - \bar s_b|^p)^{1/p}`, differentiable.

    Args:
      confidence, correct, weights, where: shape [N], as for `ece`.
      num_bins: M >= 1, or "cube_root", as for `ece`; static.
      temperature: T > 0, a scalar in units of squared confidence. None: 1 / (M^2 log 2), with which a score at the
        center of a bin belongs half as much to the next ones; decay by a factor d a bin is T = 1 / (M^2 log d).
      norm: p >= 1, or `inf`; the root is taken. Static.

    Returns:
      A probability in [0, 1]; NaN without rows. Derivatives are finite everywhere; where the error has a kink (at 0, or
      for norm = 1 where a bin is calibrated) a derivative that jumps counts as 0.

    Raises: as `ece`, and for a temperature that is not positive.

    Accuracy: 1e-6 absolute in float32. Bins with less than eps^2 of the mass count as empty (eps: of the dtype).

    Example:
      >>> from mixjax import soft_ece
      >>> round(float(soft_ece([0.9, 0.6], [1, 0])), 3)
      0.347
    """
    check_norm(norm)
    rows = Rows.of(confidence, correct, weights, where)
    num_bins = check_num_bins(num_bins, len(rows.confidence))
    if temperature is None:
        temperature = 1.0 / (num_bins**2 * float(np.log(2)))
    temperature = positive_scalar("temperature", temperature, rows.confidence.dtype)
    return rows.raise_if_invalid(_soft_ece(rows, temperature, num_bins, float(norm)))


@jitted(static=("num_bins", "norm"))
def _soft_ece(rows: Rows, temperature: jax.Array, num_bins: int, norm: Real) -> jax.Array:
    mass, residual = _soft_sums(rows.clean(), temperature, num_bins)
    total = jnp.sum(mass)
    empty = mass <= total * jnp.finfo(mass.dtype).eps ** 2  # the square of their mass would vanish in the derivative
    mass, residual = (jnp.where(empty, 0.0, part) for part in (mass, residual))
    return error_of(BinSums(mass, residual, total), norm)


def _soft_sums(rows: Rows, temperature: jax.Array, num_bins: int) -> jax.Array:
    """Return the mass and the residual of each bin, shape [2, bins]."""
    confidence = rows.confidence
    hard = float(jnp.finfo(confidence.dtype).eps) / (10 * num_bins)  # below it no score is between two bins
    temperature = jnp.maximum(temperature, hard)
    values = jnp.stack([rows.counted.astype(confidence.dtype), rows.residual])
    centers = jnp.asarray((np.arange(num_bins) + 0.5) / num_bins, confidence.dtype)

    @jax.checkpoint
    def of_block(block: tuple[jax.Array, jax.Array]) -> jax.Array:
        confidence, values = block
        shares = jax.nn.softmax(-((confidence[:, None] - centers[None]) ** 2) / temperature, axis=-1)
        return jnp.matmul(values, shares, precision=lax.Precision.HIGHEST)

    size = len(confidence)
    blocks = -(-size // _BLOCK)
    if blocks <= 1:
        return of_block((confidence, values))
    spare = blocks * _BLOCK - size
    confidence = jnp.pad(confidence, (0, spare)).reshape(blocks, _BLOCK)
    values = jnp.pad(values, ((0, 0), (0, spare))).reshape(2, blocks, _BLOCK)
    return jnp.sum(lax.map(of_block, (confidence, values.transpose(1, 0, 2))), axis=0)
