"""Metrics of a net: one-shot, in fractions, by definition; members side by side."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from mixjax.train.loop.metrics import METRICS, best_temperatures, score_logits


def scored(logits, labels):
    """Metrics of the first of two nets; the other is at chance."""
    both = np.stack([logits, np.zeros_like(logits)]).astype(np.float32)
    found = score_logits(jnp.asarray(both), jnp.asarray(np.stack([labels] * 2), jnp.int32))
    return {name: float(value[0]) for name, value in found.items()}


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(5)
    return (3 * rng.normal(size=(200, 4))).astype(np.float32), rng.integers(0, 4, 200)


def binned(confidence, correct):
    """The ECE of 15 bins, closed at the left."""
    place = np.minimum((confidence * 15).astype(int), 14)
    return sum(abs((confidence - correct)[place == b].sum()) for b in range(15)) / len(correct)


@pytest.mark.medium
def test_metrics_by_their_definitions(case):
    """Fractions, 15 bins closed at the left."""
    logits, labels = case
    found, probs = scored(logits, labels), softmax(logits.astype(np.float64), axis=1)
    confidence, correct = probs.max(1), probs.argmax(1) == labels
    place = np.minimum((confidence * 15).astype(int), 14)
    gaps = [abs((confidence - correct)[place == b].sum()) / 200 for b in range(15)]
    shares = [(place == b).mean() for b in range(15)]
    residuals = [(correct - confidence)[place == b] for b in range(15) if (place == b).sum() > 1]
    products = [(own.sum() ** 2 - (own**2).sum()) / (len(own) - 1) for own in residuals]
    of_class = [binned(probs[:, k], labels == k) for k in range(4)]
    largest = max(gap / share for gap, share in zip(gaps, shares, strict=True) if share)
    expected = {
        "accuracy": correct.mean(),
        "nll": -np.log(probs[np.arange(200), labels]).mean(),
        "brier": ((probs - np.eye(4)[labels]) ** 2).sum(1).mean(),
        "ece": sum(gaps),
        "rms_ece": sum(gap**2 / share for gap, share in zip(gaps, shares, strict=True) if share) ** 0.5,
        "mce": largest,
        "debiased_squared_ece": sum(products) / sum(map(len, residuals)),
        "classwise_ece": np.mean(of_class),
        "signed_gap": confidence.mean() - correct.mean(),
    }
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, atol=2e-6, err_msg=name)
    assert found.keys() == METRICS.keys() == expected.keys()


@pytest.mark.medium
def test_a_perfect_net_has_no_error():
    labels = np.arange(200) % 4
    found = scored(np.where(np.eye(4)[labels], 200.0, -200.0), labels)
    assert found["accuracy"] == 1
    for name in ("ece", "rms_ece", "mce", "signed_gap", "classwise_ece", "nll", "brier"):
        assert found[name] == 0, name


@pytest.mark.medium
def test_confidence_is_of_the_predicted_class():
    """The confidence is the largest of the probabilities, never that of class 1."""
    logits, labels = np.array([[2.0, 0.0, -200.0, -200.0]] * 200), np.zeros(200, int)
    found = scored(logits, labels)
    np.testing.assert_allclose(found["ece"], 1 - softmax([2.0, 0.0])[0], atol=1e-6)
    assert found["signed_gap"] < 0


@pytest.mark.medium
def test_members_are_scored_alone(case):
    """Each with logits and labels of its own."""
    logits, labels = case
    cases = ((logits, labels), (-logits, (labels + 1) % 4))
    values, truth = (np.stack(part) for part in zip(*cases, strict=True))
    both = score_logits(jnp.asarray(values), jnp.asarray(truth, jnp.int32))
    for member, each in enumerate(cases):
        for name, value in scored(*each).items():
            np.testing.assert_allclose(both[name][member], value, rtol=0, atol=1e-6)


@pytest.mark.medium
def test_logits_that_are_not_finite_are_not_scored(case):
    logits, labels = case
    spoilt = logits.copy()
    spoilt[3, 1] = np.nan
    found = scored(spoilt, labels)
    assert np.isnan(found["ece"]) and np.isnan(found["nll"])


def test_the_best_temperature_of_each_net_has_the_smallest_nll(case):
    """By SciPy; a net that is right on every row, and one that is no better than chance, have none."""
    logits, labels = case
    better, right = logits + 2 * np.eye(4)[labels], np.where(np.eye(4)[labels], 9.0, 0.0)
    members = np.stack([better, 3 * better, right, -right]).astype(np.float32)
    found = best_temperatures(members, np.stack([labels] * 4))
    nll = lambda log: -log_softmax(better / np.exp(log), axis=1)[np.arange(200), labels].mean()  # noqa: E731
    best = np.exp(minimize_scalar(nll, bounds=(-3, 3), method="bounded", options={"xatol": 1e-9}).x)
    np.testing.assert_allclose(found[:2], [best, 3 * best], rtol=1e-5)
    assert np.isnan(found[2:]).all()
