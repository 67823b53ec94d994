"""Platt scaling: against SciPy, with and without his targets."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.optimize import minimize, root
from scipy.special import expit, log_expit

from mixjax.recalibration import Platt, fit_platt
from tests.recalibration.samples import EVERY, N, binary, in_float32

TRUTHS = ((0.6, -0.5), (-1.5, 0.0), (0.0, -2.5), (4.0, 3.0))


def best(logits, labels, smoothing, weights=None):
    """The fitted logits, by BFGS, then the root of the gradient, in float64 from the definition."""
    logits, weights = np.asarray(logits, np.float64), np.ones(len(labels)) if weights is None else weights
    share = weights / weights.sum()
    positive, negative = (share[labels == label].sum() / (share**2).sum() for label in (1, 0))
    target = np.where(labels == 1, (positive + 1) / (positive + 2), 1 / (negative + 2)) if smoothing else labels
    unit = np.abs(logits).max()
    design = np.stack([logits / unit, np.ones(len(logits))], axis=1)

    def loss(point):
        eta = design @ point
        return -(weights * (target * log_expit(eta) + (1 - target) * log_expit(-eta))).sum() / weights.sum()

    def slope(point):
        return (weights * (expit(design @ point) - target)) @ design / weights.sum()

    def curvature(point):
        spread = weights * expit(design @ point) * expit(-design @ point) / weights.sum()
        return (design * spread[:, None]).T @ design

    rough = minimize(loss, np.zeros(2), jac=slope, method="BFGS", options={"gtol": 1e-5})
    found = root(slope, rough.x, jac=curvature, tol=1e-14)
    assert np.abs(slope(found.x)).max() < 1e-14
    return design @ found.x


@pytest.mark.few(1)
@pytest.mark.parametrize("smoothing", [True, False])
def test_scipy_agrees(smoothing, rng):
    for scale, bias in TRUTHS:
        logits, labels = binary(rng, scale=scale, bias=bias)
        fitted = fit_platt(logits, labels, smoothing=smoothing, **EVERY)
        fitted_logits = np.asarray(fitted.scale) * logits + np.asarray(fitted.bias)
        np.testing.assert_allclose(fitted_logits, best(logits, labels, smoothing), atol=1e-9, rtol=1e-9)
        np.testing.assert_allclose(fitted(logits), expit(fitted_logits), atol=1e-14)


@pytest.mark.slow
def test_scipy_agrees_in_float32(rng):
    samples = [binary(rng, scale=scale, bias=bias) for scale, bias in TRUTHS]
    samples = [(logits, labels.astype(float)) for logits, labels in samples]
    for (logits, labels), (fitted, probs) in zip(samples, in_float32(fit_platt, samples), strict=True):
        assert fitted.scale.dtype == fitted.bias.dtype == probs.dtype == np.float32
        expected = best(logits.astype(np.float32), labels, True)
        np.testing.assert_allclose(fitted.scale * logits + fitted.bias, expected, atol=2e-5, rtol=2e-5)
        np.testing.assert_allclose(probs, expit(expected), atol=1e-5)


@pytest.mark.slow
def test_logits_far_from_zero_lose_what_their_bias_is_rounded_by(rng):
    """In float32, beyond 2e-5: scale * logit + bias has three roundings of half an ulp of scale * 1e5."""
    logits, labels = binary(rng)
    logits = (logits + 1e5).astype(np.float32)
    ((fitted, probs),) = in_float32(fit_platt, [(logits.astype(np.float64), labels.astype(float))])
    expected = best(logits.astype(np.float64) - 1e5, labels, True)
    np.testing.assert_allclose(probs, expit(expected), atol=0.25 * (2e-5 + 3 * 6e-8 * abs(float(fitted.scale)) * 1e5))


@pytest.mark.slow
def test_the_truth_is_recovered(rng):
    """Within 5 standard errors, from the inverse information: false-alarm rate 1.2e-6."""
    logits, labels = binary(rng, scale=0.6, bias=-0.5, size=20_000)
    fitted = fit_platt(logits, labels, smoothing=False)
    design, p = np.stack([logits, np.ones_like(logits)], axis=1), expit(0.6 * logits - 0.5)
    errors = np.sqrt(np.diag(np.linalg.inv((design * (p * (1 - p))[:, None]).T @ design)))
    assert (np.abs(np.array([fitted.scale - 0.6, fitted.bias + 0.5])) < 5 * errors).all()


@pytest.mark.parametrize("smoothing", [True, False])
def test_weights_masks_units_and_classes(smoothing, rng):
    logits, labels = binary(rng)
    weights, where = rng.integers(0, 4, N).astype(float), rng.random(N) < 0.7
    fitted = fit_platt(logits, labels, smoothing=smoothing, weights=weights, where=EVERY["where"])
    found = np.asarray(fitted.scale) * logits + np.asarray(fitted.bias)
    np.testing.assert_allclose(found, best(logits, labels, smoothing, weights), atol=1e-9)
    hidden = np.where(where, logits, np.nan), np.where(where, labels, -5)
    fitted = fit_platt(*hidden, smoothing=smoothing, weights=np.where(where, weights, np.nan), where=where)
    found = (np.asarray(fitted.scale) * logits + np.asarray(fitted.bias))[where]
    expected = best(logits[where], labels[where], smoothing, weights[where])
    np.testing.assert_allclose(found, expected, atol=1e-9)
    probs = np.asarray(fit_platt(logits, labels, smoothing=smoothing, **EVERY)(logits))
    swapped = fit_platt(3e20 - 1e20 * logits, 1 - labels, smoothing=smoothing, **EVERY)
    np.testing.assert_allclose(swapped(3e20 - 1e20 * logits), 1 - probs, atol=1e-9)


@pytest.mark.medium
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e30])
def test_the_unit_of_the_weights_is_nothing(unit):
    """Normalized weights are as good as none; Platt's targets took their sum for a number of rows."""
    logits, labels = np.array([-2.0, 1.0, -1.0, 2.0]), np.array([0, 0, 1, 1])
    fitted = fit_platt(logits, labels, weights=np.full(4, unit))
    np.testing.assert_allclose(fitted(logits), expit(best(logits, labels, True)), atol=1e-9)


def test_separated_labels_have_a_smoothed_fit(rng):
    logits = rng.standard_normal(N)
    for labels in ((logits > 0).astype(int), np.ones(N, int), np.zeros(N, int)):
        fitted = fit_platt(logits, labels, **EVERY)
        found = np.asarray(fitted.scale) * logits + np.asarray(fitted.bias)
        np.testing.assert_allclose(found, best(logits, labels, True), atol=1e-6)


POINTS = np.linspace(-1, 1, N)


NO_BEST = [
    (np.full(N, 0.1), np.arange(N) % 2, True, "all logits are equal"),
    (POINTS, np.where(np.arange(N) == 4, 0.5, 1), True, "labels must be 0 or 1, got 0.5 in row 4"),
    (np.where(np.arange(N) == 4, -np.inf, POINTS), np.ones(N), True, "logits must be finite, got -inf in row 4"),
    (POINTS, POINTS > 0, False, "separates the labels"),
    (POINTS, POINTS < 0, False, "separates the labels"),
    (np.round(2 * POINTS), np.where(np.abs(POINTS) < 0.25, np.arange(N) % 2, POINTS > 0), False, "separates"),
    (POINTS, np.ones(N), False, "one of them only"),
]


@pytest.mark.medium
def test_no_best_fit_is_an_error_and_nan_under_jit(rng):
    for logits, labels, smoothing, message in NO_BEST:
        with pytest.raises(ValueError, match=message):
            fit_platt(logits, np.asarray(labels, float), smoothing=smoothing, **EVERY)
    others = [(logits, np.asarray(labels, float)) for logits, labels, smoothing, _ in NO_BEST if smoothing]
    (good, _), *others = in_float32(fit_platt, [binary(rng)._replace(labels=(rng.random(N) < 0.5) * 1.0), *others])
    assert np.isfinite([good.scale, good.bias]).all()
    assert all(np.isnan([fitted.scale, fitted.bias]).all() for fitted, _ in others)
    assert np.isnan(fit_platt(POINTS, POINTS > 0, weights=EVERY["weights"], where=np.zeros(N, bool)).scale)
    assert np.isnan(fit_platt(np.where(POINTS == 1, np.nan, POINTS), POINTS > 0, **EVERY).scale)


def test_static_facts_are_refused():
    with pytest.raises(ValueError, match=r"the shape of logits of the positive class, \(2, 2\), got \(2,\)$"):
        fit_platt(np.zeros((2, 2)), [0, 1])
    with pytest.raises(TypeError, match="smoothing must be a bool, got int"):
        fit_platt(np.zeros(2), [0, 1], smoothing=1)


def test_an_infinite_logit_is_refused():
    """...as the docstring says; it was a probability of 1."""
    fitted = Platt(np.float64(0.5), np.float64(0.0))
    with pytest.raises(ValueError, match="logits must be below infinity, got inf in row 1"):
        fitted([0.0, np.inf])
    np.testing.assert_array_equal(jax.jit(fitted)(np.array([0.0, np.inf, np.nan])), [0.5, np.nan, np.nan])
