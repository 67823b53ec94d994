"""Population calibration errors against quadrature of their definitions, mpmath and simulation.

A test point is u = y v ~ N(m, w). The classifier claims s(2v) for y = +1 where s(2 rho v) is true, rho = m/w.
"""

from __future__ import annotations

import json
from functools import cache, partial

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import special, stats

from mixjax.gaussian.law import ScoreLaw
from mixjax.gaussian.maximum import population_mce
from mixjax.gaussian.population import (
    population_accuracy,
    population_brier,
    population_ece,
    population_nll,
    population_signed_gap,
    reliability_curve,
)
from tests import paths
from tests.gaussian.integrals import DEFINITIONS, defined
from tests.gaussian.laws import LAWS, NAMED_LAWS, NAMES, grid_law

CASES = json.loads((paths.CASES / "population.json").read_text())
A, S2, ECE, ECE2, MCE, ACCURACY = (
    np.array([row[column] for row in CASES]) for column in ("a", "s2", "ece", "ece2", "mce", "accuracy")
)
FUNCTIONS = {
    "ece": jax.jit(population_ece),
    "ece1.5": jax.jit(partial(population_ece, norm=1.5)),
    "rms_ece": jax.jit(partial(population_ece, norm=2)),
    "nll": jax.jit(population_nll),
    "brier": jax.jit(population_brier),
    "mce": jax.jit(population_mce),
    "accuracy": jax.jit(population_accuracy),
    "signed gap": jax.jit(population_signed_gap),
}
DEFINED = [name for name in FUNCTIONS if name in DEFINITIONS]
NAMED = slice(0, len(LAWS))  # of what is found


def random_law(rng, dtype, size):
    """Laws of the docstrings' range, a fifth of them near calibration, that say in the dtype what the variance is."""
    var, mean = 10 ** rng.uniform(-4, 4, size), rng.choice([-1, 1], size) * 10 ** rng.uniform(-4, 4, size)
    near = rng.choice([-1, 1], size) * 10 ** rng.uniform(-9, -1, size) * np.abs(mean)
    gap = np.where((rng.random(size) < 0.2) & (mean > 0), near, var - mean)
    law = ScoreLaw(mean.astype(dtype), gap.astype(dtype))
    var = law.mean.astype(float) + law.gap
    exact = (var >= 1e-4) & (var <= 1e4) & (-law.mean <= 1e-6 / np.finfo(dtype).eps * var)
    return ScoreLaw(law.mean[exact], law.gap[exact])


@cache
def laws(dtype):
    """The named ones (in float64), every third of the grid, and 150 at random: one batch, so one program a function."""
    named = NAMED_LAWS if dtype == np.float64 else ScoreLaw(*np.zeros((2, 0), dtype))
    parts = zip(named, grid_law(dtype), random_law(np.random.default_rng(0), dtype, 250), strict=True)
    return ScoreLaw(*(np.concatenate([first, grid[::3], random]) for first, grid, random in parts))


@cache
def found(quantity):
    """The quantity for `laws`, in float64."""
    return np.asarray(FUNCTIONS[quantity](laws(np.float64)))


@pytest.mark.parametrize("name, norm", [("rho = 3", 2), ("nearly calibrated, over", 1)])
def test_the_reference_itself(name, norm):
    """The definition with its cancelling terms, by mpmath in 35 digits."""
    mean, gap = LAWS[name]
    with mpmath.workdps(35):
        m, w = mpmath.mpf(mean), mpmath.mpf(mean) + mpmath.mpf(gap)
        sd, rho = mpmath.sqrt(w), m / w

        def integrand(v):
            true, claimed = (1 / (1 + mpmath.exp(-2 * slope * v)) for slope in (rho, 1))
            return mpmath.npdf(v, m, sd) * abs(true - claimed) ** norm

        mesh = sorted({sign * x for sign in (-1, 1) for x in (0, 1, 3, 9, 27)} | {m + k * sd for k in (-4, 0, 4)})
        expected = float(mpmath.quad(integrand, mesh) ** (mpmath.mpf(1) / norm))
    np.testing.assert_allclose(DEFINITIONS["rms_ece" if norm == 2 else "ece"](mean, gap), expected, rtol=1e-12)


# What the docstrings say; 1e-12 (float64, usual laws) is also the precision of the reference.
# Errors are absolute; the NLL's, of a quantity without a bound, are relative to max(1, NLL).
ANYWHERE = {"ece": 2e-10, "ece1.5": 1e-7, "rms_ece": 2e-10, "nll": 1e-10, "brier": 5e-10}
USUAL = {"ece": 1e-12, "ece1.5": 1e-7, "rms_ece": 1e-12, "nll": 1e-12, "brier": 1e-12}
FLOAT32 = {"ece": 1e-5, "ece1.5": 1e-5, "rms_ece": 1e-5, "nll": 1e-5, "brier": 2e-5}


def error_of(quantity, actual, expected):
    error = np.abs(np.asarray(actual, float) - expected)
    return error / np.maximum(1, expected) if quantity == "nll" else error


@pytest.mark.medium
@pytest.mark.few(3)
@pytest.mark.parametrize("quantity", DEFINED)
def test_laws_in_float64(quantity):
    law = laws(np.float64)
    actual, expected = found(quantity), defined(quantity, law)
    error, usual = error_of(quantity, actual, expected), (np.abs(law.mean) <= 10) & (law.var <= 30)
    assert error.max() < ANYWHERE[quantity]
    assert error[usual].max() < USUAL[quantity]
    if quantity == "ece":
        seen = expected > 1e-100
        np.testing.assert_allclose(actual[seen], expected[seen], rtol=ANYWHERE["ece"])
        np.testing.assert_allclose(actual[seen & usual], expected[seen & usual], rtol=USUAL["ece"])


@pytest.mark.few(1)
@pytest.mark.parametrize("quantity", DEFINED)
def test_laws_in_float32(quantity):
    law = laws(np.float32)
    actual, expected = np.asarray(FUNCTIONS[quantity](law)), defined(quantity, law)
    assert actual.dtype == np.float32
    assert error_of(quantity, actual, expected).max() < FLOAT32[quantity]
    if quantity == "ece":
        seen = expected > 1e-30
        np.testing.assert_allclose(actual[seen].astype(float), expected[seen], rtol=3e-5)


@pytest.mark.medium
def test_what_is_far_below_the_accuracy_has_no_digits():
    """The range of the rule ends where the density is e^-38 of its peak, above where these have their mass."""
    for quantity, law in (("nll", (300.0, -30.0)), ("rms_ece", (208.0, -147.0))):
        batch = ScoreLaw(*(np.full(len(found(quantity)), part) for part in law))
        expected, actual = DEFINITIONS[quantity](*law), FUNCTIONS[quantity](batch)[0]
        assert 0 < expected < 1e-50
        assert abs(actual / expected - 1) > 1e-3


# --- the table of the project ---------------------------------------------------------------------

SINGLE = {"ece": ECE, "rms_ece": ECE2, "mce": MCE, "accuracy": ACCURACY}  # equal to `population_errors`: the contract


def check_cases(law, dtype, within):
    """In a batch of the size of `laws`, so that the programs are those of the tests above."""
    batch = ScoreLaw(*(np.resize(part, laws(dtype).mean.size) for part in law))
    for name, expected in SINGLE.items():
        actual = np.asarray(FUNCTIONS[name](batch))[: expected.size]
        assert actual.dtype == dtype
        within(actual.astype(float), expected)


def test_cases_in_float64():
    """Every row within 1e-10."""
    check_cases(ScoreLaw.from_moments(A, S2), np.float64, partial(np.testing.assert_allclose, rtol=0, atol=1e-10))


@pytest.mark.medium
def test_cases_in_float32():
    """Every row within 2e-6, from rounded moments; with the gap from its true value also 1e-4 relative beyond 1e-9."""
    mean = A.astype(np.float32)
    rounded, exact = ScoreLaw.from_moments(mean, S2.astype(np.float32)), ScoreLaw(mean, (S2 - A).astype(np.float32))
    for law in (rounded, exact):
        check_cases(law, np.float32, partial(np.testing.assert_allclose, rtol=0, atol=2e-6))
    seen = ECE > 1e-9
    check_cases(
        exact, np.float32, lambda actual, expected: np.testing.assert_allclose(actual[seen], expected[seen], rtol=1e-4)
    )


# --- accuracy, signed gap, reliability -----------------------------------------------------------


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-14), (np.float32, 5e-7)])
def test_accuracy(dtype, tolerance):
    law = laws(dtype)
    mean, gap = law.mean.astype(float), law.gap.astype(float)
    expected = stats.norm.cdf(mean / np.sqrt(mean + gap))
    np.testing.assert_allclose(FUNCTIONS["accuracy"](law), expected, rtol=0, atol=tolerance)


def test_signed_gap_is_mean_confidence_minus_accuracy():
    """5e-11 as for the ECE."""
    accuracy = stats.norm.cdf(NAMED_LAWS.mean / np.sqrt(NAMED_LAWS.var))
    expected = defined("confidence", NAMED_LAWS) - accuracy
    np.testing.assert_allclose(found("signed gap")[NAMED], expected, rtol=0, atol=5e-11)
    assert (expected > 1e-3).any()
    assert (expected < -1e-3).any()


@pytest.mark.medium
def test_reliability_curve():
    """The accuracy at a confidence is the posterior at its score, by Bayes' rule from the two densities."""
    confidence = np.array([0.01, 0.3, 0.5, 0.6, 0.9, 0.999])
    score, mean, var = special.logit(confidence) / 2, NAMED_LAWS.mean[:, None], NAMED_LAWS.var[:, None]
    expected = special.expit(((score + mean) ** 2 - (score - mean) ** 2) / (2 * var))
    actual = reliability_curve(NAMED_LAWS, confidence)
    ordinary = np.abs(score * mean / var) < 300  # beyond, the exponent loses its digits
    np.testing.assert_allclose(actual[ordinary], expected[ordinary], rtol=1e-10)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_reliability_curve_shapes_and_ends():
    law = ScoreLaw(jnp.array([[1.0, 0.0], [-1.0, 1.0]]), jnp.array([[0.5, 1.0], [2.0, -1.0]]))
    expected = [[[0, 0.5, 1], [0.5, 0.5, 0.5]], [[1, 0.5, 0], [np.nan] * 3]]
    np.testing.assert_array_equal(reliability_curve(law, [0.0, 0.5, 1.0]), expected)
    with pytest.raises(ValueError, match=r"confidence must be in \[0, 1\], got 1\.5"):
        reliability_curve(law, [0.5, 1.5])


@pytest.mark.medium
@pytest.mark.parametrize("name", ["under-confident", "wrong way"])
def test_by_simulation_of_the_definitions(name, rng):
    """Labels, scores and Bayes' rule, nothing else. Within 5 standard errors: false alarm 6e-7 each."""
    k = NAMES.index(name)
    mean, sd = NAMED_LAWS.mean[k], np.sqrt(NAMED_LAWS.var[k])
    exact = {quantity: found(quantity)[NAMED][k] for quantity in FUNCTIONS}
    y = rng.choice([-1, 1], 100_000)
    v = y * mean + sd * rng.standard_normal(y.size)
    positive, negative = (stats.norm.pdf(v, center, sd) for center in (mean, -mean))
    claimed, true = special.expit(2 * v), positive / (positive + negative)
    correct = np.sign(v) == y
    samples = {
        "ece": (np.abs(claimed - true), exact["ece"]),
        "square": ((claimed - true) ** 2, exact["rms_ece"] ** 2),
        "accuracy": (correct, exact["accuracy"]),
        "nll": (-np.log(np.where(y > 0, claimed, 1 - claimed)), exact["nll"]),
        "brier": ((claimed - (y > 0)) ** 2 + (1 - claimed - (y < 0)) ** 2, exact["brier"]),
        "signed gap": (np.maximum(claimed, 1 - claimed) - correct, exact["signed gap"]),
    }
    for what, (sample, expected) in samples.items():
        assert abs(sample.mean() - expected) < 5 * sample.std() / np.sqrt(sample.size), what
    assert np.abs(claimed - true).max() <= exact["mce"] * (1 + 1e-12)
