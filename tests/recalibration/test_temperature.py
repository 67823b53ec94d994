"""Temperature scaling: against SciPy, and what must and what must not change it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, softmax

from mixjax.recalibration import Temperature, fit_temperature
from tests.recalibration.samples import EVERY, K, N, binary, drawn, in_float32, mean_nll

TRUTHS = (0.05, 0.6, 1.0, 1.7, 8.0)


def best(logits, labels, weights=None):
    """By bounded search, then the root of the slope in beta, in float64."""
    logits, rows = np.asarray(logits, np.float64), np.arange(len(labels))
    rough = minimize_scalar(lambda s: mean_nll(logits / np.exp(s), labels, weights), bounds=(-12, 12), method="bounded")
    assert rough.success

    def slope(beta):
        expected = (softmax(beta * logits, axis=1) * logits).sum(axis=1)
        return np.average(expected - logits[rows, labels], weights=weights)

    around = np.exp(-rough.x)
    return 1 / brentq(slope, 0.9 * around, 1.1 * around, xtol=1e-15, rtol=1e-14)


@pytest.mark.few(2)
@pytest.mark.parametrize("truth", TRUTHS)
def test_scipy_agrees(truth, rng):
    logits, labels = drawn(rng, temperature=truth)
    fitted = fit_temperature(logits, labels, **EVERY)
    np.testing.assert_allclose(fitted.temperature, best(logits, labels), rtol=1e-12 * max(1, truth))
    probs = np.asarray(fitted(logits))
    np.testing.assert_allclose(probs, softmax(logits / np.asarray(fitted.temperature), axis=1), atol=1e-14)
    assert mean_nll(np.log(probs), labels) <= mean_nll(logits, labels) + 1e-7


@pytest.mark.slow
def test_scipy_agrees_in_float32(rng):
    samples = [drawn(rng, temperature=truth) for truth in TRUTHS]
    for truth, sample, (fitted, probs) in zip(TRUTHS, samples, in_float32(fit_temperature, samples), strict=True):
        expected = best(sample.logits.astype(np.float32), sample.labels)
        np.testing.assert_allclose(fitted.temperature, expected, rtol=1e-5 * max(1, truth))
        assert fitted.temperature.dtype == probs.dtype == np.float32
        np.testing.assert_allclose(probs, softmax(sample.logits / fitted.temperature, axis=1), atol=2e-6)


@pytest.mark.slow
def test_the_truth_is_recovered(rng):
    """Within 5 standard errors, 1 / sqrt(information): false-alarm rate 6e-7."""
    logits, labels = drawn(rng, temperature=1.7, size=20_000)
    beta = 1 / float(fit_temperature(logits, labels).temperature)
    probs = softmax(logits / 1.7, axis=1)
    variance = (probs * logits**2).sum(axis=1) - (probs * logits).sum(axis=1) ** 2
    assert abs(beta - 1 / 1.7) < 5 / np.sqrt(variance.sum())


def test_what_must_not_change_it(rng):
    logits, labels = drawn(rng)
    expected = float(fit_temperature(logits, labels, **EVERY).temperature)
    order, rows = rng.permutation(K), rng.permutation(N)
    same = {
        "a constant in each row": (logits + 100 * rng.standard_normal((N, 1)), labels),
        "names of classes": (logits[:, order], np.argsort(order)[labels]),
        "order of rows": (logits[rows], labels[rows]),
    }
    for name, sample in same.items():
        found = fit_temperature(*sample, **EVERY).temperature
        np.testing.assert_allclose(found, expected, rtol=1e-11, err_msg=name)
    for unit in (1e-30, 1e30, 1e200):
        found = fit_temperature(unit * logits, labels, **EVERY).temperature
        np.testing.assert_allclose(found, unit * expected, rtol=1e-12)


def test_weights_repeat_rows_and_a_mask_removes_them(rng):
    logits, labels = drawn(rng)
    weights, where = rng.integers(0, 4, N), rng.random(N) < 0.7
    for unit in (1.0, 1e9):
        found = fit_temperature(logits, labels, weights=unit * weights, where=EVERY["where"]).temperature
        np.testing.assert_allclose(found, best(logits, labels, weights), rtol=1e-12)
    hidden = np.where(where[:, None], logits, np.nan), np.where(where, labels, -5)
    found = fit_temperature(*hidden, weights=np.where(where, weights, np.nan), where=where).temperature
    np.testing.assert_allclose(found, best(logits[where], labels[where], weights[where]), rtol=1e-12)


@pytest.mark.medium
@pytest.mark.parametrize("flips", [1, 2])
def test_almost_separable(flips, rng):
    """The minimum is far out, where float32 has no digits left of a softmax."""
    logits, labels = drawn(rng)
    labels = logits.argmax(axis=1)
    close = np.argsort(np.diff(np.sort(logits, axis=1)[:, -2:]).ravel())[:flips]
    labels[close] = np.argsort(logits, axis=1)[close, -2]
    found = fit_temperature(logits, labels, **EVERY).temperature
    np.testing.assert_allclose(found, best(logits, labels), rtol=1e-10)
    ((fitted, _),) = in_float32(fit_temperature, [(logits, labels)])
    np.testing.assert_allclose(fitted.temperature, best(logits.astype(np.float32), labels), rtol=1e-4)


def test_values_do_not_compile_again(rng, compilations):
    samples = [drawn(rng, temperature=t) for t in (0.5, 2.0)]
    fit_temperature(*samples[0], **EVERY)(samples[0].logits)
    compilations.clear()
    fit_temperature(*samples[1], **EVERY)(samples[1].logits)
    assert not compilations


@pytest.mark.medium
def test_probabilities_of_any_shape(rng):
    fitted = Temperature(2.0)
    logits = rng.standard_normal((2, 3, K)).astype(jnp.bfloat16)
    logits[0, 0, 0] = -np.inf
    probs = fitted(logits)
    assert probs.dtype == np.float32
    np.testing.assert_allclose(probs, softmax(np.asarray(logits, np.float64) / 2, axis=-1), atol=1e-6)
    infinite = np.where(np.arange(N)[:, None] == 1, np.inf, np.zeros((N, K)))
    with pytest.raises(ValueError, match="logits must be below infinity, got inf in row 1"):
        fitted(infinite)
    assert np.isnan(jax.jit(fitted)(infinite)[1]).all()
    with pytest.raises(ValueError, match="logits must be above -inf for one class, got -inf in row 1"):
        fitted(-infinite)
    assert np.isnan(jax.jit(fitted)(-infinite)[1]).all()
    with pytest.raises(ValueError, match="logits must have classes along the last axis, got one number"):
        fitted(1.0)
    assert Temperature(2.0, binary=True)(-np.inf) == 0


@pytest.mark.medium
def test_classes_of_probability_0(rng):
    """A class that never is possible, and classes that are not in some rows: against SciPy's minimum."""
    logits, labels = drawn(rng, temperature=2.0)
    never = np.concatenate([logits, np.full((N, 1), -np.inf)], axis=1)
    np.testing.assert_allclose(fit_temperature(never, labels).temperature, best(logits, labels), rtol=1e-9)
    excluded = (labels[:, None] != np.arange(K)) & (rng.random((N, K)) < 0.3)
    some = np.where(excluded, -1e9, logits)
    found = fit_temperature(np.where(excluded, -np.inf, logits), labels, **EVERY)
    np.testing.assert_allclose(found.temperature, best(some, labels), rtol=1e-7)


def test_the_label_may_not_have_probability_0(rng):
    logits, labels = drawn(rng)
    logits = np.where((np.arange(N) == 3)[:, None] & (np.arange(K) == labels[:, None]), -np.inf, logits)
    with pytest.raises(ValueError, match="logits must be above -inf for the label, got -inf in row 3"):
        fit_temperature(logits, labels, **EVERY)
    assert np.isnan(jax.jit(fit_temperature)(logits, labels, **EVERY).temperature)


def test_only_ratios_of_weights_matter(rng):
    """...where their sum is beyond float32."""
    logits, labels = drawn(rng)
    for weights in (np.full(N, 1e37, np.float32), np.full(N, 3e38, np.float32), np.full(N, 2e-38, np.float32)):
        fitted = fit_temperature(logits.astype(np.float32), labels, weights=weights)
        np.testing.assert_allclose(fitted.temperature, best(logits, labels), rtol=2e-5)


def test_each_row_weighs_its_possible_classes():
    """At beta = 0 the loss has the slope of the mean margin over the possible classes: 1/2 (1/2 - 1.6/4) > 0."""
    odd = (np.arange(N) % 2)[:, None] == 1
    logits = np.where(odd, [0.0, -1.6 / 3, -1.6 / 3, -1.6 / 3], [0.0, 1.0, -np.inf, -np.inf])
    with pytest.raises(ValueError, match="not above those of the other classes"):
        fit_temperature(logits, np.zeros(N, int), **EVERY)


LABELS = np.arange(N) % K
RISING = np.tile(np.arange(float(K)), (N, 1))
NO_BEST = [  # the last two are wrong values
    (np.zeros((N, K)) + np.arange(N)[:, None], LABELS, "in every row all logits are equal"),
    (np.eye(K)[LABELS], LABELS, "every label has the largest logit .* goes to 0"),
    (-np.eye(K)[LABELS], LABELS, "not above those of the other classes"),
    (RISING, np.zeros(N, int), "not above those of the other classes"),
    (RISING, np.full(N, K - 1), "every label has the largest logit"),
    (np.where(LABELS[:, None] == 3, np.inf, RISING), LABELS, "logits must be below infinity, got inf in row 3"),
    (RISING, np.where(LABELS == 2, K, LABELS), r"labels must be in \[0, 4\), got 4 in row 2"),
]


@pytest.mark.medium
def test_no_best_temperature_is_an_error_and_nan_under_jit(rng):
    for logits, labels, message in NO_BEST:
        with pytest.raises(ValueError, match=message):
            fit_temperature(logits, labels, **EVERY)
    (good, _), *others = in_float32(fit_temperature, [drawn(rng), *(case[:2] for case in NO_BEST)])
    assert np.isfinite(good.temperature)
    assert all(np.isnan(fitted.temperature) and np.isnan(probs).all() for fitted, probs in others)


def test_nan_and_nothing(rng):
    logits, labels = drawn(rng)
    assert np.isnan(fit_temperature(logits, labels, weights=EVERY["weights"], where=np.zeros(N, bool)).temperature)
    logits[7, 1] = np.nan
    assert np.isnan(fit_temperature(logits, labels, **EVERY).temperature)
    jax.eval_shape(fit_temperature, logits[:0], labels[:0])  # no rows have no largest logit


@pytest.mark.slow
def test_no_rows_at_all():
    assert np.isnan(fit_temperature(np.zeros((0, K)), np.zeros(0, int)).temperature)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"logits": np.zeros(2)}, ValueError, r"the shape of logits of the positive class, \(2,\), got \(70,\)"),
        ({"logits": np.zeros((2, 1))}, ValueError, r"shape \[N, K\] or \[..., K\] with K at least 2, got \(2, 1\)"),
        ({"labels": [0]}, ValueError, r"labels must have the shape of logits without classes, \(70,\), got \(1,\)"),
        ({"labels": np.zeros(N), "where": None}, TypeError, "labels must be whole numbers, got float64"),
        ({"labels": np.full(N, 0.5)}, ValueError, "labels must be whole numbers, got 0.5 in row 0"),
        ({"weights": 1.0 - 2 * (LABELS == 1)}, ValueError, "weights must be finite and not negative, got -1 in row 1"),
        ({"where": np.full(N, 0.5)}, TypeError, "where must be boolean, got float64"),
        ({"logits": [["a", "b"]] * 2}, TypeError, "logits must be real numbers"),
    ],
)
def test_wrong_input_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        fit_temperature(**{"logits": RISING, "labels": LABELS, **EVERY, **arguments})


@pytest.mark.medium
def test_binary_logits_are_those_of_two_classes(rng):
    """sigmoid(z / T), against the pair (0, z), with a mask, weights, and wrong values by their row."""
    logits, labels = binary(rng, scale=0.6, bias=0.0)
    weights, where = rng.integers(0, 4, N).astype(float), rng.random(N) < 0.7
    pair = np.stack([np.zeros(N), logits], axis=1)
    hidden = np.where(where, logits, np.nan), np.where(where, labels, 7)
    fitted = fit_temperature(*hidden, weights=weights, where=where)
    expected = best(pair[where], labels[where], weights[where])
    np.testing.assert_allclose(fitted.temperature, expected, rtol=1e-11)
    np.testing.assert_allclose(fitted(logits[:, None]), expit(logits / expected)[:, None], atol=1e-14)
    np.testing.assert_array_equal(fitted([-np.inf, 0.0]), [0.0, 0.5])
    with pytest.raises(ValueError, match="logits must be below infinity, got inf in row 1"):
        fitted([0.0, np.inf])
    options = {"weights": weights, "where": np.ones(N, bool)}
    with pytest.raises(ValueError, match="labels must be 0 or 1, got 2 in row 1"):
        fit_temperature(logits, np.where(np.arange(N) == 1, 2, labels), **options)
    with pytest.raises(ValueError, match="every label has the largest logit"):
        fit_temperature(logits, (logits > 0).astype(int), **options)
    assert np.isnan(jax.jit(fit_temperature)(logits, (logits > 0).astype(int)).temperature)


@pytest.mark.slow
def test_second_derivatives(rng):
    """...in one direction, forward over reverse, against differences of the first."""
    logits, labels = drawn(rng)
    way = rng.standard_normal(logits.shape)

    def along(length):
        return fit_temperature(logits + length * way, labels).temperature

    first = jax.jit(jax.grad(along))
    expected = (first(1e-5) - first(-1e-5)) / 2e-5
    np.testing.assert_allclose(jax.jit(jax.grad(jax.grad(along)))(0.0), expected, rtol=1e-6)
