"""Vector scaling: against SciPy, and what must and what must not change it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from mixjax.recalibration import VectorScaling, fit_temperature, fit_vector_scaling
from tests.recalibration.samples import EVERY, K, N, drawn, in_float32, mean_nll

SCALE, BIAS = np.array([0.5, 1.0, 0.7, 1.2]), np.array([0.3, -0.2, 0.4, -0.5])


def best(logits, labels, weights=None):
    """The fitted probabilities, by BFGS in float64 from the definition."""
    logits, outcome = np.asarray(logits, np.float64), np.eye(K)[labels]
    weights = np.ones(len(labels)) if weights is None else weights

    def both(point):
        fitted = point[:K] * logits + point[K:]
        residual = (softmax(fitted, axis=1) - outcome) * (weights / weights.sum())[:, None]
        return mean_nll(fitted, labels, weights), np.concatenate([(residual * logits).sum(0), residual.sum(0)])

    found = minimize(both, np.ones(2 * K), jac=True, method="BFGS", options={"gtol": 1e-9, "xrtol": 1e-14})
    assert np.abs(found.jac).max() < 2e-7
    return softmax(found.x[:K] * logits + found.x[K:], axis=1)


def sample(rng):
    """Labels that no scale and bias tell apart, with each class among them."""
    return drawn(rng, temperature=1.0, scale=SCALE, bias=BIAS)


def test_scipy_agrees(rng):
    logits, labels = sample(rng)
    fitted = fit_vector_scaling(logits, labels, **EVERY)
    probs = np.asarray(fitted(logits))
    np.testing.assert_allclose(probs, best(logits, labels), atol=2e-6)
    np.testing.assert_allclose(np.asarray(fitted.bias).sum(), 0, atol=1e-12)
    by_temperature = np.asarray(fit_temperature(logits, labels, **EVERY)(logits))
    after = mean_nll(np.log(probs), labels)
    assert after <= mean_nll(np.log(by_temperature), labels) + 1e-6 <= mean_nll(logits, labels) + 2e-6
    residual = probs - np.eye(K)[labels]  # in a minimum its mean is 0 for each class, and so with the logits
    np.testing.assert_allclose(residual.mean(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose((residual * logits).mean(axis=0), 0, atol=1e-13)


@pytest.mark.medium
def test_a_class_of_probability_0_keeps_its_scale(rng):
    """...and the others have the fit without it."""
    logits, labels = drawn(rng, temperature=1.0, classes=K - 1)
    fitted = fit_vector_scaling(np.concatenate([logits, np.full((N, 1), -np.inf)], axis=1), labels, **EVERY)
    alone = fit_vector_scaling(logits, labels)
    np.testing.assert_allclose(fitted.scale, [*alone.scale, 1], rtol=1e-9)
    np.testing.assert_allclose(fitted.bias, [*alone.bias, 0], atol=1e-9)


@pytest.mark.slow
def test_scipy_agrees_in_float32(rng):
    """...under `jit` and `vmap`, where separable labels and missing classes are NaN."""
    samples = [sample(rng) for _ in range(3)]
    logits, labels = samples[0]
    bad = [(logits, logits.argmax(axis=1)), (logits, np.minimum(labels, 2)), (0 * logits, labels)]
    found = in_float32(fit_vector_scaling, [*samples, *bad])
    for (logits, labels), (fitted, probs) in zip(samples, found, strict=False):
        assert fitted.scale.dtype == fitted.bias.dtype == probs.dtype == np.float32
        np.testing.assert_allclose(probs, best(logits.astype(np.float32), labels), atol=2e-5)
    assert all(np.isnan(fitted.scale).all() and np.isnan(fitted.bias).all() for fitted, _ in found[3:])


@pytest.mark.slow
def test_the_truth_is_recovered(rng):
    """The scales within 5 standard errors, from the inverse information: false-alarm rate 2e-6."""
    logits, labels = drawn(rng, temperature=1.0, scale=SCALE, bias=BIAS, size=20_000)
    fitted = fit_vector_scaling(logits, labels)
    probs = softmax(SCALE * logits + BIAS, axis=1)
    features = np.stack([np.concatenate([np.diag(z), np.eye(K)], axis=1) for z in logits])  # [N, K, 2K]
    mean = np.einsum("nk,nkp->np", probs, features)
    information = np.einsum("nk,nkp,nkq->pq", probs, features, features) - mean.T @ mean
    errors = np.sqrt(np.diag(np.linalg.pinv(information)))
    assert (np.abs(np.asarray(fitted.scale) - SCALE) < 5 * errors[:K]).all()
    assert (np.abs(np.asarray(fitted.bias) - BIAS) < 5 * errors[K:]).all()


def test_what_must_not_change_it(rng):
    logits, labels = sample(rng)
    expected = np.asarray(fit_vector_scaling(logits, labels, **EVERY)(logits))
    order, rows = rng.permutation(K), rng.permutation(N)
    moved = 1e20 * logits * SCALE + 3e20 * BIAS
    np.testing.assert_allclose(fit_vector_scaling(moved, labels, **EVERY)(moved), expected, atol=1e-10)
    renamed = fit_vector_scaling(logits[:, order], np.argsort(order)[labels], **EVERY)
    np.testing.assert_allclose(renamed(logits[:, order]), expected[:, order], atol=1e-10)
    np.testing.assert_allclose(fit_vector_scaling(logits[rows], labels[rows], **EVERY)(logits), expected, atol=1e-10)


def test_weights_repeat_rows_and_a_mask_removes_them(rng):
    logits, labels = sample(rng)
    weights, where = rng.integers(1, 4, N).astype(float), rng.random(N) < 0.9
    fitted = fit_vector_scaling(logits, labels, weights=weights, where=EVERY["where"])
    np.testing.assert_allclose(fitted(logits), best(logits, labels, weights), atol=2e-6)
    hidden = np.where(where[:, None], logits, np.nan), np.where(where, labels, -5)
    probs = np.asarray(fit_vector_scaling(*hidden, weights=np.where(where, weights, np.nan), where=where)(logits))
    np.testing.assert_allclose(probs[where], best(logits[where], labels[where], weights[where]), atol=2e-6)


def test_no_best_fit_is_an_error(rng):
    logits, labels = sample(rng)
    one_apart = logits.copy()  # the others are mixed
    one_apart[:, 3] = np.where(labels == 3, 1, -1) + 0.1 * rng.standard_normal(N)
    cases = [
        (logits, np.minimum(labels, 2), ValueError, "a class has no rows"),
        (np.where(np.arange(K) == 1, 0.1, logits), labels, ValueError, "logits of a class are all equal"),
        (logits, logits.argmax(axis=1), RuntimeError, "did not converge.*the norm of the gradient is"),
        (one_apart, labels, RuntimeError, "did not converge"),
    ]
    for z, y, error, message in cases:
        with pytest.raises(error, match=message):
            fit_vector_scaling(z, y, **EVERY)
    assert np.isnan(fit_vector_scaling(logits, labels, weights=EVERY["weights"], where=np.zeros(N, bool)).scale).all()
    logits[3, 1] = np.nan
    assert np.isnan(fit_vector_scaling(logits, labels, **EVERY).scale).all()


@pytest.mark.slow
def test_two_opposite_logits_have_many_best_fits(rng):
    """One scale makes up for the other."""
    z, y = rng.standard_normal(N), rng.integers(0, 2, N)
    with pytest.raises(RuntimeError, match="determine each other"):
        fit_vector_scaling(np.stack([z, -z], axis=1).astype(np.float32), y)


def test_wrong_classes_are_refused():
    fitted = VectorScaling(SCALE, BIAS)
    with pytest.raises(ValueError, match=r"logits must have 4 classes along the last axis, got \(3,\)"):
        fitted([0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="logits must be below infinity, got inf in row 1"):
        fitted(np.where(np.arange(N)[:, None] == 1, np.inf, np.zeros((N, K))))
    with pytest.raises(ValueError, match="logits must be above -inf for one class, got -inf in row 1"):
        fitted(np.where(np.arange(N)[:, None] == 1, -np.inf, np.zeros((N, K))))
