"""Dirichlet calibration with its penalty: against SciPy on the objective as it is written, and what follows from it."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from mixjax.recalibration import DirichletCalibration, fit_dirichlet_calibration, fit_temperature
from tests.recalibration.samples import EVERY, K, N, drawn, in_float32, mean_nll

OFF = ~np.eye(K, dtype=bool)
PENALTIES = ((1.0, 1.0), (0.01, 0.3), (100.0, 1e-3))


def objective(matrix, bias, sample, penalties, weights=None):
    """The mean loss and both penalties, literally."""
    loss = mean_nll(log_softmax(sample.logits, axis=1) @ matrix.T + bias, sample.labels, weights)
    return loss + penalties[0] * (matrix[OFF] ** 2).mean() + penalties[1] * (bias**2).mean()


def best(sample, penalties, weights=None):
    """The matrix and the bias, by BFGS with differences of the objective."""

    def of(point):
        return objective(point[: K * K].reshape(K, K), point[K * K :], sample, penalties, weights)

    start = np.append(np.eye(K).ravel(), np.zeros(K))
    found = minimize(of, start, method="BFGS", jac="3-point", options={"gtol": 1e-8})
    return found.x[: K * K].reshape(K, K), found.x[K * K :]


@pytest.mark.few(2)
@pytest.mark.parametrize("penalties", PENALTIES)
def test_scipy_agrees(penalties, rng):
    sample = drawn(rng, bias=np.array([0.5, 0, 0, -1.0]))
    options = dict(zip(("off_diagonal_penalty", "bias_penalty"), penalties, strict=True))
    fitted = fit_dirichlet_calibration(*sample, **options, **EVERY)
    matrix, bias = best(sample, penalties)
    np.testing.assert_allclose(fitted.matrix, matrix, atol=1e-4)
    np.testing.assert_allclose(fitted.bias, bias, atol=1e-4)
    ours = objective(np.asarray(fitted.matrix), np.asarray(fitted.bias), sample, penalties)
    assert ours <= objective(matrix, bias, sample, penalties) + 1e-14
    probs = softmax(log_softmax(sample.logits, axis=1) @ np.asarray(fitted.matrix).T + np.asarray(fitted.bias), axis=1)
    np.testing.assert_allclose(fitted(sample.logits), probs, atol=1e-14)


def slopes(fitted, sample, penalties, weights=None):
    """The derivatives of the objective, which are 0 at the minimum."""
    features = log_softmax(sample.logits, axis=1)
    residual = np.asarray(fitted(sample.logits)) - np.eye(K)[sample.labels]
    share = np.ones(len(features)) if weights is None else weights
    share = (share / share.sum())[:, None]
    of_matrix = (share * residual).T @ features + 2 * penalties[0] * np.where(OFF, fitted.matrix, 0) / OFF.sum()
    return np.append(of_matrix.ravel(), (share * residual).sum(axis=0) + 2 * penalties[1] * np.asarray(fitted.bias) / K)


def test_the_slope_is_0_and_so_are_the_sums(rng):
    """...with weights, masked rows, and the labels' Dirichlet laws; the accuracy that the docstring states."""
    sample = drawn(rng)
    weights, where = rng.integers(0, 4, N).astype(float), rng.random(N) < 0.7
    hidden = np.where(where[:, None], sample.logits, np.nan), np.where(where, sample.labels, -5)
    fitted = fit_dirichlet_calibration(*hidden, weights=np.where(where, weights, np.nan), where=where)
    found = slopes(fitted, sample, (1.0, 1.0), np.where(where, weights, 0))
    np.testing.assert_allclose(found, 0, atol=1e-12)
    np.testing.assert_allclose(np.where(OFF, fitted.matrix, 0).sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.sum(fitted.bias), 0, atol=1e-12)


def test_probabilities_near_0_and_1_have_a_fit(rng):
    """Logits of hundreds, of which a small diagonal of W makes good probabilities."""
    sample = drawn(rng)
    fitted = fit_dirichlet_calibration(300 * sample.logits, sample.labels, **EVERY)
    assert np.abs(slopes(fitted, sample._replace(logits=300 * sample.logits), (1.0, 1.0))).max() < 1e-9
    assert 0 < np.diag(fitted.matrix).max() < 0.02


def test_what_must_not_change_it(rng):
    sample = drawn(rng)
    expected = fit_dirichlet_calibration(*sample, **EVERY)
    order = rng.permutation(K)
    shifted = sample.logits + 100 * rng.standard_normal((N, 1))
    for logits in (shifted, log_softmax(sample.logits, axis=1)):
        np.testing.assert_allclose(
            fit_dirichlet_calibration(logits, sample.labels, **EVERY).matrix, expected.matrix, atol=1e-9
        )
    renamed = fit_dirichlet_calibration(sample.logits[:, order], np.argsort(order)[sample.labels], **EVERY)
    np.testing.assert_allclose(renamed.matrix, np.asarray(expected.matrix)[np.ix_(order, order)], atol=1e-9)


@pytest.mark.medium
def test_large_penalties_leave_a_diagonal(rng):
    """...which is better than a temperature, a diagonal of equal entries."""
    logits, labels = drawn(rng)
    fitted = fit_dirichlet_calibration(logits, labels, off_diagonal_penalty=1e9, bias_penalty=1e9, **EVERY)
    np.testing.assert_allclose(np.where(OFF, fitted.matrix, 0), 0, atol=1e-7)
    np.testing.assert_allclose(fitted.bias, 0, atol=1e-7)
    sample = log_softmax(logits, axis=1)
    temperature = fit_temperature(logits, labels, **EVERY).temperature
    diagonal = np.diagonal(np.asarray(fitted.matrix))
    assert mean_nll(sample * diagonal, labels) <= mean_nll(sample / np.asarray(temperature), labels)


@pytest.mark.medium
def test_no_best_fit_is_an_error_and_nan_under_jit(rng):
    sample = drawn(rng)
    third = (np.arange(N) == 3)[:, None] & (np.arange(K) == (sample.labels[3] + 1) % K)
    certain = np.eye(K)[sample.labels]
    cases = [
        (np.where(third, -np.inf, sample.logits), ValueError, "mixes the log probabilities of all classes"),
        (np.where(third, np.inf, sample.logits), ValueError, "logits must be below infinity, got inf in row 3"),
        (certain, RuntimeError, "can be told apart without error by the diagonal"),
    ]
    for logits, error, message in cases:
        with pytest.raises(error, match=message):
            fit_dirichlet_calibration(logits, sample.labels, **EVERY)
    (good, probs), *others = in_float32(
        fit_dirichlet_calibration, [sample, *((case[0], sample.labels) for case in cases)]
    )
    assert good.matrix.dtype == good.bias.dtype == probs.dtype == np.float32
    np.testing.assert_allclose(probs, fit_dirichlet_calibration(*sample, **EVERY)(sample.logits), atol=2e-5)
    assert all(np.isnan(fitted.matrix).all() and np.isnan(probs).all() for fitted, probs in others)
    assert np.isnan(fit_dirichlet_calibration(*sample, weights=EVERY["weights"], where=np.zeros(N, bool)).bias).all()
    with pytest.raises(ValueError, match="a class has no rows, and its diagonal entry of W goes to infinity"):
        fit_dirichlet_calibration(sample.logits, np.minimum(sample.labels, K - 2), **EVERY)
    with pytest.raises(ValueError, match="a class have the same probability in all rows"):
        fit_dirichlet_calibration(np.ones((N, K)), sample.labels, **EVERY)
    jax.eval_shape(fit_dirichlet_calibration, sample.logits[:0], sample.labels[:0])


@pytest.mark.parametrize(
    ("penalties", "message"),
    [
        ({"off_diagonal_penalty": 0.0}, "off_diagonal_penalty must be finite and positive, got 0.0"),
        ({"bias_penalty": -1.0}, "bias_penalty must be finite and positive, got -1.0"),
        ({"bias_penalty": [1.0, 2.0]}, r"bias_penalty must be a scalar, got shape \(2,\)"),
    ],
)
def test_wrong_penalties_are_refused(penalties, message):
    with pytest.raises(ValueError, match=message):
        fit_dirichlet_calibration(np.eye(2), [0, 1], **penalties)


def test_what_it_is_applied_to(rng):
    fitted = DirichletCalibration(2 * np.eye(2), np.zeros(2))
    probs = fitted(np.log(np.array([[[0.75, 0.25]], [[0.5, 0.5]]])))
    np.testing.assert_allclose(probs, [[[0.9, 0.1]], [[0.5, 0.5]]])
    with pytest.raises(ValueError, match=r"logits must have 2 classes along the last axis, got \(3,\)"):
        fitted(np.zeros(3))
    with pytest.raises(ValueError, match="logits must be finite, got -inf in row 1"):
        fitted([[0.0, 1.0], [0.0, -np.inf]])
    assert np.isnan(jax.jit(fitted)(np.array([0.0, -np.inf]))).all()
