"""Population calibration errors against adaptive quadrature of their definitions, mpmath and simulation.

A test point is u = y v ~ N(m, w). The classifier claims s(2v) for y = +1 where s(2 rho v) is true, rho = m/w.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import optimize, special, stats

from mixjax.gaussian.population import (
    population_accuracy,
    population_brier,
    population_ece,
    population_errors,
    population_mce,
    population_nll,
    population_signed_gap,
    reliability_curve,
)
from mixjax.gaussian.score_law import ScoreLaw

CASES = json.loads((Path(__file__).parents[1] / "cases" / "population.json").read_text())
A, S2, ECE, ECE2, MCE, ACCURACY = (np.array([row[c] for row in CASES]) for c in ("a", "s2", "ece", "ece2", "mce", "accuracy"))

# a law is (mean, gap), var = mean + gap; one row a regime
LAWS = {
    "over-confident": (1.0, 0.5),
    "under-confident": (1.5, -0.5),
    "rho = 3": (3.0, -2.0),
    "rho = 1000": (1.0, -0.999),
    "rho = 1e8": (1e4, -9999.9999),
    "nearly calibrated, over": (1.0, 1e-9),
    "nearly calibrated, under": (1.0, -1e-9),
    "no signal": (0.0, 1.0),
    "no signal, loud": (0.0, 1e4),
    "weak signal": (1e-4, 1.0),
    "weak signal, loud": (0.0078125, 127.9921875),
    "wrong way": (-0.5, 2.0),
    "very wrong way": (-20.0, 50.0),
    "hopelessly wrong way": (-1e4, 1e4 + 1e-4),
    "quiet": (1e-4, 1e-4),
    "quiet, under-confident": (3e-3, -2.9e-3),
    "certain": (30.0, 1.0),
    "very certain": (300.0, -30.0),
    "loud": (100.0, 9900.0),
    "loud, wrong way": (-100.0, 10100.0),
}
LAW = pytest.mark.parametrize("mean, gap", LAWS.values(), ids=LAWS.keys())

MEANS = np.array([-1e4, -100, -10, -3, -1, -0.3, -1e-2, -1e-4, 0, 1e-4, 1e-2, 0.1, 0.3, 1, 3, 10, 30, 100, 1e3, 1e4])
VARIANCES = np.array([1e-4, 1e-2, 0.1, 0.5, 1, 4, 30, 1e3, 1e4])


# --- the definitions, integrated -------------------------------------------------------------------


def log_gap(u, mean, gap):
    """log |s(2 rho u) - s(2u)| = log of |sinh(rho u - u)| / (2 cosh(rho u) cosh u), written without cancellation or overflow."""
    var = mean + gap
    a, b = np.abs(mean / var * u), np.abs(u)
    together = 2 * np.minimum(a, b) if mean >= 0 else 0.0
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(-2 * np.abs(gap / var * u))) - together - np.log1p(np.exp(-2 * a)) - np.log1p(np.exp(-2 * b))


NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def expectation(log_f, mean, gap):
    """E exp(log_f(u)), u ~ N(mean, mean + gap): 40 Gauss nodes on every panel of a mesh that resolves each scale."""
    sd = np.sqrt(mean + gap)
    peaks = np.array([mean, -mean, 2 * sd**2 - mean, mean - 2 * sd**2])  # of the density, plain and times exp(-2 |u|) or exp(-2 rho |u|)
    beside = np.add.outer((peaks - mean) / sd, np.arange(-40, 41, 2.0)).ravel()
    scales = np.array([1, sd**2 / abs(mean) if mean else 1])  # of s(2u) and s(2 rho u), meshed geometrically from 0
    ladder = np.outer(scales, 2.0 ** np.arange(-20, 12)).ravel()
    z = np.unique(np.concatenate([beside, [-mean / sd], (ladder - mean) / sd, (-ladder - mean) / sd]))
    z = z[np.abs(z) <= beside.max()]
    half = np.diff(z)[:, None] / 2
    nodes = z[:-1, None] + half * (1 + NODES)
    return np.sum(half * WEIGHTS * np.exp(log_f(mean + sd * nodes) - nodes**2 / 2)) / np.sqrt(2 * np.pi)


def softplus(x):
    return np.logaddexp(0, x)


def log_softplus(u):
    """log of log(1 + e^{-2u})."""
    return np.where(u < 18, np.log(softplus(-2 * np.minimum(u, 18))), -2 * u)


DEFINITIONS = {
    "ece": lambda m, d: expectation(lambda u: log_gap(u, m, d), m, d),
    "ece1.5": lambda m, d: expectation(lambda u: 1.5 * log_gap(u, m, d), m, d) ** (1 / 1.5),
    "ece2": lambda m, d: np.sqrt(expectation(lambda u: 2 * log_gap(u, m, d), m, d)),
    "nll": lambda m, d: expectation(log_softplus, m, d),
    "brier": lambda m, d: 2 * expectation(lambda u: -2 * softplus(2 * u), m, d),
    "confidence": lambda m, d: expectation(lambda u: -softplus(-2 * np.abs(u)), m, d),
}
FUNCTIONS = {
    "ece": jax.jit(population_ece),
    "ece1.5": jax.jit(partial(population_ece, norm=1.5)),
    "ece2": jax.jit(partial(population_ece, norm=2)),
    "nll": jax.jit(population_nll),
    "brier": jax.jit(population_brier),
}
QUANTITY = pytest.mark.parametrize("quantity", FUNCTIONS)


def grid_law(dtype):
    """All pairs of `MEANS` and `VARIANCES` whose (mean, gap) still says, in the dtype, what the variance is."""
    means, variances = (np.ravel(x).astype(dtype) for x in np.meshgrid(MEANS, VARIANCES, indexing="ij"))
    gaps = variances - means
    told = (means.astype(float) + gaps > 0) & (-means <= 1e-6 / np.finfo(dtype).eps * variances)
    return ScoreLaw(means[told], gaps[told])


def defined(quantity, law):
    return np.array([DEFINITIONS[quantity](float(m), float(d)) for m, d in zip(law.mean, law.gap, strict=True)])


def mp_ece(mean, gap, norm):
    """ECE_r from the definition as it stands, in 60 digits."""
    with mpmath.workdps(60):
        m, w = mpmath.mpf(mean), mpmath.mpf(mean) + mpmath.mpf(gap)
        sd, rho = mpmath.sqrt(w), m / w

        def s(x):
            return 1 / (1 + mpmath.exp(-x))

        ladder = {0, *(sign * c * k for sign in (-1, 1) for c in (1, sd) for k in (0.5, 1, 2, 4, 8, 16)), *(m + k * sd for k in (-16, -8, -4, 0, 4, 8, 16))}
        value = mpmath.quad(lambda v: mpmath.npdf(v, m, sd) * abs(s(2 * rho * v) - s(2 * v)) ** norm, sorted(ladder))
        return float(value ** (mpmath.mpf(1) / norm))


@pytest.mark.parametrize("name", ["over-confident", "rho = 3", "nearly calibrated, over", "wrong way", "certain"])
def test_the_reference_itself(name):
    """The definition with cancelling terms, in 60 digits."""
    mean, gap = LAWS[name]
    np.testing.assert_allclose(DEFINITIONS["ece"](mean, gap), mp_ece(mean, gap, 1), rtol=1e-12)
    np.testing.assert_allclose(DEFINITIONS["ece2"](mean, gap), mp_ece(mean, gap, 2), rtol=1e-12)


# What the docstrings promise and the named laws do not keep; strict, so that each entry is a real miss.
FAR_AND_WIDE = "20 or 64 nodes over a density that peaks far from 0 do not resolve the integrand near 0"
DEEP_IN_THE_TAIL = "the integral is cut 38 sd^2/2 below the peak of the density, above where it has its mass"
BOUNDARY = "u - m is known to 1e-8 sd only, where |m| = 1e6 sd"
MISSES = {
    ("float64", "ece", "loud, wrong way"): FAR_AND_WIDE,
    ("float64", "ece2", "loud, wrong way"): FAR_AND_WIDE,
    ("float64", "brier", "loud, wrong way"): FAR_AND_WIDE,
    ("float64", "brier", "loud"): FAR_AND_WIDE,
    ("float64", "ece", "hopelessly wrong way"): BOUNDARY,
    ("float64", "ece2", "hopelessly wrong way"): BOUNDARY,
    ("float64", "brier", "hopelessly wrong way"): BOUNDARY,
    ("float64", "nll", "very certain"): DEEP_IN_THE_TAIL,
}


def promised(dtype):
    for name, law in LAWS.items():
        for quantity in ("ece", "ece2", "nll", "brier"):
            reason = MISSES.get((dtype, quantity, name))
            marks = [pytest.mark.xfail(reason=reason)] if reason else []
            yield pytest.param(*law, quantity, id=f"{quantity}-{name}", marks=marks)


@pytest.mark.parametrize("mean, gap, quantity", list(promised("float64")))
def test_float64_against_the_definition(mean, gap, quantity):
    """The docstrings' 1e-12 and as much again for the reference; of the Brier score absolute, of the others relative."""
    tolerance = {"rtol": 0, "atol": 2e-12} if quantity == "brier" else {"rtol": 2e-12, "atol": 1e-290}
    np.testing.assert_allclose(FUNCTIONS[quantity](ScoreLaw(mean, gap)), DEFINITIONS[quantity](mean, gap), **tolerance)


@QUANTITY
def test_float64_over_the_grid(quantity):
    """1e-11 relative (of the Brier score absolute) for |mean| <= 10 and var <= 30; 2e-9 absolute and relative to the largest everywhere."""
    law = grid_law(np.float64)
    actual, expected = np.asarray(FUNCTIONS[quantity](law)), defined(quantity, law)
    fractional = 1e4 if quantity == "ece1.5" else 1  # the integrand has a kink there
    np.testing.assert_allclose(actual, expected, rtol=2e-9, atol=fractional * 2e-9)
    usual = (np.abs(law.mean) <= 10) & (law.mean + law.gap <= 30)
    tolerance = {"rtol": 0, "atol": 1e-11} if quantity == "brier" else {"rtol": fractional * 2e-11}
    np.testing.assert_allclose(actual[usual], expected[usual], **tolerance)


@QUANTITY
def test_float32_over_the_grid(quantity):
    """5e-6 absolute for |mean| <= 10 and var <= 30, 2e-4 everywhere."""
    law = grid_law(np.float32)
    actual, expected = np.asarray(FUNCTIONS[quantity](law)), defined(quantity, law)
    assert actual.dtype == np.float32
    np.testing.assert_allclose(actual.astype(float), expected, rtol=1e-6, atol=2e-4)
    usual = (np.abs(law.mean) <= 10) & (law.mean + law.gap <= 30)
    np.testing.assert_allclose(actual[usual].astype(float), expected[usual], rtol=0, atol=5e-6)


@pytest.mark.xfail(reason="v^{r-1} is not analytic at 0; the docstring's 1e-12 is for whole r")
@LAW
def test_fractional_norms_are_as_accurate(mean, gap):
    if mean < -1e3 or mean > 5e3:
        pytest.xfail("value 1 or 0 to all digits")
    np.testing.assert_allclose(population_ece(ScoreLaw(mean, gap), norm=1.5), DEFINITIONS["ece1.5"](mean, gap), rtol=2e-12)


# --- the table of the project ---------------------------------------------------------------------


def test_float64_cases():
    """Every row within 1e-10 of ECE, ECE_2, MCE and accuracy."""
    law = ScoreLaw.from_moments(A, S2)
    errors = population_errors(law)
    for actual, expected in ((errors.ece, ECE), (errors.ece2, ECE2), (errors.mce, MCE), (population_accuracy(law), ACCURACY)):
        assert actual.dtype == np.float64
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("exact_gap", [False, True])
def test_float32_cases(exact_gap):
    """Every row within 2e-6, from the rounded mean; and 1e-4 relative beyond 1e-9 if the gap is not taken from rounded moments."""
    mean, var = A.astype(np.float32), S2.astype(np.float32)
    law = ScoreLaw(mean, (S2 - A).astype(np.float32)) if exact_gap else ScoreLaw.from_moments(mean, var)
    errors = population_errors(law)
    for actual, expected in ((errors.ece, ECE), (errors.ece2, ECE2), (errors.mce, MCE), (population_accuracy(law), ACCURACY)):
        assert actual.dtype == np.float32
        np.testing.assert_allclose(actual.astype(float), expected, rtol=0, atol=2e-6)
        if exact_gap:
            np.testing.assert_allclose(actual[ECE > 1e-9].astype(float), expected[ECE > 1e-9], rtol=1e-4)


# --- the rest by other means ----------------------------------------------------------------------


def widest_gap(mean, gap):
    """sup over v by bounded search on a log scale; flat at its top, so that the value has all digits."""
    found = optimize.minimize_scalar(lambda x: -log_gap(np.exp(x), mean, gap), bounds=(-30, 30), method="bounded", options={"xatol": 1e-9, "maxiter": 1000})
    return np.exp(-found.fun)


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-14), (np.float32, 2e-7)])
def test_mce_by_maximisation(dtype, tolerance):
    """The docstring's accuracy, over rho from 1e-8 to 1e8."""
    law = grid_law(dtype)
    law = ScoreLaw(law.mean[law.mean > 0], law.gap[law.mean > 0])
    expected = [widest_gap(float(m), float(d)) if d else 0.0 for m, d in zip(law.mean, law.gap, strict=True)]
    np.testing.assert_allclose(population_mce(law).astype(float), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-13), (np.float32, 1e-6)])
def test_mce_is_relative_near_calibration(dtype, tolerance):
    """MCE = |1 - rho| max v sech^2(v) / 2 (1 + O(1 - rho)) = .223871 |1 - rho|."""
    peak = -optimize.minimize_scalar(lambda v: -v / np.cosh(v) ** 2 / 2, bounds=(0, 2), method="bounded", options={"xatol": 1e-10}).fun
    gap = np.array([1e-25, -1e-25, 1e-15, -1e-15], dtype)
    np.testing.assert_allclose(population_mce(ScoreLaw(np.ones(4, dtype), gap)), peak * np.abs(gap), rtol=tolerance)


def test_mce_of_the_inverse_slope():
    rho = np.logspace(-8, 8, 41)
    law, inverse = ScoreLaw.from_moments(rho, np.ones(41)), ScoreLaw.from_moments(np.ones(41), rho)
    np.testing.assert_allclose(population_mce(law), population_mce(inverse), rtol=1e-14)


def test_mce_depends_on_the_slope_only():
    scale = np.logspace(-100, 100, 9)
    np.testing.assert_allclose(population_mce(ScoreLaw(scale, 0.3 * scale)), np.full(9, population_mce(ScoreLaw(1.0, 0.3))), rtol=1e-14)


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-13), (np.float32, 1e-6)])
def test_accuracy(dtype, tolerance):
    law = grid_law(dtype)
    expected = stats.norm.cdf(law.mean.astype(float) / np.sqrt(law.mean.astype(float) + law.gap))
    np.testing.assert_allclose(population_accuracy(law), expected, rtol=0, atol=tolerance)


@LAW
def test_signed_gap_is_mean_confidence_minus_accuracy(mean, gap):
    """1e-9 is what a wide density leaves of the ECE (`FAR_AND_WIDE`)."""
    expected = DEFINITIONS["confidence"](mean, gap) - stats.norm.cdf(mean / np.sqrt(mean + gap))
    np.testing.assert_allclose(population_signed_gap(ScoreLaw(mean, gap)), expected, rtol=0, atol=1e-9)


@LAW
def test_reliability_curve(mean, gap):
    """The accuracy at a confidence is the posterior at its score, by Bayes' rule from the two densities."""
    confidence = np.array([0.01, 0.3, 0.5, 0.6, 0.9, 0.999])
    score, var = special.logit(confidence) / 2, mean + gap
    expected = special.expit(((score + mean) ** 2 - (score - mean) ** 2) / (2 * var))
    np.testing.assert_allclose(reliability_curve(ScoreLaw(mean, gap), confidence), expected, rtol=1e-11, atol=1e-300)


def test_reliability_curve_shapes_and_ends():
    law = ScoreLaw(jnp.array([[1.0, 0.0], [-1.0, 1.0], [0.0, -1.0]]), jnp.array([[0.5, 1.0], [2.0, -1.0], [0.0, 1.0]]))
    curve = reliability_curve(law, [0.0, 0.5, 1.0])
    nan = np.nan
    ends = [[[0, 0.5, 1], [0.5, 0.5, 0.5]], [[1, 0.5, 0], [nan] * 3], [[nan] * 3, [nan] * 3]]
    np.testing.assert_array_equal(curve, ends)
    with pytest.raises(ValueError, match=r"confidence must be in \[0, 1\], got 1\.5"):
        reliability_curve(law, [0.5, 1.5])


@pytest.mark.parametrize("name", ["over-confident", "under-confident", "wrong way", "no signal"])
def test_by_simulation_of_the_definitions(name, rng):
    """Labels, scores and Bayes' rule, nothing else. Within 5 standard errors of 1e6 draws: false alarm 6e-7 each."""
    mean, gap = LAWS[name]
    law, sd = ScoreLaw(mean, gap), np.sqrt(mean + gap)
    y = rng.choice([-1, 1], 1_000_000)
    v = y * mean + sd * rng.standard_normal(y.size)
    positive, negative = (stats.norm.pdf(v, center, sd) for center in (mean, -mean))
    claimed, true = special.expit(2 * v), positive / (positive + negative)
    correct = np.sign(v) == y
    samples = {
        "ece": (np.abs(claimed - true), population_ece(law)),
        "square": ((claimed - true) ** 2, population_ece(law, norm=2) ** 2),
        "accuracy": (correct, population_accuracy(law)),
        "nll": (-np.log(np.where(y > 0, claimed, 1 - claimed)), population_nll(law)),
        "brier": ((claimed - (y > 0)) ** 2 + (1 - claimed - (y < 0)) ** 2, population_brier(law)),
        "signed gap": (np.maximum(claimed, 1 - claimed) - correct, population_signed_gap(law)),
    }
    for what, (sample, exact) in samples.items():
        assert abs(sample.mean() - exact) < 5 * sample.std() / 1000, what
    assert np.abs(claimed - true).max() <= population_mce(law)


# --- degenerate laws ------------------------------------------------------------------------------

ALL = {
    **FUNCTIONS,
    "mce": jax.jit(population_mce),
    "accuracy": jax.jit(population_accuracy),
    "signed gap": jax.jit(population_signed_gap),
    "errors.ece": jax.jit(lambda law: population_errors(law).ece),
    "errors.ece2": jax.jit(lambda law: population_errors(law).ece2),
    "errors.mce": jax.jit(lambda law: population_errors(law).mce),
}
EVERYTHING = pytest.mark.parametrize("quantity", ALL)
BOTH = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@BOTH
@pytest.mark.parametrize("quantity", ["ece", "ece1.5", "ece2", "mce", "signed gap", "errors.ece", "errors.ece2", "errors.mce"])
def test_calibrated_is_exactly_zero(quantity, dtype):
    law = ScoreLaw(np.array([1e-30, 1e-3, 1, 7, 1e4], dtype), np.zeros(5, dtype))
    np.testing.assert_array_equal(ALL[quantity](law), np.zeros(5))


@BOTH
def test_mce_without_signal_and_with_the_wrong_sign(dtype):
    law = ScoreLaw(np.array([0, 0, -1e-30, -1, -1e4], dtype), np.array([1e-30, 1, 1, 2, 1.1e4], dtype))
    np.testing.assert_array_equal(population_mce(law), [0.5, 0.5, 1, 1, 1])


@EVERYTHING
@BOTH
def test_no_variance_is_nan(quantity, dtype):
    law = ScoreLaw(np.array([0, 1, -1, 1, np.nan, 1], dtype), np.array([0, -1, 1, -2, 1, np.nan], dtype))
    np.testing.assert_array_equal(np.isnan(ALL[quantity](law)), True)


@EVERYTHING
def test_batched_equals_looped(quantity):
    law = ScoreLaw(*(np.array(x).reshape(5, 4) for x in zip(*LAWS.values(), strict=True)))
    batched = ALL[quantity](law)
    looped = [[ALL[quantity](ScoreLaw(law.mean[i, j], law.gap[i, j])) for j in range(0, 4, 3)] for i in range(0, 5, 4)]
    np.testing.assert_allclose(batched[::4, ::3], looped, rtol=1e-13)
    assert batched.shape == (5, 4)


def test_errors_equal_the_single_functions():
    law = ScoreLaw(*(np.array(x) for x in zip(*LAWS.values(), strict=True)))
    errors = population_errors(law)
    np.testing.assert_allclose(errors.ece, population_ece(law), rtol=1e-14)
    np.testing.assert_allclose(errors.ece2, population_ece(law, norm=2), rtol=1e-14)
    np.testing.assert_allclose(errors.mce, population_mce(law), rtol=1e-14)


def test_the_infinite_norm_is_the_mce():
    law = ScoreLaw(*(np.array(x) for x in zip(*LAWS.values(), strict=True)))
    np.testing.assert_array_equal(population_ece(law, norm=np.inf), population_mce(law))


@pytest.mark.parametrize("norm", [0, 0.5, -1, np.nan])
def test_norms_below_one_are_refused(norm):
    with pytest.raises(ValueError, match=f"norm must be at least 1, got {norm}"):
        population_ece(ScoreLaw(1.0, 1.0), norm=norm)


@EVERYTHING
def test_only_laws_are_laws(quantity):
    with pytest.raises(TypeError, match="law must be a ScoreLaw, got tuple"):
        ALL[quantity]((1.0, 1.0))


def test_dtypes_and_shapes_of_the_parts_broadcast():
    assert population_ece(ScoreLaw(np.float16(1), np.float16(0.5))).dtype == np.float32
    assert population_ece(ScoreLaw(1, np.float32(0.5))).dtype == np.float32
    assert population_ece(ScoreLaw(np.ones((2, 1)), np.ones(3))).shape == (2, 3)


# --- transformations ------------------------------------------------------------------------------


def difference_quotient(function, law, part):
    """Fourth-order central differences: relative error 1e-11 from truncation and 1e-12 from rounding."""
    step = 1e-3 * min(abs(x) for x in (*law, law.var) if x)
    values = [function(law._replace(**{part: getattr(law, part) + k * step})) for k in (-2, -1, 1, 2)]
    return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)


@EVERYTHING
@pytest.mark.parametrize("name", ["over-confident", "under-confident", "rho = 3", "wrong way", "weak signal, loud", "quiet", "certain"])
def test_gradients_are_derivatives(name, quantity):
    law = ScoreLaw(*(jnp.float64(x) for x in LAWS[name]))
    gradient = jax.jit(jax.grad(ALL[quantity]))(law)
    value = jax.jit(ALL[quantity])
    for part in ("mean", "gap"):
        scale = float(value(law)) / min(abs(x) for x in (*law, law.var))
        np.testing.assert_allclose(getattr(gradient, part), difference_quotient(value, law, part), rtol=1e-7, atol=1e-9 * scale)


EXTREME_LAWS = {
    "calibrated": (1.0, 0.0),
    "no signal": (0.0, 1.0),
    "tiny": (1e-30, 1e-30),
    "huge": (1e4, 1.0),
    "huge, under-confident": (1e6, -1e5),
    "huge, wrong way": (-1e4, 2e4),
    "tiny signal": (1e-30, 1.0),
    "rho = 1e8": (1.0, 1e-8 - 1.0),
}
ROOT_OF_NOTHING = {("ece1.5", x) for x in ("calibrated", "huge", "huge, under-confident")}
ROOT_OF_NOTHING |= {(q, x) for q in ("ece2", "errors.ece2") for x in ("calibrated", "huge", "huge, under-confident")}


def gradient_cases():
    for name, law in EXTREME_LAWS.items():
        for quantity in ALL:
            missing = pytest.mark.xfail(reason="d/dx x^(1/r) at x = 0 is inf, times 0")
            yield pytest.param(*law, quantity, id=f"{quantity}-{name}", marks=[missing] if (quantity, name) in ROOT_OF_NOTHING else [])


@pytest.mark.parametrize("mean, gap, quantity", list(gradient_cases()))
def test_gradients_are_finite(mean, gap, quantity):
    gradient = jax.jit(jax.grad(ALL[quantity]))(ScoreLaw(jnp.float64(mean), jnp.float64(gap)))
    assert np.isfinite(gradient).all(), gradient


@pytest.mark.xfail(reason="sign(gap) has derivative 0 at 0, and takes the derivative of the ECE with it")
def test_the_signed_gap_is_smooth_through_calibration():
    """At gap = 0 it has the slope of the ECE on its upper side: E |v| sech^2(v) / 2 / w."""
    law = ScoreLaw(jnp.float64(1.0), jnp.float64(0.0))
    np.testing.assert_allclose(jax.grad(population_signed_gap)(law).gap, difference_quotient(population_signed_gap, law, "gap"), rtol=1e-9)


@EVERYTHING
def test_new_values_do_not_retrace(quantity):
    traces = []

    @jax.jit
    def function(law):
        traces.append(law)
        return ALL[quantity](law)

    for mean, gap in LAWS.values():
        function(ScoreLaw(np.float32(mean), np.float32(gap)))
    assert len(traces) == 1


EAGER = ["ece", "nll", "brier", "errors.ece", "signed gap"]
COMPILES_AGAIN = pytest.mark.xfail(reason="the fori_loop of an eager call closes over the law: traced and compiled at every call")


@pytest.mark.parametrize("quantity", [pytest.param(q, marks=COMPILES_AGAIN) for q in EAGER] + ["mce", "accuracy"])
def test_new_values_do_not_recompile_an_eager_call(quantity, compilations):
    ALL[quantity](ScoreLaw(np.float32([1, 2, 3]), np.float32([1, 2, 3])))
    jnp.zeros(17) + 1.0  # a compilation to be seen, if all of the above were known already
    assert compilations
    compilations.clear()
    ALL[quantity](ScoreLaw(np.float32([4, 5, 6]), np.float32([0, 2, 3])))
    assert not compilations
