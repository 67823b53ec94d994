r"""A test of the hypothesis that scores are calibrated, which adapts to how broad a deviation is, with exact level.

For m = 2, 4, ..., 2^B equal-width bins, the debiased plug-in

    T_m = (1/n) sum_b [(sum_{i in b} r_i)^2 - sum_{i in b} r_i^2] / n_b,    r_i = y_i - f_i,

has mean 0 under the hypothesis and, given the scores, the variance (2/n^2) sum_b [(sum v_i)^2 - sum v_i^2] / n_b^2 with
v_i = f_i (1 - f_i). The statistic is the largest T_m in standard deviations: few bins see a broad deviation, many a
narrow one. Its law given the scores is known, y_i ~ Bernoulli(f_i), so that the Monte Carlo p-value is exact at every
sample size. Reference: D. Lee, X. Huang, H. Hassani, E. Dobriban, "T-Cal: an optimal test for the calibration of
predictive models" (JMLR 24, 2023), where the scores are resampled too and the m combined by Bonferroni's bound.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from mixjax.calibration.rows.bins import Bins, check_num_bins
from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.scatter import sum_by_bin
from mixjax.numerics.meshes import jitted
from mixjax.numerics.options import check_size
from mixjax.numerics.threefry import single
from mixjax.typing import ArrayLike


class CalibrationTest(NamedTuple):
    """The outcome of `calibration_test`: small p-values speak against calibration.

    Example:
      >>> from mixjax.calibration import CalibrationTest
      >>> CalibrationTest._fields
      ('statistic', 'p_value', 'bins_used')
    """

    statistic: Float[Array, ""]  # the largest deviation, in standard deviations
    p_value: Float[Array, ""]  # in [1 / (num_draws + 1), 1]
    bins_used: Float[Array, ""]  # how many show the deviation the clearest


def calibration_test(
    key: PRNGKeyArray,
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    max_bins: int = 1024,
    num_draws: int = 999,
    where: ArrayLike | None = None,
) -> CalibrationTest:
    """Test whether P(correct | confidence) = confidence by the adaptive T-Cal statistic, with exact level.

    `weights` are not supported: the level holds for independent rows, and a row counted twice is not two of them.

    Args:
      key: of the draws under the hypothesis.
      confidence, correct, where: as for `ece`.
      max_bins: the largest number of bins, from 2 to 2^20, rounded down to a power of 2; static.
      num_draws: draws from the law under the hypothesis; 999 resolve p-values of 0.001; static.

    Returns:
      The statistic, its p-value, and the number of bins that gave it. The p-value is 1 where no two rows share a bin or
      all scores are 0 or 1 and right; where they are 0 or 1 and two of a bin are wrong, the statistic is infinite and
      the p-value the smallest. NaN without rows.

    Raises: as `ece`, and for max_bins or num_draws out of range.

    Cost: (num_draws + 1) passes over the rows, at 1e6 rows and 999 draws about ten seconds on two cores.

    Example:
      >>> import jax
      >>> from mixjax.calibration import calibration_test
      >>> test = calibration_test(jax.random.key(0), [0.9, 0.9, 0.1], [1, 1, 1], max_bins=2, num_draws=9)
      >>> round(float(test.statistic), 3)
      0.111
    """
    check_size("max_bins", max_bins, least=2)
    max_bins = check_num_bins(max_bins)
    num_draws = check_size("num_draws", num_draws)
    rows = Rows.of(confidence, correct, None, where)
    return rows.raise_if_invalid(_test(single(key), rows, max_bins.bit_length() - 1, num_draws))


@jitted(static=("levels", "num_draws"))
def _test(key: PRNGKeyArray, rows: Rows, levels: int, num_draws: int) -> CalibrationTest:
    rows = rows.clean()
    f, num_bins = rows.confidence, 2**levels
    index = Bins(num_bins).index(f)
    counted = rows.counted.astype(f.dtype)
    count = sum_by_bin(index, counted, num_bins)
    v = counted * f * (1.0 - f)
    spread, squares = sum_by_bin(index, v, num_bins), sum_by_bin(index, v * v, num_bins)
    deviations = jnp.stack([_deviation(*parts) for parts in _coarser((count, spread, squares), levels)])

    def excesses(residual: jax.Array) -> jax.Array:
        sums = (count, sum_by_bin(index, residual, num_bins), sum_by_bin(index, residual * residual, num_bins))
        return jnp.stack([_excess(*parts) for parts in _coarser(sums, levels)])

    def statistics(correct: jax.Array) -> jax.Array:
        excess = excesses(counted * (correct - f))
        return jnp.where(deviations > 0, excess / jnp.where(deviations > 0, deviations, 1.0), 0.0)

    def drawn(k: jax.Array) -> jax.Array:
        u = jax.random.uniform(jax.random.fold_in(key, k), f.shape, f.dtype)
        return jnp.max(statistics((u < f).astype(f.dtype)))

    impossible = excesses(jnp.where(v == 0, counted * (rows.correct - f), 0.0)) > 0  # of integers, whose sign is exact
    observed = jnp.where(impossible & ~(deviations > 0), jnp.inf, statistics(rows.correct))
    null = lax.map(drawn, jnp.arange(num_draws, dtype=np.int32))
    statistic, best = jnp.max(observed), jnp.argmax(observed)
    nan = 0.0 * jnp.sum(f) / jnp.sum(counted)
    reached = null >= statistic * (1.0 - 1e-6 * jnp.sign(statistic))
    p_value = (1 + jnp.sum(reached, dtype=np.int32)).astype(f.dtype) / (num_draws + 1)
    bins = jnp.left_shift(np.int32(2), (levels - 1 - best).astype(np.int32)).astype(f.dtype)
    return CalibrationTest(statistic + nan, p_value + nan, bins + nan)


def _coarser(sums: tuple[jax.Array, ...], levels: int) -> list[tuple[jax.Array, ...]]:
    """Return the sums over 2^levels, ..., 4, 2 bins."""
    nested = [sums]
    for _ in range(levels - 1):
        sums = tuple(part.reshape(-1, 2).sum(axis=1) for part in sums)
        nested.append(sums)
    return nested


def _excess(count: jax.Array, total: jax.Array, squares: jax.Array) -> jax.Array:
    """Return n T_m."""
    return jnp.sum(jnp.where(count > 1, (total**2 - squares) / jnp.maximum(count, 1.0), 0.0))


def _deviation(count: jax.Array, total: jax.Array, squares: jax.Array) -> jax.Array:
    """Return the standard deviation of n T_m."""
    pairs = jnp.maximum(total**2 - squares, 0.0)
    return jnp.sqrt(2.0 * jnp.sum(jnp.where(count > 1, pairs / jnp.maximum(count, 1.0) ** 2, 0.0)))
