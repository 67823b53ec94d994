"""Numbers of a report are those of the public functions; paired intervals are those of resampled rows."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest

import mixjax
from mixjax import calibration, scores
from mixjax.calibration.intervals import Interval, bootstrap_intervals
from mixjax.calibration.significance import calibration_test
from mixjax.report.comparison import check_pair, compare
from mixjax.report.metrics import Settings, report_on
from mixjax.report.numbers import p_value, rounded, with_interval
from mixjax.report.reading import FilePredictions, read_predictions
from mixjax.runs import RunError
from tests.report.conftest import SETTINGS, draw, softmax

LOGITS, LABELS = draw(1, 2.0)
PROBS = softmax(LOGITS)
NONE_MISSING = np.zeros(len(LABELS), bool)


@pytest.fixture(scope="module")
def other(files):
    return report_on(read_predictions(files / "other.npz", "logits"), SETTINGS)


@pytest.mark.medium
def test_estimates(plain):
    """Those of bins, and losses, from their definitions; the others are the public functions."""
    confidence, correct = (np.asarray(part, np.float64) for part in scores.top_label_from_logits(LOGITS, LABELS))
    bins = np.minimum((6 * confidence).astype(int), 5)
    size, gap = np.bincount(bins, minlength=6), np.bincount(bins, correct - confidence, 6)
    spread = np.bincount(bins, (correct - confidence) ** 2, 6)
    filled, several = size > 0, size > 1
    parts = calibration.brier_decomposition(confidence.astype(np.float32), correct)
    outcome = np.eye(3)[LABELS]
    expected = {
        "accuracy": correct.mean(),
        "ECE": np.abs(gap).sum() / len(LABELS),
        "RMS calibration error": np.sqrt((gap[filled] ** 2 / size[filled]).sum() / len(LABELS)),
        "MCE": (np.abs(gap[filled]) / size[filled]).max(),
        "debiased squared error": ((gap**2 - spread)[several] / (size - 1)[several]).sum() / len(LABELS),
        "signed gap": (confidence - correct).mean(),
        "smooth ECE": calibration.smooth_ece(confidence.astype(np.float32), correct),
        "class-wise ECE": mixjax.classwise_ece(PROBS, LABELS, num_bins=6),
        "NLL": -np.log(PROBS[np.arange(len(LABELS)), LABELS]).mean(),
        "Brier score": ((PROBS - outcome) ** 2).sum(axis=1).mean(),
        "miscalibration": parts.miscalibration,
        "discrimination": parts.discrimination,
        "uncertainty": parts.uncertainty,
    }
    assert [metric.name for metric in plain.metrics] == list(expected)
    for metric in plain.metrics:
        np.testing.assert_allclose(metric.interval.estimate, expected[metric.name], atol=2e-6, err_msg=metric.name)
    np.testing.assert_array_equal(plain.table.count, size)


@pytest.mark.medium
def test_intervals_and_test_are_the_public_functions(plain):
    confidence, correct = scores.top_label_from_logits(LOGITS, LABELS)
    key_intervals, key_test, key_classes = SETTINGS.keys()
    found = bootstrap_intervals(key_intervals, confidence, correct, num_bins=6, level=0.9, replicates=2000)
    assert plain.metric("ECE").interval == found.ece
    assert plain.metric("debiased squared error").interval == found.debiased_squared_ece
    assert tuple(plain.test) == tuple(map(float, calibration_test(key_test, confidence, correct)))
    probs = np.asarray(jax.nn.softmax(LOGITS, axis=-1))
    for k, of_class in enumerate(plain.classes):
        key = jax.random.fold_in(key_classes, k)
        options = {"num_bins": 6, "level": 0.9, "replicates": 2000}
        assert of_class.ece == bootstrap_intervals(key, probs[:, k], k == LABELS, **options).ece
        assert of_class.rows == (k == LABELS).sum()
        np.testing.assert_allclose(of_class.mean_probability, probs[:, k].mean(), rtol=1e-6)
    assert plain.worst_classes(2) == sorted(np.argsort([-c.ece.estimate for c in plain.classes])[:2])


@pytest.mark.slow
def test_a_binary_file_and_equal_mass_bins():
    f, y = PROBS.max(axis=1).astype(np.float64), (PROBS.argmax(axis=1) == LABELS).astype(int)
    settings = dataclasses.replace(SETTINGS, binning="equal-mass", replicates=20)
    report = report_on(FilePredictions("pairs", "", "binary", f, y, NONE_MISSING, str), settings)
    names = {metric.name: metric.interval.estimate for metric in report.metrics}
    bins = 6 * np.searchsorted(np.sort(f), f) // len(f)
    ece = np.abs(np.bincount(bins, y - f.astype(np.float64))).sum() / len(f)
    np.testing.assert_allclose(names["ECE"], ece, rtol=1e-12)
    np.testing.assert_allclose(names["Brier score"], ((f - y) ** 2).mean(), rtol=1e-12)
    np.testing.assert_allclose(names["NLL"], -np.log(np.where(y == 1, f, 1 - f)).mean(), rtol=1e-10)
    assert names["mean correctness"] == y.mean()
    assert not report.classes
    assert report.histogram.sum() == len(f)
    assert len(set(report.histogram)) > 2  # of equal widths


@pytest.mark.medium
def test_an_impossible_label_has_an_infinite_loss():
    probs = np.where(np.arange(len(LABELS))[:, None] == 5, np.float32(np.arange(3) == (LABELS[5] + 1) % 3), PROBS)
    file = FilePredictions("f", "", "probs", probs, LABELS, NONE_MISSING, str)
    report = report_on(file, dataclasses.replace(SETTINGS, replicates=5))
    assert report.metric("NLL").interval.estimate == np.inf
    assert with_interval(report.metric("NLL").interval) == "inf"
    difference = next(metric.interval for metric in compare(report, report).differences if metric.name == "NLL")
    assert np.isnan(difference.estimate)


@pytest.mark.medium
def test_differences_are_those_of_the_reports(plain, other):
    for metric in compare(plain, other).differences:
        expected = other.metric(metric.name).interval.estimate - plain.metric(metric.name).interval.estimate
        np.testing.assert_allclose(metric.interval.estimate, expected, atol=1e-6, err_msg=metric.name)
        assert metric.interval.low <= metric.interval.estimate <= metric.interval.high


@pytest.mark.medium
def test_a_model_does_not_differ_from_itself(plain):
    for metric in compare(plain, plain).differences:
        np.testing.assert_allclose(metric.interval, 0, atol=1e-9)


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("binning", ["equal-width", "equal-mass"])
def test_paired_bins_are_as_good_as_rows(plain, other, binning, rng):
    """The standard deviation over samples of rows, in the same bins, within 4 standard errors (1/sqrt(2 * 2000))."""
    settings = dataclasses.replace(SETTINGS, binning=binning)
    pair = [report_on(report.file, settings) for report in (plain, other)]
    found = {metric.name: metric.interval for metric in compare(*pair).differences}
    rows = rng.integers(0, len(LABELS), (2000, len(LABELS)))
    errors = []
    for report in pair:
        f, y = (np.asarray(part, np.float64) for part in scores.top_label_from_logits(report.file.scores, LABELS))
        filled = np.asarray(report.table.count) > 0
        bins = np.searchsorted(np.asarray(report.table.lowest)[filled], f + 1e-9) - 1
        gaps = np.stack([np.bincount(bins[r], (y - f)[r], 6) for r in rows])
        errors.append(np.abs(gaps).sum(axis=1) / len(LABELS))
    literal = (errors[1] - errors[0]).std()
    assert abs(found["ECE"].standard_error / literal - 1) < 4 * np.sqrt(2 / 4000)


def test_pairs_must_be_of_the_same_rows(files, plain):
    file = plain.file
    for change, message in (
        ({"labels": np.roll(file.labels, 1)}, "have different labels in"),
        ({"labels": file.labels[1:]}, "has 240 rows and plain.npz has 239"),
        ({"scores": file.scores[:, :2]}, "has 3 classes and plain.npz has 2"),
    ):
        with pytest.raises(RunError, match=message):
            check_pair(file, dataclasses.replace(file, **change))


def test_wrong_settings_are_refused():
    for options, message in (
        ({"num_bins": 0}, "num_bins must be at least 1, got 0"),
        ({"level": 95.0}, "level must be between 0 and 1, got 95"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"binning": "quantile"}, "binning must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            Settings(**options)


def test_numbers_are_short_and_have_a_minus():
    assert rounded(-0.00001, 4) == "0.0000"
    assert rounded(-0.25, 2) == "\N{MINUS SIGN}0.25"
    assert rounded(np.nan) == "-"
    assert with_interval(Interval(0.1234567, 0.1, 0.2, 0.02)) == "0.123 [0.100, 0.200]"
    assert p_value(0.001) == "at most 0.001"
    assert p_value(0.0421) == "0.042"
