"""Agreement with the libraries that have an estimator too; each test is skipped where its library is not installed.

`pip install -e .[bench]` installs them. Where two definitions differ, the test says how and compares like with like.
"""

from __future__ import annotations

import warnings

import jax
import numpy as np
import pytest

from mixjax import debiased_ece2, ece, mmce, smooth_ece
from mixjax.calibration import kolmogorov_smirnov_test, kuiper_test, spiegelhalter_test

SHAPES = [(50, 1.0), (300, 0.3), (300, 3.0), (2000, 1.0), (2000, 3.0)]  # rows, and a of confidence ~ Beta(a, 1)


@pytest.fixture(params=SHAPES, ids=lambda shape: f"n={shape[0]}-a={shape[1]}")
def rows(request, rng):
    """Over-confident rows: P(correct) = confidence^1.5; in float64, and on no edge of 15 bins."""
    size, a = request.param
    confidence = rng.beta(a, 1.0, size)
    return confidence, (rng.random(size) < confidence**1.5).astype(float)


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of other libraries
        yield


def imported(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def test_ece_of_torchmetrics(rows):
    """To single precision, in which it works. Its 16th bin is for confidence 1, which is not among these."""
    torch, functional = imported("torch"), imported("torchmetrics.functional.classification")
    confidence, correct = torch.from_numpy(rows[0]), torch.from_numpy(rows[1].astype(int))
    for norm, name in ((1, "l1"), (2, "l2"), (np.inf, "max")):
        theirs = functional.binary_calibration_error(confidence, correct, n_bins=15, norm=name)
        np.testing.assert_allclose(ece(*rows, num_bins=15, norm=norm), float(theirs), atol=2e-6)


def test_ece_of_netcal(rows):
    metrics = imported("netcal.metrics")
    confidence, correct = rows[0], rows[1].astype(int)
    np.testing.assert_allclose(ece(*rows, num_bins=15), metrics.ECE(15).measure(confidence, correct), atol=1e-12)
    np.testing.assert_allclose(
        ece(*rows, num_bins=15, norm=np.inf), metrics.MCE(15).measure(confidence, correct), atol=1e-12
    )


@pytest.mark.medium
def test_ece_of_scikit_learn(rows):
    """Its curve leaves empty bins out and has no counts; its bins are closed on the right."""
    calibration = imported("sklearn.calibration")
    confidence, correct = rows
    right, claimed = calibration.calibration_curve(correct, confidence, n_bins=15)
    count = np.histogram(confidence, 15, (0, 1))[0]
    expected = np.abs(right - claimed) @ count[count > 0] / len(correct)
    np.testing.assert_allclose(ece(*rows, num_bins=15, closed="right"), expected, atol=1e-12)


def test_ece_of_tensorflow_probability(rows):
    """From logits, of the top label: both sides in its terms."""
    tfp = imported("tensorflow_probability.substrates.jax")
    confidence, correct = rows
    probs = np.stack([1.0 - confidence, confidence], axis=-1)
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        theirs = tfp.stats.expected_calibration_error(15, logits=np.log(probs), labels_true=correct.astype(np.int32))
    top, hit = probs.max(axis=-1), probs.argmax(axis=-1) == correct
    np.testing.assert_allclose(ece(top, hit, num_bins=15), float(theirs), atol=2e-6)


def test_smooth_ece_of_relplot(rows):
    """Within 1e-3, what its density + 1e-4 and its steps of sigma leave; ours is within 1e-8 of the definition.

    Not where scores crowd at 0: for confidence ~ Beta(0.3, 1) relplot is up to 4e-3 from the definition
    (tests/calibration/test_smooth.py has the definition by brute force).
    """
    relplot = imported("relplot")
    crowded = np.mean(rows[0] < 0.01) > 0.1
    np.testing.assert_allclose(smooth_ece(*rows), relplot.smECE(*rows), atol=4e-3 if crowded else 1e-3)


def test_mmce_of_netcal(rows):
    """Of the top label, with two columns; with one it pairs the confidence of class 1 with the top label's success."""
    metrics = imported("netcal.metrics")
    confidence, correct = rows
    probs = np.stack([1.0 - confidence, confidence], axis=-1)
    top, hit = probs.max(axis=-1), (probs.argmax(axis=-1) == correct).astype(float)
    np.testing.assert_allclose(mmce(top, hit), metrics.MMCE().measure(probs, correct.astype(int)), atol=1e-8)


def test_debiased_of_verified_calibration(rows):
    """Kumar's form in the bins of `get_equal_prob_bins`, which are closed on the right, squared as theirs is."""
    utils = imported("calibration.utils")
    confidence, correct = rows
    data = list(zip(confidence.tolist(), correct.astype(int).tolist(), strict=True))
    expected = utils.unbiased_square_ce(utils.bin(data, utils.get_equal_prob_bins(confidence, num_bins=15)))
    kept = bins_of_two(confidence)
    ours = debiased_ece2(confidence[kept], correct[kept], num_bins=15, form="kumar", closed="right")[0]
    np.testing.assert_allclose(ours * kept.mean(), expected, atol=1e-12)


def test_debiased_of_verified_calibration_with_equal_mass(rng):
    """The same bins where the number of rows is a multiple of theirs."""
    utils = imported("calibration.utils")
    confidence = rng.beta(2.0, 1.0, 1500)
    correct = (rng.random(1500) < confidence).astype(float)
    data = list(zip(confidence.tolist(), correct.astype(int).tolist(), strict=True))
    expected = utils.unbiased_square_ce(utils.bin(data, utils.get_equal_bins(confidence, num_bins=15)))
    ours = debiased_ece2(confidence, correct, num_bins=15, form="kumar", binning="equal-mass")[0]
    np.testing.assert_allclose(ours, expected, atol=1e-12)


def test_cumulative_differences_of_mapie(rows):
    """Its range leaves out the 0 at which the walk begins, which the paper has."""
    mapie = imported("mapie.metrics.calibration")
    confidence, correct = rows
    scale, walk = mapie.length_scale(confidence), mapie.cumulative_differences(correct, confidence, noise_amplitude=0)
    statistics = {
        "ks": mapie.kolmogorov_smirnov_statistic(correct, confidence),
        "kuiper": (max(walk.max(), 0) - min(walk.min(), 0)) / scale,
    }
    for name, test, cdf in (
        ("ks", kolmogorov_smirnov_test, mapie.kolmogorov_smirnov_cdf),
        ("kuiper", kuiper_test, mapie.kuiper_cdf),
    ):
        found = test(confidence, correct)
        np.testing.assert_allclose(found.statistic, statistics[name], rtol=1e-6)  # they add a jitter of 1e-8
        np.testing.assert_allclose(found.p_value, 1 - cdf(float(found.statistic)), atol=1e-10)


def test_spiegelhalter_of_mapie(rows):
    """Its p-value is of one side: it finds overconfident scores only."""
    mapie = imported("mapie.metrics.calibration")
    confidence, correct = rows
    found, above = spiegelhalter_test(confidence, correct), mapie.spiegelhalter_p_value(correct, confidence)
    np.testing.assert_allclose(found.statistic, mapie.spiegelhalter_statistic(correct, confidence), rtol=1e-10)
    np.testing.assert_allclose(found.p_value, 2 * min(above, 1 - above), atol=1e-10)


def bins_of_two(confidence):
    """Rows that are not alone in their bin: verified_calibration counts those as errors of 0, we leave them out."""
    index = np.maximum(np.ceil(confidence * 15), 1).astype(int)
    return np.bincount(index)[index] > 1
