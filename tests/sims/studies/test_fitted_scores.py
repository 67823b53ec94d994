"""What is measured of fits, against the fits themselves and a score row by row."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mixjax.calibration import ece
from mixjax.gaussian import mixup_logistic_coefficients
from mixjax.sims.studies.fitted_scores import MEASURED, Setting, measured

pytestmark = pytest.mark.medium

SETTINGS = [Setting("plain"), Setting("Mixup 1", alpha=1.0), Setting("smoothing 0.2", smoothing=0.2)]
PENALTIES = np.array([0.1, 0.01])


@pytest.mark.parametrize("n", [4, 10], ids=["fewer rows than features", "more"])
def test_a_training_set_is_fitted_and_the_others_are_scored(key, rng, n):
    """The draw is repeated by hand; n > p takes the fit to single rows, which is the same. float32 to 1e-3."""
    rows = (rng.standard_normal((2, 12, 5)) + np.array([0.7, -0.7])[:, None, None]).astype(np.float32)
    found = measured(key, rows, n, PENALTIES, SETTINGS)
    assert found.shape == (2, 3, len(MEASURED))
    orders = [np.asarray(jax.random.permutation(part, 12)) for part in jax.random.split(key)]
    x = np.concatenate([part[order[: n // 2]] for part, order in zip(rows, orders, strict=True)])
    y = np.repeat([1.0, -1.0], n // 2)
    outwards = np.concatenate([rows[0][orders[0][n // 2 :]], -rows[1][orders[1][n // 2 :]]]).astype(np.float64)
    for penalty, of_penalty in zip(PENALTIES, found, strict=True):
        for setting, values in zip(SETTINGS, of_penalty, strict=True):
            w = mixup_logistic_coefficients(
                x.astype(np.float64), y, penalty=penalty, alpha=setting.alpha, smoothing=setting.smoothing
            )
            margins = 0.5 * outwards @ np.asarray(w)
            confidence, correct = 1 / (1 + np.exp(-2 * np.abs(margins))), (margins > 0).astype(float)
            error = float(ece(confidence, correct, num_bins=15, binning="equal-mass"))
            gap = confidence.mean() - correct.mean()
            expected = [margins.mean(), margins.var(), correct.mean(), gap, error]
            np.testing.assert_allclose(values, expected, rtol=1e-3, atol=1e-3)
