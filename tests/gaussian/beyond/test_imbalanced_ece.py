"""Calibration with unequal classes and a bias: dense sums of the definition, a sample, and the balanced case."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from mixjax.gaussian import ScoreLaw, imbalanced_ece

# mean, var, positive_rate, bias
CASES = np.array([
    (1.0, 2.0, 0.5, 0.0),
    (1.0, 2.0, 0.8, 0.0),  # without a bias the top-label error does not depend on the rate
    (1.0, 2.0, 0.02, 0.0),
    (0.3, 0.3, 0.9, logit(0.9)),  # calibrated
    (2.0, 2.0, 0.9, logit(0.9)),
    (1.0, 2.0, 0.8, logit(0.8)),
    (4.0, 6.0, 0.9, logit(0.9)),
    (1.0, 1.05, 0.95, logit(0.95)),
    (2.0, 1.5, 0.3, logit(0.3)),
    (2.0, 1.5, 0.3, 1.0),
    (0.0, 0.5, 0.7, 0.3),
    (-1.0, 2.0, 0.6, -3.0),
    (0.1, 1e-3, 0.9, 2.0),
    (9.0, 28.0, 0.02, -8.0),
    (-0.13, 19.3, 0.7, 0.0),
])  # fmt: skip


def class_wise_ece(mean, var, rate, bias):
    reach = abs(mean) + 9 * np.sqrt(var)
    v = np.linspace(-reach, reach, 200_001)
    positive = rate * stats.norm.pdf(v, mean, np.sqrt(var))
    negative = (1 - rate) * stats.norm.pdf(v, -mean, np.sqrt(var))
    return np.trapezoid(np.abs(positive - expit(2 * v + bias) * (positive + negative)), v)


def top_label_ece(mean, var, rate, bias):
    """Over confidences: both scores that have one are merged."""
    c = np.linspace(0, 2 * (abs(mean) + 9 * np.sqrt(var)) + abs(bias), 200_001)
    right = wrong = 0
    for u in (c, -c):
        v = 0.5 * (u - bias)
        positive = rate * stats.norm.pdf(v, mean, np.sqrt(var))
        negative = (1 - rate) * stats.norm.pdf(v, -mean, np.sqrt(var))
        first, second = (positive, negative) if u is c else (negative, positive)
        right, wrong = right + 0.5 * first, wrong + 0.5 * second
    return np.trapezoid(np.abs(right - expit(c) * (right + wrong)), c)


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-6), (np.float32, 1e-5)])
@pytest.mark.parametrize("kind", ["class-wise", "top-label"])
def test_equals_dense_sums_of_the_definition(kind, dtype, tolerance):
    """A variance of 0 gives NaN, a calibrated law 0, and a law without a bias the same top-label error at any rate."""
    mean, var, rate, bias = np.append(CASES, [[0, 0, 0.3, 0]], axis=0).astype(dtype).T
    ours = np.asarray(imbalanced_ece(ScoreLaw(mean, var - mean), positive_rate=rate, bias=bias, kind=kind))
    assert ours.dtype == dtype
    assert np.isnan(ours[-1])
    reference = class_wise_ece if kind == "class-wise" else top_label_ece
    np.testing.assert_allclose(ours[:-1], [reference(*case) for case in CASES], rtol=0, atol=tolerance)
    np.testing.assert_allclose(ours[3:5], 0, atol=1e-12 if dtype == np.float64 else tolerance)
    np.testing.assert_allclose(ours[0], reference(*CASES[0]) if kind == "class-wise" else ours[1:3], atol=tolerance)


def test_another_kind_is_refused():
    with pytest.raises(ValueError, match="kind must be one of"):
        imbalanced_ece(ScoreLaw(np.array(1.0), np.array(1.0)), positive_rate=0.3, kind="both")
