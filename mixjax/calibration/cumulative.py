r"""Tests of calibration by cumulative differences: no bins, no bandwidth, and p-values without draws.

With the rows in order of confidence, the sums S_k of the first k residuals y_i - f_i are a random walk if the scores
are calibrated, and in units of sigma = (sum_i f_i (1 - f_i))^(1/2), for many rows, a Brownian motion B on [0, 1]:

    Kolmogorov-Smirnov: max_k |S_k| / sigma -> max |B|,    Kuiper: (max_k S_k - min_k S_k) / sigma -> max B - min B,

with S_0 = 0 among them. Where confidences are equal the sum is looked at behind the last of them only, so that the
order of rows never matters. A walk that is looked at less often strays less far, as does one of few rows: ties and
small samples make both tests conservative.

References: I. Arrieta-Ibarra, P. Gujral, J. Tannen, M. Tygert, C. Xu, "Metrics of calibration for probabilistic
predictions" (JMLR 23, 2022), ECCE-MAD and ECCE-R; M. Tygert, "Calibration of P-values for calibration" (2022).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.order import Ties, sorted_rows
from mixjax.calibration.rows.sums import prefix_sums, total
from mixjax.numerics.brownian import maximum_tail, range_tail
from mixjax.numerics.meshes import jitted
from mixjax.typing import ArrayLike


class AsymptoticTest(NamedTuple):
    """The outcome of a test by its law for many rows: small p-values speak against calibration.

    Example:
      >>> from mixjax.calibration import AsymptoticTest
      >>> AsymptoticTest._fields
      ('statistic', 'p_value')
    """

    statistic: Float[Array, ""]
    p_value: Float[Array, ""]  # in [0, 1]


def kolmogorov_smirnov_test(
    confidence: ArrayLike, correct: ArrayLike, *, where: ArrayLike | None = None
) -> AsymptoticTest:
    r"""Test calibration by the largest cumulative difference, :math:`\max_k |S_k| / \sigma` (ECCE-MAD).

    `weights` are not supported: the level holds for independent rows, and a row counted twice is not two of them.

    Args:
      confidence, correct, where: as for `ece`, with the same errors.

    Returns:
      The statistic and P(max |B| > statistic). Where all confidences are 0 or 1 the statistic is 0 and the p-value 1 if
      all are right, otherwise infinite and 0. NaN without rows.

    Accuracy: the p-value of a statistic within 1e-6 (tests/numerics/test_brownian.py). Of calibrated scores from
    Beta(4, 1.5), a test at 5 % rejects 3.9 % at 30 rows, 4.3 % at 100, 5.0 % at 1,000 and 5.1 % at 10,000
    (tests/calibration/test_cumulative.py; the last two from 20,000 and 4,000 samples).

    Example:
      >>> from mixjax.calibration import kolmogorov_smirnov_test
      >>> test = kolmogorov_smirnov_test([0.9, 0.6, 0.8], [0, 0, 1])
      >>> round(float(test.statistic), 3), round(float(test.p_value), 3)
      (1.857, 0.127)
    """
    rows = Rows.of(confidence, correct, None, where)
    return rows.raise_if_invalid(_kolmogorov_smirnov(rows))


def kuiper_test(confidence: ArrayLike, correct: ArrayLike, *, where: ArrayLike | None = None) -> AsymptoticTest:
    r"""Test calibration by the range of cumulative differences, :math:`(\max_k S_k - \min_k S_k) / \sigma` (ECCE-R).

    It detects a deviation on any interval of confidences, even where others cancel it. The Kolmogorov-Smirnov test
    detects such deviations less well.

    Args, Returns: as `kolmogorov_smirnov_test`, with P(max B - min B > statistic).

    Accuracy: as `kolmogorov_smirnov_test`; a test at 5 % rejects 2.9 % at 30 rows, 3.7 % at 100, 4.8 % at 1,000 and
    10,000.

    Example:
      >>> from mixjax.calibration import kuiper_test
      >>> test = kuiper_test([0.9, 0.6, 0.8], [0, 0, 1])
      >>> round(float(test.statistic), 3), round(float(test.p_value), 3)
      (1.857, 0.252)
    """
    rows = Rows.of(confidence, correct, None, where)
    return rows.raise_if_invalid(_kuiper(rows))


@jitted()
def _kolmogorov_smirnov(rows: Rows) -> AsymptoticTest:
    sums, sigma = _cumulative_differences(rows)
    statistic = in_units(jnp.max(jnp.abs(sums)), sigma)
    return AsymptoticTest(statistic, maximum_tail(statistic))


@jitted()
def _kuiper(rows: Rows) -> AsymptoticTest:
    sums, sigma = _cumulative_differences(rows)
    statistic = in_units(jnp.max(sums) - jnp.min(sums), sigma)
    return AsymptoticTest(statistic, range_tail(statistic))


def _cumulative_differences(rows: Rows) -> tuple[jax.Array, jax.Array]:
    """Return S_0 = 0 and S_k behind each group of equal confidences, and sigma."""
    ordered = sorted_rows(rows.clean())
    high, low = prefix_sums(ordered.residual)
    ends = Ties.of(ordered).first
    f = ordered.confidence
    spread = total(ordered.counted.astype(f.dtype) * f * (1.0 - f))
    return high[ends] + low[ends], jnp.sqrt(spread) + no_rows(ordered)


def in_units(deviation: jax.Array, sigma: jax.Array) -> jax.Array:
    """Return deviation / sigma, where sigma is 0 too: infinite, or 0 for no deviation."""
    certain = jnp.where(deviation == 0, 0.0, jnp.inf * jnp.sign(deviation))
    return jnp.where(sigma == 0, certain, deviation / jnp.where(sigma == 0, 1.0, sigma))


def no_rows(rows: Rows) -> jax.Array:
    """Return NaN if no row counts, otherwise 0."""
    return jnp.where(jnp.any(rows.counted > 0), 0.0, jnp.nan).astype(rows.confidence.dtype)
