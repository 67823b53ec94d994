"""Mixup: what is mixed with what, how much, and that alpha = 0 is nothing.

A program that draws from a Beta law takes seconds to compile, and each operation outside of `jit` some more, so that
there is one, of one lambda, outside of `jit`.
"""

from __future__ import annotations

from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mixjax import mixup
from mixjax.mixing import MixupDraw, Weight, cutmix, draw_cutmix, draw_mixup, regmixup

TARGETS = np.eye(6)


def shares(key, **options):
    """Row i holds the share of each row in the i-th mixed one: inputs are unit vectors."""
    inputs, targets = mixup(key, TARGETS, TARGETS, alpha=1.0, **options)
    np.testing.assert_array_equal(inputs, targets)
    return np.asarray(inputs)


@jax.jit
def mix(draw, rows):
    return jax.tree.map(draw.mix, rows)


@pytest.mark.medium
@pytest.mark.parametrize("weight", get_args(Weight))
def test_no_mixup_is_the_identity_to_the_last_bit(weight, key):
    inputs = {"image": TARGETS, "extra": np.full((6,), np.inf)}
    out = mixup(key, inputs, TARGETS, alpha=0.0, weight=weight)
    jax.tree.map(np.testing.assert_array_equal, out, (inputs, TARGETS))


@pytest.mark.medium
def test_one_lambda_a_batch_and_a_permutation(key):
    mixed = shares(key)
    lam = np.array([row[i] if row[i] < 1 else np.nan for i, row in enumerate(mixed)])
    assert np.ptp(lam[np.isfinite(lam)]) == 0
    np.testing.assert_allclose(mixed.sum(axis=0), 1, atol=1e-12)  # every row is a partner once
    np.testing.assert_allclose(mixed.sum(axis=1), 1, atol=1e-12)


@pytest.mark.medium
@pytest.mark.parametrize("pairing", ["reverse", "roll"])
def test_pairings(key, pairing):
    mixed = shares(key, pairing=pairing)
    lam = mixed[0, 0]
    partner = np.eye(6)[::-1] if pairing == "reverse" else np.roll(np.eye(6), -1, axis=0)
    np.testing.assert_allclose(mixed, lam * np.eye(6) + (1 - lam) * partner, atol=1e-12)


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize(("alpha", "beta"), [(0.2, None), (1.0, 3.0), (4.0, None)])
def test_the_lambda_of_a_batch_is_beta(key, alpha, beta):
    """Of 200 batches; Kolmogorov and Smirnov at level 1e-6 each."""
    keys = [jax.random.fold_in(key, number) for number in range(200)]
    draws = [draw_mixup(each, 6, alpha=alpha, beta=beta, pairing="roll").lam for each in keys]
    assert draws[0].shape == ()
    assert stats.kstest(np.array(draws), stats.beta(alpha, alpha if beta is None else beta).cdf).pvalue > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("weight", ["batch", "sample"])
@pytest.mark.parametrize(("alpha", "beta"), [(0.2, None), (1.0, None), (4.0, None), (1.0, 3.0), (0.01, None)])
def test_many_lambdas_are_beta(key, weight, alpha, beta):
    """Kolmogorov and Smirnov's test at level 1e-6, and the mean within 5 standard errors: 6e-7."""
    if weight == "batch":
        draw = jax.vmap(lambda key: draw_mixup(key, 3, alpha=alpha, beta=beta))(jax.random.split(key, 4000))
    else:
        draw = draw_mixup(key, 4000, alpha=alpha, beta=beta, weight="sample")
    lam, law = np.asarray(draw.lam), stats.beta(alpha, alpha if beta is None else beta)
    inside = (lam > 1e-3) & (lam < 1 - 1e-3)  # 1 - lambda rounds beyond
    conditional = (law.cdf(lam[inside]) - law.cdf(1e-3)) / (law.cdf(1 - 1e-3) - law.cdf(1e-3))
    assert stats.kstest(conditional, "uniform").pvalue > 1e-6
    assert abs(lam.mean() - law.mean()) < 5 * law.std() / np.sqrt(len(lam))


@pytest.mark.medium
def test_folded_rows_keep_at_least_half(key):
    keys = [jax.random.fold_in(key, number) for number in range(20)]
    plain, folded = (np.array([draw_mixup(k, 6, alpha=0.7, fold=fold).lam for k in keys]) for fold in (False, True))
    np.testing.assert_array_equal(folded, np.maximum(plain, 1 - plain))
    assert plain.min() < 0.5 <= folded.min()


def test_one_lambda_a_batch_or_one_a_sample(key):
    """Half precision computes lambda in float32."""
    for weight, shape in (("batch", ()), ("sample", (7,))):
        draw = jax.eval_shape(lambda key, weight=weight: draw_mixup(key, 7, alpha=np.float16(1), weight=weight), key)
        assert (draw.lam.shape, draw.lam.dtype, draw.partner.shape) == (shape, np.float32, (7,))
    draw = jax.eval_shape(lambda key: draw_cutmix(key, 7, (9, 5), alpha=1.0), key)
    assert (draw.inside.shape, draw.area.lam.shape) == ((9, 5), ())


@pytest.mark.medium
def test_batches_of_one_and_of_none(key):
    """One row is mixed with itself."""
    for pairing in ("permutation", "reverse", "roll"):
        assert draw_mixup(key, 1, alpha=1.0, pairing=pairing).partner.tolist() == [0]
    out = jax.eval_shape(lambda key: mixup(key, np.zeros((0, 2)), np.zeros((0, 3)), alpha=1.0), key)
    assert [leaf.shape for leaf in out] == [(0, 2), (0, 3)]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"alpha": -1.0}, ValueError, "alpha must be finite and not negative, got -1"),
        ({"beta": 0.0}, ValueError, "beta must be finite and positive"),
        ({"weight": "row"}, ValueError, "weight must be one of"),
        ({"pairing": "next"}, ValueError, "pairing must be one of"),
        ({"targets": np.arange(6)}, TypeError, "targets must be floating, got int64; use num_classes="),
        ({"targets": np.arange(6), "num_classes": 5}, ValueError, r"targets must be in \[0, 5\), got 5 in row 5$"),
        ({"targets": np.arange(6) - 1, "num_classes": 5}, ValueError, "got -1 in row 0; leave rows without a label"),
        ({"targets": np.arange(6) + 2**40, "num_classes": 5}, ValueError, "got 2147483647 or more in row 0"),
        ({"num_classes": 6}, TypeError, r"must be whole numbers, got float64 \(num_classes= is for labels; leave it"),
        ({"inputs": np.zeros((6, 2), np.uint8)}, TypeError, "inputs must be floating, got uint8"),
        ({"inputs": np.zeros((5, 2))}, ValueError, "one leading axis in common"),
        ({"inputs": np.float64(1)}, ValueError, "one leading axis in common"),
    ],
)
def test_wrong_calls(key, changes, error, message):
    arguments = {"inputs": TARGETS, "targets": TARGETS, "alpha": 1.0, **changes}
    with pytest.raises(error, match=message):
        mixup(key, **arguments)


@pytest.mark.medium
@pytest.mark.parametrize("function", [mixup, regmixup, cutmix])
def test_keys_of_the_old_kind_are_refused_with_what_to_do(function):
    """As Haiku and linen give them, traced or not; what the message advises is the key of the same seed."""
    old, images = jax.random.PRNGKey(3), np.ones((6, 3, 3, 1), np.float32)
    mixed = lambda key: function(key, images, np.eye(6, dtype=np.float32), alpha=1.0)  # noqa: E731
    for call, key in ((mixed, old), (mixed, np.asarray(old)), (lambda key: jax.eval_shape(mixed, key), old)):
        with pytest.raises(TypeError, match=r"got a legacy key: use jax\.random\.wrap_key_data\(key\)"):
            call(key)
    jax.tree.map(np.testing.assert_array_equal, mixed(jax.random.wrap_key_data(old)), mixed(jax.random.key(3)))


def test_labels_are_rows_of_the_unit_matrix(key):
    """...for mixup and its relatives; a label that is no class is NaN under `jit`."""
    images, labels = np.ones((6, 3, 3, 1), np.float32), np.array([0, 1, 2, 2, 1, 0])
    for function in (mixup, regmixup, cutmix):
        found = function(key, images, labels, alpha=1.0, num_classes=3)[1]
        np.testing.assert_array_equal(found, function(key, images, np.eye(3, dtype=np.float32)[labels], alpha=1.0)[1])
        assert found.dtype == np.float32
    mixed = jax.jit(lambda y: mixup(key, images, y, alpha=0.0, num_classes=2)[1])(labels)
    np.testing.assert_array_equal(np.isnan(mixed).any(axis=1), labels == 2)


def test_shares_go_to_the_row_and_to_its_partner(rng):
    """Lambda = 1 is the row, 0 the partner exactly, 0.9 puts 0.9 on the row; NaN is NaN."""
    rows = rng.normal(size=(5, 2))
    before, partner = rows.copy(), np.array([1, 2, 3, 4, 0])
    mixed = {lam: np.asarray(mix(MixupDraw(np.float64(lam), partner), rows)) for lam in (0.0, 0.9, 1.0, np.nan)}
    np.testing.assert_array_equal(mixed[1.0], rows)
    np.testing.assert_array_equal(mixed[0.0], rows[partner])
    np.testing.assert_allclose(mixed[0.9], 0.9 * rows + 0.1 * rows[partner], rtol=1e-12)
    np.testing.assert_array_equal(rows, before)
    assert np.isnan(mixed[np.nan]).all()


def test_half_precision_is_mixed_with_the_lambda_of_the_targets(rng):
    """.998 is 1 in bfloat16, which is mixed in float32 and rounded once; targets keep their dtype."""
    rows, targets = rng.normal(size=(300, 5)).astype(jnp.bfloat16), np.eye(300, dtype=np.float32)
    wide, partner = np.asarray(rows, np.float64), np.arange(300)[::-1]
    mixed, mixed_targets = mix(MixupDraw(np.float32(0.998), partner), (rows, targets))
    assert (mixed.dtype, mixed_targets.dtype) == (jnp.bfloat16, np.float32)
    nearest = (0.998 * wide + 0.002 * wide[partner]).astype(np.float32).astype(rows.dtype)
    assert (np.asarray(mixed) == nearest).mean() > 0.99  # a fused program may round the sum in float32 another way
    np.testing.assert_allclose(np.asarray(mixed, float), np.asarray(nearest, float), rtol=2**-7, atol=1e-4)
    np.testing.assert_allclose(mixed_targets, 0.998 * targets + 0.002 * targets[partner], atol=1e-6)


def test_regmixup_is_the_batch_and_the_mixed_batch(key):
    inputs, targets = regmixup(key, TARGETS, TARGETS, alpha=20.0)
    np.testing.assert_array_equal(inputs, np.concatenate([TARGETS, mixup(key, TARGETS, TARGETS, alpha=20.0)[0]]))
    np.testing.assert_array_equal(targets, inputs)
