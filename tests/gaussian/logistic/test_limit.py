"""The limit of the logistic fit: stored values, an independent solve, a closed form, and derivatives.

Literal fits are compared in test_all_pairs.
"""

from __future__ import annotations

import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, special

from mixjax.gaussian import limit_logistic_scores, mixup_weight, population_accuracy, predict_logistic_scores
from mixjax.gaussian.logistic import fixed_point
from mixjax.gaussian.logistic.fixed_point import Problem, Spectrum, fitted_moments
from mixjax.gaussian.logistic.pair_loss import logistic_pull
from tests.gaussian.logistic.squared import squared_pull
from tests.paths import CASES

ROWS = json.loads((CASES / "erm_limit.json").read_text())["rows"]
ARGUMENTS = ("ratio", "theta_norm", "penalty", "alpha", "beta", "smoothing")


def columns(dtype=np.float64):
    return {name: np.array([row[name] for row in ROWS], dtype) for name in (*ARGUMENTS, "m", "q")}


@pytest.mark.medium
@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-8), (np.float32, 2e-5)])
def test_stored_values(dtype, rtol):
    values = columns(dtype)
    law = limit_logistic_scores(**{name: values[name] for name in ARGUMENTS})
    assert law.mean.dtype == law.gap.dtype == dtype
    np.testing.assert_allclose(2 * law.mean, values["m"], rtol=rtol)
    np.testing.assert_allclose(4 * law.var, values["q"], rtol=rtol)


def plain_equations(ratio, theta_norm, penalty):
    """Solve for m, q, gamma of plain logistic regression (Mai and Liao 2019 in other letters), by scipy alone."""

    def averages(m, q, gamma):
        def f(g):  # the proximal point of log(1 + exp(-v)), by bisection
            target = m + np.sqrt(q) * g
            v = optimize.brentq(lambda v: v - target - gamma * special.expit(-v), target, target + gamma, xtol=1e-14)
            return special.expit(-v)

        density = lambda g: np.exp(-g * g / 2) / np.sqrt(2 * np.pi)  # noqa: E731
        return [
            integrate.quad(lambda g, p=p, k=k: f(g) ** p * g**k * density(g), -9, 9, epsabs=1e-11, limit=200)[0]
            for p, k in ((1, 0), (2, 0), (1, 1))
        ]

    def equations(unknown):
        m, root, gamma = unknown
        a, square, covariance = averages(m, root**2, gamma)
        d = ratio / gamma
        return [
            m - theta_norm**2 * a / d,
            root**2 - theta_norm**2 * a**2 / d**2 - ratio * square / d**2,
            d - penalty + covariance / root,  # f is -l', so that B = -E[f g] / sqrt(q)
        ]

    law = limit_logistic_scores(ratio, theta_norm, penalty=2 * penalty)  # a start near by, not there
    start = [2 * law.mean, 2 * np.sqrt(law.var), ratio / (penalty + 0.1)]
    found = optimize.root(equations, start, tol=1e-12)
    assert found.success or np.abs(found.fun).max() < 1e-10
    return found.x[0], found.x[1] ** 2


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("ratio, theta_norm, penalty", [(0.3, 1.0, 0.01), (1.5, 2.0, 0.1), (0.8, 0.5, 1.0)])
def test_plain_fits_solve_the_usual_equations(ratio, theta_norm, penalty):
    law = limit_logistic_scores(ratio, theta_norm, penalty=penalty)
    np.testing.assert_allclose([2 * law.mean, 4 * law.var], plain_equations(ratio, theta_norm, penalty), rtol=1e-7)


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("alpha, smoothing", [(0.0, 0.0), (1.0, 0.0), (0.5, 0.2)])
def test_the_squared_loss_is_its_closed_form(alpha, smoothing):
    """w = (1 - eps) (X'X/n + nu I)^-1 X'y/n with nu = mu / (1 - t), t the Mixup weight."""
    penalty = 0.4
    m, q = ridge(0.6, 1.7, penalty / (1 - float(mixup_weight(alpha, alpha or 1.0))))
    data = [jnp.asarray(value, float) for value in (penalty, alpha, alpha, smoothing)]
    spectrum = Spectrum(*(jnp.asarray([value], float) for value in (1.0, 1.7, 0.6)))
    found = jax.jit(lambda problem: fitted_moments(problem, squared_pull))(Problem(spectrum, *data))
    np.testing.assert_allclose(found, [(1 - smoothing) * m, (1 - smoothing) ** 2 * q], rtol=1e-9)


def ridge(ratio, square, shift):
    """m and q of (X'X/n + nu I)^-1 X'y/n in the limit, by Sherman and Morrison; `square` is |theta|^2, `shift` is nu.

    With Q = (Z'Z/n + nu I)^-1 and its Marchenko-Pastur integrals g_k = tr Q^k / p, X'X/n = Z'Z/n + u u' - z z' where
    u = theta + z = X'y/n, and z'Qz = c (1 - nu g_1) = d, z'Q^2z = c (g_1 - nu g_2).
    """
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2

    def resolvent(power):
        density = lambda x: np.sqrt((high - x) * (x - low)) / (2 * np.pi * ratio * x)  # noqa: E731
        return integrate.quad(lambda x: density(x) / (x + shift) ** power, low, high, epsabs=1e-12)[0]

    first, second = resolvent(1), resolvent(2)
    noise = ratio * (1 - shift * first)
    scale = 1 / (square * first + 1 / (1 - noise))
    q = scale**2 * (square * second + ratio * (first - shift * second) / (1 - noise) ** 2)
    return scale * square * first, q


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("alpha", [0.0, 0.05])
@pytest.mark.parametrize("penalty, rtol", [(1e-3, 1e-7), (1e-4, 1e-4)])
def test_more_nodes_change_nothing(monkeypatch, alpha, penalty, rtol):
    """Just beyond the p/n from which on classes are separable, where the logits of training rows bend most."""
    law = limit_logistic_scores(0.3, 1.0, penalty=penalty, alpha=alpha)
    monkeypatch.setitem(fixed_point._NODES, np.dtype(np.float64), 321)
    values = [jnp.asarray(value, float) for value in (penalty, alpha, alpha, 0.0)]
    spectrum = Spectrum(*(jnp.asarray([value], float) for value in (1.0, 1.0, 0.3)))
    fine = jax.jit(lambda problem: fitted_moments(problem, logistic_pull))(Problem(spectrum, *values))
    np.testing.assert_allclose([2 * law.mean, 4 * law.var], fine, rtol=rtol)


@pytest.mark.medium
def test_a_spectrum_of_one_is_the_limit():
    p, n = 30, 50
    general = predict_logistic_scores(np.ones(p), np.full(p, 1.7 / p), n, penalty=0.05, alpha=[0.0, 0.8], smoothing=0.1)
    limit = limit_logistic_scores(p / n, np.sqrt(1.7), penalty=0.05, alpha=[0.0, 0.8], smoothing=0.1)
    np.testing.assert_allclose(general, limit, rtol=1e-10)


@pytest.mark.slow
def test_units_of_the_rows_move_into_the_penalty():
    """Rows twice as long and a penalty of four times: the same logits."""
    s, theta = np.geomspace(0.01, 2, 20), np.linspace(0.1, 0.3, 20)
    law = predict_logistic_scores(s, theta, 40, penalty=0.02, alpha=0.5)
    scaled = predict_logistic_scores(4 * s, 4 * theta, 40, penalty=0.08, alpha=0.5)
    np.testing.assert_allclose(scaled, law, rtol=1e-10)


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_derivatives_are_differences(mode):
    values = {"ratio": 0.7, "theta_norm": 1.3, "penalty": 0.05, "alpha": 0.6, "beta": 1.5, "smoothing": 0.1}

    @jax.jit
    def both(values):
        law = limit_logistic_scores(**values)
        return jnp.stack([law.mean, law.var])

    found = jax.jit(mode(both))(values)
    for name, value in values.items():
        step = 1e-4 * value
        difference = (both(values | {name: value + step}) - both(values | {name: value - step})) / (2 * step)
        np.testing.assert_allclose(found[name], difference, rtol=1e-5)


@pytest.mark.slow
def test_second_derivatives_are_differences():
    first = jax.jit(jax.grad(lambda penalty: limit_logistic_scores(0.7, 1.3, penalty=penalty, alpha=0.6).gap))
    difference = (first(0.0502) - first(0.0498)) / 4e-4
    np.testing.assert_allclose(jax.jit(jax.jacfwd(first))(0.05), difference, rtol=1e-4)


@pytest.mark.medium
def test_one_program_for_every_value(compilations):
    before = limit_logistic_scores(np.full(2, 0.5), 1.0, penalty=0.1, alpha=1.0)
    count = len(compilations)
    after = limit_logistic_scores(np.full(2, 0.9), 2.0, penalty=0.3, alpha=0.2)
    assert len(compilations) == count
    assert np.all(np.asarray(before.mean) != np.asarray(after.mean))


CORNERS = list(itertools.product([1e-6, 1e4], [0.0, 1e3], [0.1, 1e6], [0.0, 1.0], [0.0, 0.999]))


@pytest.mark.medium
def test_extremes():
    """Finite where there is a classifier: strong penalties, no rows to speak of, no noise, no signal."""
    more = [(1e-3, 1.0, 1e-2), (50.0, 1.0, 1e3), (0.0, 2.0, 1e-2), (1.0, 0.0, 0.1), (0.5, 7.0, 1e-3), (0.1, 1e3, 1e-6)]
    cases = [*CORNERS, *((*case, 1.0, 0.0) for case in more)]
    ratio, theta_norm, penalty, alpha, smoothing = np.array(cases).T
    law = limit_logistic_scores(ratio, theta_norm, penalty=penalty, alpha=alpha, smoothing=smoothing)
    assert [case for case, mean in zip(cases, law.mean, strict=True) if np.isnan(mean)] == []
    assert np.isnan(limit_logistic_scores(0.0, 0.0, penalty=0.1)).all()


def alone(curvature, alpha):
    """The logit v that minimizes E_lambda,e l(lambda v + (1-lambda) e v; lambda + (1-lambda) e) + curvature v^2 / 2."""
    nodes, weights = special.roots_jacobi(60, alpha - 1, alpha - 1)
    lam, weights = (1 + nodes) / 2, weights / weights.sum()

    def slope(v):  # the pair has the label 1 where e = 1, and both logits 2 lam - 1 of v where e = -1
        part = 2 * lam - 1
        pull = (np.tanh(v / 2) - 1) / 2 + weights @ (part * (np.tanh(part * v / 2) - part)) / 2
        return pull / 2 + curvature * v

    return optimize.brentq(slope, 0, 50, xtol=1e-14)


@pytest.mark.medium
def test_rows_that_do_not_interact():
    """Where p is a million n, or the signal a thousand, a row has one logit, as if it was alone; Newton starts far off.

    w = sum_i a y_i x_i with v = a |x_i|^2: the penalty is (mu/2) v^2 / c per row, m = v |theta|^2 / c, q = v^2 / c to
    1 / c. With a strong signal w = v theta / |theta|^2, and the noise of rows has a thousandth of their logit.
    """
    law = limit_logistic_scores([1e6, 1.0], [1.0, 1e3], penalty=0.1, alpha=1.0)
    v = alone(1e-7, 1.0)
    np.testing.assert_allclose([2 * law.mean[0], 4 * law.var[0]], [v / 1e6, v**2 / 1e6], rtol=1e-5)
    np.testing.assert_allclose(2 * law.mean[1], alone(1e-7, 1.0), rtol=1e-2)


@pytest.mark.medium
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_labels_near_zero_are_a_ridge(alpha):
    """Logits are small, tanh(u/2) is u/2: the squared loss with a penalty of 4 mu, by its closed form below."""
    penalty, smoothing = 0.1, 1 - 1e-7
    law = limit_logistic_scores(0.6, np.sqrt(1.7), penalty=penalty, alpha=alpha, smoothing=smoothing)
    m, q = ridge(0.6, 1.7, 4 * penalty / (1 - float(mixup_weight(alpha, alpha or 1.0))))
    np.testing.assert_allclose([2 * law.mean, 4 * law.var], [2e-7 * m, 4e-14 * q], rtol=1e-7)


@pytest.mark.medium
@pytest.mark.parametrize("penalty, rtol", [(1e2, 1e-4), (1e3, 2e-3), (1e6, None), (1e10, None)])
def test_float32_with_a_strong_penalty(penalty, rtol):
    """mean + gap loses the variance, which is 1 / penalty of the mean: right to what is left of it, or NaN."""
    law = limit_logistic_scores(*np.float32([1, 1]), penalty=np.float32(penalty))
    right = limit_logistic_scores(1.0, 1.0, penalty=penalty)
    assert law.mean.dtype == np.float32
    if rtol is None:
        assert np.isnan(population_accuracy(law))
    else:
        np.testing.assert_allclose([law.mean, law.var], [right.mean, right.var], rtol=rtol)


@pytest.mark.medium
def test_float64_with_a_penalty_that_leaves_no_variance():
    accuracy = population_accuracy(limit_logistic_scores(1.0, 1.0, penalty=[1e8, 1e14]))
    np.testing.assert_allclose(accuracy, [special.ndtr(1 / np.sqrt(2)), np.nan], rtol=1e-6)


@pytest.mark.medium
def test_what_float32_does_not_resolve_is_nan():
    """Soft labels that are met: the pull is a difference of numbers near 1. In float64 there is a limit."""
    hard = {"ratio": 30.0, "theta_norm": 1.0, "penalty": 1e-5, "alpha": 1.0}
    assert np.isnan(limit_logistic_scores(**{name: np.float32(value) for name, value in hard.items()}).mean)
    assert np.isfinite(limit_logistic_scores(**hard).mean)


@pytest.mark.medium
def test_a_strong_penalty_is_the_average():
    """w is then the averaging classifier's direction: accuracy Phi(|theta|^2 / sqrt(|theta|^2 + c))."""
    for alpha in (0.0, 1.0):
        law = limit_logistic_scores(0.8, 1.0, penalty=1e6, alpha=alpha)
        np.testing.assert_allclose(population_accuracy(law), special.ndtr(1 / np.sqrt(1.8)), rtol=1e-5)


compiled_limit = jax.jit(limit_logistic_scores)


@pytest.mark.parametrize("name, value, says", [
    ("penalty", 0.0, "penalty must be positive .without one there is no fit where the classes are separable"),
    ("alpha", -0.1, "alpha must be finite and not negative"),
    ("beta", -0.1, "beta must be finite and not negative"),
    ("smoothing", 1.0, r"smoothing must be in \[0, 1\)"),
])  # fmt: skip
def test_wrong_values_are_refused(name, value, says):
    arguments = {"penalty": 0.1, "alpha": 1.0, "beta": 1.0, "smoothing": 0.0} | {name: value}
    with pytest.raises(ValueError, match=says):
        limit_logistic_scores(0.5, 1.0, **arguments)
    assert np.isnan(compiled_limit(0.5, 1.0, **arguments)).all()


def test_the_last_axes_must_agree():
    for shapes in ((3, 4), (0, 0)):
        with pytest.raises(ValueError, match="eigenvalues and theta_squared must end in the same p > 0"):
            predict_logistic_scores(*map(np.ones, shapes), 10, penalty=0.1)
