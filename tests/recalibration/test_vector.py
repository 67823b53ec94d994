"""Vector scaling: against SciPy, and what must and what must not change it."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from mixjax.recalibration import fit_temperature, fit_vector_scaling
from tests.recalibration.samples import K, N, drawn, mean_nll

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


def sample(rng, dtype=np.float64):
    logits, labels = drawn(rng, temperature=1.0, scale=SCALE, bias=BIAS)
    return logits.astype(dtype), labels


@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 2e-6), (np.float32, 2e-5)])
def test_scipy_agrees(dtype, atol, rng):
    logits, labels = sample(rng, dtype)
    fitted = fit_vector_scaling(logits, labels)
    assert fitted.scale.dtype == fitted.bias.dtype == dtype
    np.testing.assert_allclose(fitted(logits), best(logits, labels), atol=atol)
    np.testing.assert_allclose(fitted.bias.sum(), 0, atol=1e-6)
    by_temperature = np.asarray(fit_temperature(logits, labels)(logits))
    after = mean_nll(np.log(np.asarray(fitted(logits))), labels)
    assert after <= mean_nll(np.log(by_temperature), labels) + 1e-6 <= mean_nll(logits, labels) + 2e-6


def test_residuals_cancel(rng):
    """In a minimum the probabilities of each class average to its share, and so with its logits: to 1e-13."""
    logits, labels = sample(rng)
    residual = np.asarray(fit_vector_scaling(logits, labels)(logits)) - np.eye(K)[labels]
    np.testing.assert_allclose(residual.mean(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose((residual * logits).mean(axis=0), 0, atol=1e-13)


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
    expected = np.asarray(fit_vector_scaling(logits, labels)(logits))
    order, rows = rng.permutation(K), rng.permutation(N)
    moved = 1e20 * logits * SCALE + 3e20 * BIAS
    np.testing.assert_allclose(fit_vector_scaling(moved, labels)(moved), expected, atol=1e-10)
    renamed = fit_vector_scaling(logits[:, order], np.argsort(order)[labels])
    np.testing.assert_allclose(renamed(logits[:, order]), expected[:, order], atol=1e-10)
    np.testing.assert_allclose(fit_vector_scaling(logits[rows], labels[rows])(logits), expected, atol=1e-10)


def test_weights_repeat_rows_and_a_mask_removes_them(rng):
    logits, labels = sample(rng)
    weights = rng.integers(0, 4, N)
    repeated = np.repeat(np.arange(N), weights)
    fitted = fit_vector_scaling(logits, labels, weights=weights.astype(float), where=np.ones(N, bool))
    np.testing.assert_allclose(fitted(logits[repeated]), best(logits[repeated], labels[repeated]), atol=2e-6)
    where = rng.random(N) < 0.7
    hidden = np.where(where[:, None], logits, np.nan), np.where(where, labels, -5)
    fitted = fit_vector_scaling(*hidden, weights=np.ones(N), where=where)
    np.testing.assert_allclose(fitted(logits[where]), best(logits[where], labels[where]), atol=2e-6)


def test_jit_and_vmap(rng):
    logits, labels = (np.stack(part) for part in zip(*[sample(rng) for _ in range(3)], strict=True))
    labels[2] = logits[2].argmax(axis=1)
    fitted = jax.jit(jax.vmap(fit_vector_scaling))(logits, labels)
    np.testing.assert_allclose(fitted.scale[1], fit_vector_scaling(logits[1], labels[1]).scale, rtol=1e-10)
    assert np.isnan(fitted.scale[2]).all() and np.isfinite(fitted.scale[:2]).all()
    probs = jax.vmap(lambda function, z: function(z))(fitted, logits)
    np.testing.assert_allclose(np.asarray(probs)[:2].sum(axis=-1), 1, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_best_fit_is_an_error(dtype, rng):
    logits, labels = sample(rng, dtype)
    one_apart = logits.copy()  # the others are mixed
    one_apart[:, 3] = np.where(labels == 3, 1, -1) + 0.1 * rng.standard_normal(N)
    cases = [
        (logits, np.minimum(labels, 2), ValueError, "a class has no rows"),
        (np.where(np.arange(K) == 1, dtype(0.1), logits), labels, ValueError, "logits of a class are all equal"),
        (logits, logits.argmax(axis=1), RuntimeError, "did not converge.*the norm of the gradient is"),
        (one_apart, labels, RuntimeError, "did not converge"),
    ]
    for z, y, error, message in cases:
        with pytest.raises(error, match=message):
            fit_vector_scaling(z, y)


def test_two_opposite_logits_have_many_best_fits(rng):
    """One scale makes up for the other."""
    z, y = rng.standard_normal(N), rng.integers(0, 2, N)
    with pytest.raises(RuntimeError, match="determine each other"):
        fit_vector_scaling(np.stack([z, -z], axis=1).astype(np.float32), y)


def test_wrong_classes_are_refused(rng):
    fitted = fit_vector_scaling(*sample(rng))
    with pytest.raises(ValueError, match=r"logits must have 4 classes along the last axis, got \(3,\)"):
        fitted([0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="logits must be below infinity, got inf in row 0"):
        fitted([[np.inf, 0, 0, 0]])
