r"""Spiegelhalter's test: is the Brier score what it would be of calibrated scores?

Given calibrated scores f_i, the sum of (y_i - f_i)^2 has the mean sum f_i (1 - f_i), and the difference is a sum of
independent terms,

    Z = sum_i (y_i - f_i) (1 - 2 f_i) / (sum_i (1 - 2 f_i)^2 f_i (1 - f_i))^(1/2) -> N(0, 1).

Reference: D. J. Spiegelhalter, "Probabilistic prediction in patient management and clinical trials" (Statistics in
Medicine 5, 1986).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from mixjax.calibration.cumulative import AsymptoticTest, in_units, no_rows
from mixjax.calibration.rows.clean import Rows
from mixjax.calibration.rows.sums import total
from mixjax.numerics.meshes import jitted
from mixjax.typing import ArrayLike


def spiegelhalter_test(confidence: ArrayLike, correct: ArrayLike, *, where: ArrayLike | None = None) -> AsymptoticTest:
    r"""Test calibration by Spiegelhalter's z, with the two-sided p-value :math:`P(|N(0, 1)| > |z|)`.

    A positive z means a larger Brier score than calibrated scores would have, as for overconfident ones. The test is
    blind to errors that leave the Brier score unchanged, such as any at a confidence of 1/2. `weights` are not
    supported: the level holds for independent rows.

    Args:
      confidence, correct, where: as for `ece`, with the same errors.

    Returns:
      z and the p-value. Where all confidences are 0, 1/2 or 1, z is 0 and the p-value 1 unless one of 0 or 1 is wrong,
      then infinite and 0. NaN without rows.

    Accuracy: of calibrated scores from Beta(4, 1.5), a test at 5 % rejects 4.6 % at 30 rows and 5.0 % at 100
    (tests/calibration/test_cumulative.py).

    Example:
      >>> from mixjax.calibration import spiegelhalter_test
      >>> test = spiegelhalter_test([0.9, 0.6, 0.8], [0, 0, 1])
      >>> round(float(test.statistic), 3), round(float(test.p_value), 3)
      (2.038, 0.042)
    """
    rows = Rows.of(confidence, correct, None, where)
    return rows.raise_if_invalid(_spiegelhalter(rows))


@jitted()
def _spiegelhalter(rows: Rows) -> AsymptoticTest:
    rows = rows.clean()
    f, counted = rows.confidence, rows.counted.astype(rows.confidence.dtype)
    slope = 1.0 - 2.0 * f
    deviation = total(rows.residual * slope)
    sigma = jnp.sqrt(total(counted * slope**2 * f * (1.0 - f)))
    z = in_units(deviation, sigma) + no_rows(rows)
    return AsymptoticTest(z, jax.scipy.special.erfc(jnp.abs(z) / 2**0.5))
