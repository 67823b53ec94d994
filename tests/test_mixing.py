"""Mixup: what is mixed with what, how much, and that alpha = 0 is nothing."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mixjax import mixup

TARGETS = np.eye(6)


def shares(key, size=6, **options):
    """Row i holds the share of each row in the i-th mixed one: inputs are unit vectors."""
    inputs, targets = mixup(key, np.eye(size), np.eye(size), **options)
    np.testing.assert_array_equal(inputs, targets)
    return np.asarray(inputs)


def test_no_mixup_is_the_identity_to_the_last_bit(key, rng):
    inputs = {"image": rng.normal(size=(6, 2, 3)).astype(np.float32), "extra": np.full((6,), np.inf)}
    out, targets = jax.jit(lambda a: mixup(key, inputs, TARGETS, alpha=a))(0.0)
    jax.tree.map(np.testing.assert_array_equal, (out, targets), (inputs, TARGETS))


def test_one_lambda_a_batch_and_a_permutation(key):
    mixed = shares(key, alpha=1.0)
    lam = np.array([row[i] if row[i] < 1 else np.nan for i, row in enumerate(mixed)])
    assert np.ptp(lam[np.isfinite(lam)]) == 0
    np.testing.assert_allclose(mixed.sum(axis=0), 1, atol=1e-12)  # every row is a partner once
    np.testing.assert_allclose(mixed.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("pairing", ["reverse", "roll"])
def test_pairings(key, pairing):
    mixed = shares(key, alpha=1.0, pairing=pairing)
    lam = mixed[0, 0]
    partner = np.eye(6)[::-1] if pairing == "reverse" else np.roll(np.eye(6), -1, axis=0)
    np.testing.assert_allclose(mixed, lam * np.eye(6) + (1 - lam) * partner, atol=1e-12)


@pytest.mark.parametrize(("alpha", "beta"), [(0.2, None), (1.0, 3.0), (0.01, None)])
def test_lambda_is_beta(key, alpha, beta):
    """Kolmogorov and Smirnov's test of 20,000 draws at level 1e-6, one a sample."""
    inputs, _ = mixup(
        key, np.ones((20_000, 1)) * (np.arange(20_000) % 2)[:, None], np.ones((20_000, 1)), alpha=alpha, beta=beta,
        weight="sample", pairing="roll",
    )  # fmt: skip
    lam = np.where(np.arange(20_000) % 2, inputs[:, 0], 1 - inputs[:, 0])
    law = stats.beta(alpha, alpha if beta is None else beta)
    inside = (lam > 1e-3) & (lam < 1 - 1e-3)  # 1 - lambda rounds beyond
    conditional = (law.cdf(lam[inside]) - law.cdf(1e-3)) / (law.cdf(1 - 1e-3) - law.cdf(1e-3))
    assert stats.kstest(conditional, "uniform").pvalue > 1e-6
    assert abs(lam.mean() - law.mean()) < 5 * law.std() / np.sqrt(20_000)


def test_folded_rows_keep_at_least_half(key):
    mixed = shares(key, size=64, alpha=0.7, weight="sample", fold=True)
    assert (np.diag(mixed) >= 0.5).all()


def test_dtypes_shapes_and_small_batches(key):
    for dtype in (jnp.bfloat16, np.float32):
        inputs, targets = mixup(key, jnp.ones((1, 2, 2), dtype), jnp.ones((1, 3), np.float32), alpha=1.0)
        assert (inputs.dtype, targets.dtype) == (dtype, np.float32)
        np.testing.assert_array_equal(targets, 1)
    inputs, _ = mixup(key, np.zeros((0, 2)), np.zeros((0, 3)), alpha=1.0)
    assert inputs.shape == (0, 2)


def test_alpha_is_data(compilations):
    function = jax.jit(lambda k, a, b: mixup(k, TARGETS, TARGETS, alpha=a, beta=b)[0])
    function(jax.random.key(0), 1.0, 1.0)
    compilations.clear()
    for alpha in (0.0, 0.3, 2.0):
        assert np.isfinite(function(jax.random.key(0), alpha, 1.0)).all()
    assert np.isnan(function(jax.random.key(0), -1.0, 1.0)).all()
    assert not [event for event in compilations if "jit" in event]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"alpha": -1.0}, ValueError, "alpha must be finite and not negative, got -1"),
        ({"beta": 0.0}, ValueError, "beta must be finite and positive"),
        ({"weight": "row"}, ValueError, "weight must be one of"),
        ({"pairing": "next"}, ValueError, "pairing must be one of"),
        ({"targets": np.arange(6)}, TypeError, "targets must be floating, got int64; use jax.nn.one_hot"),
        ({"inputs": np.zeros((6, 2), np.uint8)}, TypeError, "inputs must be floating, got uint8"),
        ({"inputs": np.zeros((5, 2))}, ValueError, "one leading axis in common"),
    ],
)
def test_wrong_calls(key, changes, error, message):
    arguments = {"inputs": TARGETS, "targets": TARGETS, "alpha": 1.0, **changes}
    with pytest.raises(error, match=message):
        mixup(key, **arguments)
