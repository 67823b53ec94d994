"""Intervals: what they cover, and that a bootstrap of counts is one of rows."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import beta

from mixjax.calibration.intervals import basic_interval, bootstrap_intervals, mean_interval
from mixjax.calibration.rows import resampling
from tests.calibration.exact import binned_error

MEAN, VAR, BINS = 1.2, 2.0, 15  # over-confident: rho = 0.6


def gaussian_sample(rng, size):
    """(confidence, correct) of the Gaussian model's score."""
    y = rng.choice([-1, 1], size)
    v = y * MEAN + np.sqrt(VAR) * rng.standard_normal(size)
    return expit(2 * np.abs(v)), v * y > 0


def truth():
    """Binned errors of the population, by summing the score's density on a grid of step 2e-5."""
    v = np.linspace(-15, 15, 1_500_001)
    density = np.exp(-((v - MEAN) ** 2) / (2 * VAR))
    density /= density.sum()
    confidence, accuracy = expit(2 * np.abs(v)), expit(2 * MEAN / VAR * np.abs(v))
    both = density + density[::-1]  # of |v|, each half twice
    index = np.minimum((confidence * BINS).astype(int), BINS - 1)
    mass = np.bincount(index, 0.5 * both, BINS)
    gap = np.bincount(index, 0.5 * both * (confidence - accuracy), BINS)
    inside = mass > 0
    return {
        "signed_gap": gap.sum(),
        "debiased_squared_ece": (gap[inside] ** 2 / mass[inside]).sum(),
        "ece": np.abs(gap).sum(),
    }


@pytest.fixture(scope="module")
def coverage(module_key):
    """Of 1000 samples of 2000 rows, for which share an interval of 95 % holds the truth."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(module_key)))
    true, hits = truth(), {"signed_gap": 0, "debiased_squared_ece": 0, "ece": 0}
    for number in range(1000):
        found = bootstrap_intervals(jax.random.key(number), *gaussian_sample(rng, 2000), num_bins=BINS, replicates=300)
        for name in hits:
            interval = getattr(found, name)
            hits[name] += interval.low <= true[name] <= interval.high
    return {name: count / 1000 for name, count in hits.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["signed_gap", "debiased_squared_ece"])
def test_intervals_cover_what_they_say(coverage, name):
    """93 to 97 %: 2.9 standard errors of the count on each side."""
    assert 0.93 <= coverage[name] <= 0.97, coverage


@pytest.mark.slow
def test_the_plain_ece_is_covered_less(coverage):
    """Its bias costs coverage; it stays a useful interval away from exact calibration."""
    assert 0.85 <= coverage["ece"] <= 0.97, coverage


LAWS = {  # of confidences and the accuracy at them; few rows are wrong in the first three
    "Beta(100, 1)": (lambda rng, n: rng.beta(100, 1, n), lambda f: f, 0.0),
    "Beta(20, 1)": (lambda rng, n: rng.beta(20, 1, n), lambda f: f, 0.0),
    "Beta(30, 1), too sure": (lambda rng, n: rng.beta(30, 1, n), lambda f: 0.97 * f, 0.03 * 30 / 31),
    "uniform": (lambda rng, n: rng.random(n), lambda f: f, 0.0),
    ".99 or .5": (lambda rng, n: np.where(rng.random(n) < 0.5, 0.99, 0.5), lambda f: f, 0.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("size", [30, 300])
@pytest.mark.parametrize("law", LAWS)
def test_the_signed_gap_is_covered_where_few_rows_are_wrong(law, size, rng, key):
    """91 to 99 % of 1000 samples; from the coverages of docs/estimators.md, 92.7 to 97.2 %, that is 2.1 standard errors
    on the lower side of the worst and 3.4 on the upper."""
    draw, accuracy, true = LAWS[law]
    hits = 0
    for _ in range(1000):
        confidence = draw(rng, size)
        correct = rng.random(size) < accuracy(confidence)
        found = bootstrap_intervals(key, confidence, correct, replicates=500).signed_gap
        hits += found.low <= true <= found.high
    assert 910 <= hits <= 990


@pytest.mark.parametrize("right", [True, False])
def test_rows_that_are_all_right_or_all_wrong_have_the_interval_of_jeffreys(key, right):
    """One confidence: the gap is that less a Beta variable. The quantiles of 20,000 draws are those of levels within
    .0055 (5 standard errors) of .025 and .975."""
    gap = bootstrap_intervals(key, np.full(30, 0.99), np.full(30, right), replicates=20_000).signed_gap
    posterior = beta(30.5, 0.5) if right else beta(0.5, 30.5)
    assert gap.estimate == pytest.approx(0.99 - right)
    level = posterior.cdf(0.99 - np.array([gap.high, gap.low]))  # the estimate is an end
    near, end = (level[0] - 0.025, gap.low) if right else (level[1] - 0.975, gap.high)
    assert abs(near) < 0.0055
    assert end == gap.estimate


@pytest.mark.parametrize("right", [0, 30])
def test_no_interval_is_a_point(key, right):
    correct = np.arange(30) < right
    for confidence in (np.full(30, 0.99), np.linspace(0.9, 0.99, 30)):
        for name, interval in bootstrap_intervals(key, confidence, correct)._asdict().items():
            assert interval.high - interval.low > 1e-3, name
            assert interval.low <= interval.estimate <= interval.high
            assert interval.standard_error > 0


def test_counts_are_as_good_as_rows(rng, key):
    """The standard deviation over bootstrap samples of rows, within 4 of its standard errors (1/sqrt(2 * 2000))."""
    confidence, correct = gaussian_sample(rng, 400)
    found = bootstrap_intervals(key, confidence, correct, num_bins=5, replicates=2000)
    rows = rng.integers(0, 400, (2000, 400))
    index = np.minimum((confidence * 5).astype(int), 4)
    gaps = [np.bincount(index[r], (correct - confidence)[r], 5) for r in rows]
    literal = {"ece": np.abs(gaps).sum(1) / 400, "signed_gap": -np.sum(gaps, 1) / 400}
    for name, values in literal.items():
        interval = getattr(found, name)
        assert abs(interval.standard_error / values.std() - 1) < 4 * np.sqrt(2 / 4000)


@pytest.mark.medium
def test_estimates_are_the_estimators(rng, key):
    confidence, correct = gaussian_sample(rng, 300)
    kept = np.arange(300) < 200
    for options in ({"num_bins": 7, "closed": "right"}, {"binning": "equal-mass", "num_bins": 15, "where": kept}):
        found = bootstrap_intervals(key, confidence, correct, replicates=10, **options)
        where = options.get("where", np.ones(300, bool))
        exact = partial(binned_error, confidence[where], correct[where])
        exact = partial(exact, **{name: value for name, value in options.items() if name != "where"})
        for name, norm in (("ece", 1), ("rms_ece", 2), ("mce", np.inf)):
            np.testing.assert_allclose(getattr(found, name).estimate, exact(norm=norm), rtol=1e-10)
    again = bootstrap_intervals(key, confidence, correct, replicates=10, **options)
    assert again == found


@pytest.mark.slow
def test_many_bins_take_the_room_of_those_that_hold_rows(key, rng, monkeypatch):
    """A million bins of 40 rows are 40 bins; samples are drawn in parts if they take much room."""
    rows = rng.random(40), rng.random(40) < 0.5
    many = bootstrap_intervals(key, *rows, num_bins=2**20, replicates=400)
    few = bootstrap_intervals(key, *rows, num_bins=2**19, replicates=400)
    np.testing.assert_array_equal(many, few)
    assert many.ece.low < many.ece.estimate  # each bin has one row
    monkeypatch.setattr(resampling, "_BLOCK", 40 * 6 * 100)
    parts = bootstrap_intervals(key, *rows, num_bins=2**20, replicates=400)
    np.testing.assert_allclose(parts.signed_gap.standard_error, many.signed_gap.standard_error, rtol=0.3)


def test_the_basic_interval_reflects_the_quantiles():
    """Deviations 0 to 99 from the truth: the estimate less the quantiles, the upper one below."""
    drawn = 2.0 + np.arange(100.0)
    interval = basic_interval(50.0, 12.0, drawn, 0.9)
    np.testing.assert_allclose(interval, (50, 60 - 0.95 * 99, 60 - 0.05 * 99, drawn.std(ddof=1)), rtol=1e-12)
    assert basic_interval(50.0, 2.0, drawn, 0.9).high == 50  # not below its estimate


def test_the_mean_interval_is_the_normal_one():
    interval = mean_interval([1.0, 2.0, 3.0, 6.0])
    error = np.std([1, 2, 3, 6], ddof=1) / 2
    np.testing.assert_allclose(interval, (3, 3 - 1.959963985 * error, 3 + 1.959963985 * error, error), rtol=1e-9)
    assert np.isnan(mean_interval([1.0]).low)
    assert np.isnan(mean_interval([]).estimate)
    assert mean_interval([1.0, np.nan, 3.0, 2.0, 6.0], where=[1, 0, 1, 1, 1]) == mean_interval([1.0, 3.0, 2.0, 6.0])
    assert mean_interval([1e308, 1e308, -1e308]).high == np.inf


@pytest.mark.medium
def test_wrong_and_degenerate_input(key):
    assert np.isnan(bootstrap_intervals(key, [], [], replicates=5).ece.low)
    for interval in bootstrap_intervals(key, [0.5, np.nan], [0, 1], replicates=5):
        assert np.isnan(interval).all()
    with pytest.raises(ValueError, match="confidence must be in"):
        bootstrap_intervals(key, [1.5], [1])
    for level in (0, 1, 95):
        with pytest.raises(ValueError, match="level must be between 0 and 1"):
            bootstrap_intervals(key, [0.5], [1], level=level)
        with pytest.raises(ValueError, match="level must be between 0 and 1"):
            mean_interval([0.5, 1.0], level=level)
