"""Beta calibration: against laws that it holds exactly, SciPy where a bound holds, and the classes exchanged."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.optimize import minimize, root
from scipy.special import expit, log_expit

from mixjax.recalibration import BetaCalibration, fit_beta_calibration
from tests.recalibration.samples import EVERY, N, in_float32

P = (np.arange(N // 2) + 0.5) / (N // 2)
PAIRS, RIGHT = np.repeat(P, 2), np.tile([0, 1], N // 2)  # each confidence once wrong and once right
LAWS = ((1.0, 1.0, 0.0), (0.5, 2.0, -0.7), (3.0, 0.0, 1.0), (0.0, 0.4, 0.3), (0.0, 0.0, -0.6))


def log_odds(p, law):
    return law[0] * np.log(p) - law[1] * np.log1p(-p) + law[2]


def fitted_law(fitted: BetaCalibration):
    return np.array([fitted.a, fitted.b, fitted.c], np.float64)


def likely(law):
    """Weights under which a law is the maximum of the likelihood: those of its own probabilities."""
    right = expit(log_odds(PAIRS, law))
    return np.where(RIGHT, right, 1 - right)


@pytest.mark.medium
@pytest.mark.parametrize("law", LAWS)
def test_a_law_is_recovered_and_the_first_is_the_identity(law):
    fitted = fit_beta_calibration(PAIRS, RIGHT, weights=likely(law), where=EVERY["where"])
    np.testing.assert_allclose(fitted_law(fitted), law, atol=1e-10)
    np.testing.assert_allclose(fitted(P), P if law == LAWS[0] else expit(log_odds(P, law)), atol=1e-11)


def best(p, correct, weights=None):
    """By a bounded search, then the root of the slope in what is not at its bound, in float64."""
    design = np.stack([np.log(p), -np.log1p(-p), np.ones(len(p))], axis=1)

    def loss(law):
        return -np.average(log_expit(np.where(correct, 1, -1) * (design @ law)), weights=weights)

    def slope(law):
        return np.average((expit(design @ law) - correct)[:, None] * design, axis=0, weights=weights)

    bounds, options = [(0, None), (0, None), (None, None)], {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10_000}
    law = minimize(loss, [1, 1, 0], jac=slope, bounds=bounds, method="L-BFGS-B", options=options).x
    free = np.array([law[0] > 0, law[1] > 0, True])

    def free_slope(part):
        at = law.copy()
        at[free] = part
        return slope(at)[free]

    law[free] = root(free_slope, law[free], tol=1e-14).x
    assert np.abs(slope(law)[free]).max() < 1e-13
    assert (slope(law)[~free] >= 0).all()
    return law


def sample(rng, law=(0.6, 1.5, -0.5)):
    p = rng.random(N) ** 0.5
    return p, (rng.random(N) < expit(log_odds(p, law))).astype(int)


SAMPLED = ((0.6, 1.5, -0.5), (2.0, -1.0, 0.0), (-1.0, 1.0, 0.0), (-1.0, -1.0, 0.0))


@pytest.mark.medium
def test_scipy_agrees_where_a_bound_holds_too(rng):
    bounds = set()
    for law in SAMPLED:
        p, correct = sample(rng, law)
        expected = best(p, correct)
        fitted = fit_beta_calibration(p, correct, **EVERY)
        np.testing.assert_allclose(log_odds(p, fitted_law(fitted)), log_odds(p, expected), atol=1e-9)
        bounds.add(tuple(expected[:2] == 0))
    assert bounds == {(False, False), (False, True), (True, False), (True, True)}


@pytest.mark.medium
def test_exchanged_classes(rng):
    p, correct = sample(rng)
    a, b, c = fitted_law(fit_beta_calibration(p, correct, **EVERY))
    np.testing.assert_allclose(fitted_law(fit_beta_calibration(1 - p, 1 - correct, **EVERY)), [b, a, -c], atol=1e-9)


def test_weights_repeat_rows_and_a_mask_removes_them(rng):
    p, correct = sample(rng)
    weights, where = rng.integers(0, 4, N).astype(float), rng.random(N) < 0.7
    for unit in (1.0, 1e-30):
        found = fit_beta_calibration(p, correct, weights=unit * weights, where=EVERY["where"])
        np.testing.assert_allclose(fitted_law(found), best(p, correct, weights), atol=1e-9)
    hidden = np.where(where, p, np.nan), np.where(where, correct, 7)
    found = fit_beta_calibration(*hidden, weights=np.where(where, weights, np.nan), where=where)
    np.testing.assert_allclose(fitted_law(found), best(p[where], correct[where], weights[where]), atol=1e-9)


def test_two_confidences_have_many_best_laws_and_one_map(rng):
    p, correct = np.where(np.arange(N) % 2, 0.7, 0.2), np.arange(N) % 3 == 0
    correct = np.where(p > 0.5, ~correct, correct)
    fitted = fit_beta_calibration(p, correct, **EVERY)
    shares = [correct[p == value].mean() for value in (0.2, 0.7)]
    np.testing.assert_allclose(fitted(np.array([0.2, 0.7])), shares, atol=1e-9)


def test_0_and_1_count_as_the_numbers_beside_them(rng):
    p, correct = sample(rng)
    ends = np.where(p < 0.1, 0.0, np.where(p > 0.9, 1.0, p))
    eps = np.finfo(float).eps
    fitted = fit_beta_calibration(ends, correct, **EVERY)
    np.testing.assert_allclose(fitted_law(fitted), best(np.clip(ends, eps, 1 - eps), correct), atol=1e-9)
    np.testing.assert_array_equal(fitted(np.array([0.0, 1.0])), fitted(np.array([eps, 1 - eps])))


TIES = np.round(4 * P) / 4
NO_BEST = [
    (np.full(N, 0.3), RIGHT, "all confidences are equal"),
    (PAIRS, PAIRS > 0.5, "no wrong row has a higher confidence than a right one"),
    (np.repeat(TIES, 2), np.where(np.repeat(TIES, 2) == 0.5, RIGHT, np.repeat(TIES, 2) > 0.5), "no wrong row has"),
    (PAIRS, np.ones(N), "there are none of one kind"),
    (np.where(np.arange(N) == 3, 1.5, PAIRS), RIGHT, r"confidence must be in \[0, 1\], got 1.5 in row 3"),
    (PAIRS, np.where(np.arange(N) == 4, 0.5, RIGHT), "correct must be 0 or 1"),
]


@pytest.mark.medium
def test_no_best_fit_is_an_error_and_nan_under_jit(rng):
    for confidence, correct, message in NO_BEST:
        with pytest.raises(ValueError, match=message):
            fit_beta_calibration(confidence, np.asarray(correct, float), **EVERY)
    wrong = [(confidence, np.asarray(correct, float)) for confidence, correct, _ in NO_BEST]
    p, correct = sample(rng)
    (good, probs), *others = in_float32(fit_beta_calibration, [(p, correct.astype(float)), *wrong])
    expected = best(p.astype(np.float32).astype(float), correct)
    np.testing.assert_allclose(log_odds(p, fitted_law(good)), log_odds(p, expected), atol=1e-4)
    np.testing.assert_allclose(probs, expit(log_odds(p, expected)), atol=2e-5)
    assert good.a.dtype == probs.dtype == np.float32
    assert all(np.isnan(fitted_law(fitted)).all() and np.isnan(probs).all() for fitted, probs in others)


@pytest.mark.medium
def test_nan_nothing_and_what_it_is_applied_to():
    assert np.isnan(fit_beta_calibration(np.where(RIGHT, np.nan, PAIRS), RIGHT, **EVERY).a)
    assert np.isnan(fit_beta_calibration(PAIRS, RIGHT, weights=EVERY["weights"], where=np.zeros(N, bool)).a)
    jax.eval_shape(fit_beta_calibration, np.zeros(0), np.zeros(0))
    identity = BetaCalibration(1.0, 1.0, 0.0)
    with pytest.raises(ValueError, match=r"confidence must be in \[0, 1\], got -0.5 in row 1"):
        identity([0.5, -0.5])
    np.testing.assert_allclose(identity(np.array([[0.25, 0.75]])), [[0.25, 0.75]])
