r"""ECE-sweep: as many equal-mass bins as keep the observed frequencies in order.

b* is the largest b such that for each b' <= b the heights ybar of b' equal-mass bins do not decrease, and the estimate
is ECE_p over b* bins. Reference: R. Roelofs, N. Cain, J. Shlens, M. C. Mozer (AISTATS 2022).

Rows are sorted once. A candidate then costs one look at each of its bins between the first 1 and the last 0, or at each
group of ties there if these are fewer. Heights are fractions of integers and are compared exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from mixjax.calibration.binned import error_of
from mixjax.calibration.rows.bins import BinSums
from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.order import Ties, sorted_rows
from mixjax.calibration.rows.sums import Prefix, floor_product, over, prefix_sums, product_less
from mixjax.numerics.meshes import jitted
from mixjax.numerics.options import check_norm
from mixjax.typing import ArrayLike, Real

_MOST = 1 << 22  # candidates, unless as many bins as rows are in order: what the products below are exact for
_AT_ONCE = 512  # bins that are looked at in one step


def sweep_ece(
    confidence: ArrayLike, correct: ArrayLike, *, norm: Real = 1, where: ArrayLike | None = None
) -> Float[Array, ""]:
    r"""Return ECE_p over as many equal-mass bins as keep the observed frequencies in order.

    `weights` are not supported: the number of bins goes up to the number of rows.

    Args:
      confidence, correct, where: shape [N], as for `ece`, with the same errors.
      norm: p >= 1, or `inf`; the root is taken. Static.

    Returns:
      A probability in [0, 1], the same for any order of the rows; NaN without rows. The gradient is that of ECE_p with
      the bins held fixed.

    Accuracy: 1e-6 absolute in float32; the bins are exact, for up to 2^29 rows.

    Example:
      >>> from mixjax import sweep_ece
      >>> round(float(sweep_ece([0.9, 0.6], [1, 0])), 3)
      0.35
    """
    check_norm(norm)
    rows = Rows.of(confidence, correct, where=where)
    return rows.raise_if_invalid(_sweep_ece(rows, float(norm)))


@jitted(static=("norm",))
def _sweep_ece(rows: Rows, norm: Real) -> jax.Array:
    if not len(rows.confidence):
        return jnp.full((), jnp.nan, rows.confidence.dtype)
    ordered = sorted_rows(rows.clean())
    sweep = _Sweep.of(ordered)
    bins = sweep.start(lax.iota(np.int32, len(ordered.confidence) + 1), sweep.largest())
    residual = over(prefix_sums(ordered.residual), bins[:-1], bins[1:])
    return error_of(BinSums(jnp.diff(bins), residual, jnp.sum(ordered.counted, dtype=np.int32)), norm)


class _Sweep(NamedTuple):
    """Tables of sorted rows in which any bin is looked up."""

    ties: Ties
    correct: Prefix
    low: jax.Array  # the group of the first row that is correct
    high: jax.Array  # the group of the last row that is not

    @classmethod
    def of(cls, ordered: Rows) -> _Sweep:
        ties, size = Ties.of(ordered), len(ordered.confidence)
        row, right = lax.iota(np.int32, size), ordered.correct == 1
        low = jnp.min(jnp.where(right & (row < ties.num_rows), ties.group, size))
        high = jnp.max(jnp.where(~right & (row < ties.num_rows), ties.group, -1))
        return cls(ties, prefix_sums(right.astype(np.int32)), low, high)

    def start(self, k: jax.Array, num_bins: jax.Array) -> jax.Array:
        """Return the first row of bin k: where the first group begins at or after row k n / b."""
        k, b = jnp.minimum(k, num_bins), jnp.maximum(num_bins, 1)
        floor, more = floor_product(k, lax.rem(self.ties.num_rows, b), b)
        return self.ties.following[k * lax.div(self.ties.num_rows, b) + floor + more]

    def bin_of(self, group: jax.Array, num_bins: jax.Array) -> jax.Array:
        """Return floor(b * rank of the group / n)."""
        first, n = self.ties.first[group], jnp.maximum(self.ties.num_rows, 1)
        return jnp.where(num_bins == n, first, floor_product(first, num_bins, n)[0])

    def largest(self) -> jax.Array:
        """Return b*; n is tried first, since larger bins are in order where the smallest are, then 2, 3 and so on."""
        n = self.ties.num_rows + 0 * self.ties.num_groups  # of the device, in `shard_map`, as all that is found

        def attempt(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
            trial, best, _ = state
            ordered = self.in_order(trial)
            following = jnp.where(trial == n, 2, trial + 1)
            going = (ordered ^ (trial == n)) & (following < n) & (following <= _MOST)
            return following, jnp.where(ordered, trial, best), going

        return lax.while_loop(lambda s: s[2], attempt, (n, jnp.minimum(n, 1), n > 1))[1]

    def in_order(self, num_bins: jax.Array) -> jax.Array:
        """Return whether the heights of b bins do not decrease."""
        few = self.ties.num_groups < num_bins  # then the bins of the groups are looked at
        begin = jnp.where(few, self.low, self.bin_of(self.low, num_bins))
        last = jnp.where(few, self.high, self.bin_of(self.high, num_bins))
        last = jnp.where(self.low > self.high, begin - 1, last)

        def look(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            i = state[0] + lax.iota(np.int32, _AT_ONCE)
            k = jnp.where(few, self.bin_of(jnp.minimum(i, self.high), num_bins), i)
            start, end = self.start(k, num_bins), self.start(k + 1, num_bins)
            before = self.ties.group[jnp.maximum(start - 1, 0)]  # in the bin before, of those that hold rows
            falls = self.higher(self.start(self.bin_of(before, num_bins), num_bins), start, end)
            return state[0] + _AT_ONCE, ~jnp.any(falls & (start > 0) & (start < end) & (i <= last))

        return lax.while_loop(lambda s: s[1] & (s[0] <= last), look, (begin, begin >= 0))[1]

    def higher(self, a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
        """Return whether rows a to b are correct more often than rows b to c."""
        return product_less(over(self.correct, b, c), b - a, over(self.correct, a, b), c - b)
