r"""Maximum mean calibration error (MMCE): residuals weighed against each other by a kernel of confidences.

    MMCE^2 = (1/n^2) sum_ij r_i r_j exp(-|f_i - f_j| / nu),    r_i = y_i - f_i,    nu = 0.4.

The kernel is the covariance of an Ornstein-Uhlenbeck process X; with rows in order of f, and B_m the sum over i >= m
of r_i exp(-(f_i - f_m) / nu),

    sum_ij r_i r_j exp(-|f_i - f_j| / nu) = Var(sum_i r_i X_i)
                                          = B_1^2 + sum_{m > 1} (1 - exp(-2 (f_m - f_{m-1}) / nu)) B_m^2,

one square for each innovation of X, in O(n log n) and without cancellation. Derivatives are those of the double sum,
with 0 for the kink of a tie.

Reference: A. Kumar, S. Sarawagi, U. Jain (ICML 2018). For probabilities of K classes see `skce`.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from mixjax.calibration.rows.clean import Rows, positive_scalar
from mixjax.calibration.rows.order import sorted_rows, starts_of_ties
from mixjax.calibration.rows.scatter import sum_by_bin
from mixjax.calibration.rows.sums import over, prefix_sums
from mixjax.numerics.elementary import root
from mixjax.numerics.meshes import jitted
from mixjax.typing import ArrayLike

_BANDWIDTH = 0.4
_STRETCH = 1024  # rows that are added one after the other


def mmce(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    bandwidth: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Float[Array, ""]:
    r"""Return the MMCE :math:`(\frac1{n^2} \sum_{ij} r_i r_j e^{-|f_i - f_j| / \nu})^{1/2}`.

    Args:
      confidence, correct, weights, where: shape [N], as for `ece`.
      bandwidth: nu > 0, a scalar; None is the 0.4 of the paper and of netcal. It has no derivative.

    Returns:
      A number in [0, 1], the biased form: the sum includes pairs of a row with itself. NaN without rows. First
      derivatives are finite everywhere: 0 where the error is 0.

    Raises: as `ece`, and for a bandwidth that is not positive.

    Accuracy: in float32 1e-6 relative, and 3e-8 absolute where residuals cancel. Time is O(N log N).

    Example:
      >>> from mixjax import mmce
      >>> round(float(mmce([0.9, 0.6], [1, 0])), 3)
      0.28
    """
    rows = Rows.of(confidence, correct, weights, where)
    nu = None if bandwidth is None else positive_scalar("bandwidth", bandwidth, rows.confidence.dtype)
    return rows.raise_if_invalid(_mmce(rows, nu))


@jitted()
def _mmce(rows: Rows, bandwidth: jax.Array | None) -> jax.Array:
    rows = rows.clean()
    total = _total(rows.counted).astype(rows.confidence.dtype)
    nu = _BANDWIDTH if bandwidth is None else lax.stop_gradient(bandwidth)
    return root(_energy(nu, rows._replace(where=None)), 2) / total  # masked rows have the residual 0


def _total(values: jax.Array) -> jax.Array:
    return sum_by_bin(jnp.zeros(values.shape, np.int32), values, 1)[0]


@jax.custom_jvp
def _energy(bandwidth: jax.Array | float, rows: Rows) -> jax.Array:
    """Return the sum over all pairs of rows; its derivative is that in the rows alone."""
    if len(rows.confidence) == 0:
        return jnp.zeros((), rows.confidence.dtype)
    rows = sorted_rows(rows)
    later = _sums(bandwidth, rows, reverse=True)
    innovation = -jnp.expm1(-2 * (rows.confidence[1:] - rows.confidence[:-1]) / bandwidth)
    return jnp.sum(later[:1] ** 2) + _total(innovation * later[1:] ** 2)


@_energy.defjvp
def _energy_jvp(primals: tuple[Any, Rows], tangents: tuple[Any, Rows]) -> tuple[jax.Array, jax.Array]:
    (bandwidth, rows), (_, moved) = primals, tangents
    potential, slope = _potential(bandwidth, rows)
    _, residual = jax.jvp(lambda rows: rows.residual, (rows,), (moved,))
    change = 2 * jnp.sum(potential * residual + rows.residual * slope * moved.confidence)
    return _energy(bandwidth, rows), change


def _potential(bandwidth: jax.Array | float, rows: Rows) -> tuple[jax.Array, jax.Array]:
    """Return sum_j r_j k(f_i, f_j) for each row i, and its derivative in f_i with the r_j and f_j fixed."""
    size = len(rows.confidence)
    order = jnp.argsort(rows.confidence)
    rows = jax.tree.map(lambda column: column[order], rows)
    earlier, later = _sums(bandwidth, rows), _sums(bandwidth, rows, reverse=True)
    decay = jnp.exp(-(rows.confidence[1:] - rows.confidence[:-1]) / bandwidth)
    none = jnp.zeros(min(1, size), later.dtype)
    below = jnp.concatenate([none, decay * earlier[:-1]])  # sums over the rows in front of each, and behind it
    above = jnp.concatenate([decay * later[1:], none])
    index, starts = lax.iota(np.int32, size), starts_of_ties(rows)
    first, last = lax.cummax(jnp.where(starts, index, 0)), _ends(starts) - 1
    potential, slope = earlier[last] + above[last], (above[last] - below[first]) / bandwidth
    back = jnp.zeros(size, np.int32).at[order].set(index)
    return potential[back], slope[back]


def _residuals_of_ties(rows: Rows) -> jax.Array:
    """Return the residuals of sorted rows, those of a tie summed in its first row, or running sums would drift."""
    starts = starts_of_ties(rows)
    row = lax.iota(np.int32, len(starts))
    return jnp.where(starts, over(prefix_sums(rows.residual), row, _ends(starts)), 0.0)


def _ends(starts: jax.Array) -> jax.Array:
    """Return for each sorted row the first one behind its tie."""
    size = len(starts)
    following = jnp.where(starts, lax.iota(np.int32, size), size)[1:]
    return lax.cummin(jnp.concatenate([following, jnp.full(min(1, size), size, np.int32)]), reverse=True)


def _sums(bandwidth: jax.Array | float, rows: Rows, *, reverse: bool = False) -> jax.Array:
    """Return for each sorted row the sum of r_j exp(-|f - f_j| / nu) over it and the rows before (or after) it.

    The sums run through some 1000 stretches at once, then over the stretches, each seen from its last row: decays are
    nowhere multiplied more than a thousand times, and there are few steps.
    """
    f, r = rows.confidence, _residuals_of_ties(rows)
    size = len(f)
    length = max(1, min(_STRETCH, int(np.ceil(np.sqrt(size)))))
    spare = -size % length
    f, r = (f[::-1], r[::-1]) if reverse else (f, r)
    f = jnp.pad(f, (0, spare), mode="edge").reshape(-1, length).T  # a stretch is a column
    r = jnp.pad(r, (0, spare)).reshape(-1, length).T

    def seen(value: jax.Array, start: jax.Array, end: jax.Array) -> jax.Array:
        return value + value * jnp.expm1(-jnp.abs(start - end) / bandwidth)  # a decay near 1 would be rounded

    def step(carry: tuple[jax.Array, jax.Array], row: tuple[jax.Array, jax.Array]) -> tuple[Any, jax.Array]:
        total = row[1] + seen(carry[1], carry[0], row[0])
        return (row[0], total), total

    def then(a: tuple[jax.Array, jax.Array], b: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return b[0], b[1] + seen(a[1], a[0], b[0])

    (last, _), sums = lax.scan(step, (f[0], jnp.zeros_like(r[0])), (f, r))
    _, whole = lax.associative_scan(then, (last, sums[-1]))
    sums = sums.at[:, 1:].add(seen(whole[None, :-1], last[None, :-1], f[:, 1:]))
    sums = sums.T.ravel()[:size]
    return sums[::-1] if reverse else sums
