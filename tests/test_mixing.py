"""Mixup: what is mixed with what, how much, and that alpha = 0 is nothing."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mixjax import mixup
from mixjax.mixing import MixupDraw, cutmix, draw_cutmix, draw_mixup, regmixup

TARGETS = np.eye(6)
SAMPLES = 40  # of every batch that has a lambda for each of its rows: a Beta variable takes long to compile


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
    mixed = shares(key, SAMPLES, alpha=0.7, weight="sample", fold=True)
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
        ({"inputs": np.zeros((6, 2), np.uint8)}, TypeError, "inputs must be floating, got uint8"),  # report 7
        ({"inputs": np.zeros((5, 2))}, ValueError, "one leading axis in common"),
    ],
)
def test_wrong_calls(key, changes, error, message):
    arguments = {"inputs": TARGETS, "targets": TARGETS, "alpha": 1.0, **changes}
    with pytest.raises(error, match=message):
        mixup(key, **arguments)


@partial(jax.jit, static_argnames="pairing")
def draws_of_batches(keys, alpha, pairing):
    return jax.vmap(lambda key: draw_mixup(key, 3, alpha=alpha, pairing=pairing))(keys)


@pytest.mark.parametrize("alpha", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("pairing", ["permutation", "roll"])
def test_the_lambda_of_a_batch_is_beta(key, alpha, pairing):
    """Report 1: one a batch, of 4,000 batches; Kolmogorov and Smirnov at 1e-6 each, and the variance 1/(4(2a + 1))."""
    draw = draws_of_batches(jax.random.split(key, 4000), alpha, pairing)
    lam = np.asarray(draw.lam)
    assert lam.shape == (4000,)
    assert stats.kstest(lam, stats.beta(alpha, alpha).cdf).pvalue > 1e-6
    variance = 1 / (4 * (2 * alpha + 1))
    spread = np.sqrt(stats.beta(alpha, alpha).moment(4) * 2 / 4000)  # generous: five of them are a rate below 1e-6
    assert abs(lam.var() - variance) < 5 * spread


def test_one_lambda_a_batch_or_one_a_sample(key):
    """Report 12."""
    assert draw_mixup(key, 7, alpha=1.0).lam.shape == ()
    each = draw_mixup(key, SAMPLES, alpha=1.0, weight="sample").lam
    assert len(np.unique(each)) == SAMPLES


def test_shares_go_to_the_row_and_to_its_partner(rng):
    """Reports 3 and 4: lambda = 1 is the row, 0 the partner exactly, 0.9 puts 0.9 on the row; nothing is changed."""
    rows = rng.normal(size=(5, 2))
    before, partner = rows.copy(), np.array([1, 2, 3, 4, 0])
    mixed = {lam: np.asarray(MixupDraw(jnp.float64(lam), jnp.asarray(partner)).mix(rows)) for lam in (0.0, 0.9, 1.0)}
    np.testing.assert_array_equal(mixed[1.0], rows)
    np.testing.assert_array_equal(mixed[0.0], rows[partner])
    np.testing.assert_allclose(mixed[0.9], 0.9 * rows + 0.1 * rows[partner], rtol=1e-12)
    np.testing.assert_array_equal(rows, before)


def test_a_thousand_classes_survive_images_of_bfloat16(key):
    """Report 6: targets keep their own dtype, 257 does not become 256."""
    labels = np.arange(1000)
    images, targets = mixup(key, jnp.ones((1000, 2), jnp.bfloat16), np.eye(1000, dtype=np.float32), alpha=0.0)
    assert images.dtype == jnp.bfloat16 and targets.dtype == np.float32
    np.testing.assert_array_equal(np.asarray(targets).argmax(1), labels)


def test_half_precision_is_mixed_with_the_lambda_of_the_targets(rng):
    """Report 7: .998 is 1 in bfloat16; rows are mixed in float32 and rounded once."""
    rows, draw = jnp.asarray(rng.normal(size=(6, 50)), jnp.bfloat16), MixupDraw(jnp.float32(0.998), jnp.arange(6)[::-1])
    wide = np.asarray(rows, np.float64)
    mixed = draw.mix(rows)
    assert mixed.dtype == jnp.bfloat16
    np.testing.assert_array_equal(mixed, jnp.asarray(0.998 * wide + 0.002 * wide[::-1], jnp.float32).astype(rows.dtype))


@pytest.mark.parametrize("pairing", ["permutation", "reverse", "roll"])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_odd_batches_and_batches_of_one(key, size, pairing):
    """Report 13: one row is mixed with itself; of any number, each row is a partner once."""
    mixed = shares(key, size, alpha=1.0, pairing=pairing)
    np.testing.assert_allclose(mixed.sum(0), 1, atol=1e-12)
    if size == 1:
        np.testing.assert_allclose(mixed, 1, atol=1e-15)


def coded(size=SAMPLES, height=9, width=7):
    """Images that say which row they are in each pixel."""
    return np.broadcast_to(np.arange(size, dtype=np.float32)[:, None, None, None], (size, height, width, 1))


@pytest.mark.parametrize("weight", ["batch", "sample"])
@pytest.mark.parametrize("pairing", ["permutation", "reverse", "roll"])
def test_cutmix_targets_are_the_areas(key, weight, pairing):
    """Report 2, decoded from the pixels: one box of the partner's, and targets in the proportion of the areas."""
    images, targets = cutmix(key, coded(), np.eye(SAMPLES, dtype=np.float32), alpha=1.0, weight=weight, pairing=pairing)
    images, targets = np.asarray(images)[..., 0].astype(int), np.asarray(targets)
    areas = np.array([np.bincount(image.ravel(), minlength=SAMPLES) / image.size for image in images])
    np.testing.assert_allclose(targets, areas, atol=1e-6)
    for row, image in enumerate(images):
        inside = image != row
        if inside.any():
            assert len(np.unique(image[inside])) == 1
            assert inside.sum() == np.prod([np.ptp(at) + 1 for at in np.nonzero(inside)])  # a whole rectangle
    foreign = (images != np.arange(SAMPLES)[:, None, None]).mean((1, 2))
    own = foreign[foreign > 0]
    assert len(own) and (np.ptp(own) > 0) == (weight == "sample")


def test_cutmix_boxes_follow_their_law(key, rng):
    """The share that is pasted beside 4,000 boxes drawn by the paper's recipe in NumPy: two samples, level 1e-6."""
    draws = jax.jit(jax.vmap(lambda k: draw_cutmix(k, 2, (9, 7), alpha=1.0)))(jax.random.split(key, 4000))
    found = 1 - np.asarray(draws.area.lam)
    cut, expected = np.sqrt(1 - rng.beta(1, 1, 4000)), np.ones(4000)
    for length in (9, 7):
        side, center = np.floor(length * cut), rng.integers(0, length, 4000)
        first = center - side // 2
        expected *= (np.minimum(first + side, length) - np.maximum(first, 0)) / length
    pixels = (np.rint(63 * share) for share in (found, expected))
    assert stats.ks_2samp(*pixels).pvalue > 1e-6


def test_cutmix_without_mixing_is_the_identity(key):
    images, targets = cutmix(key, coded(6), np.eye(6), alpha=0.0)
    np.testing.assert_array_equal(images, coded(6))
    np.testing.assert_array_equal(targets, np.eye(6))


def test_regmixup_is_the_batch_and_the_mixed_batch(key):
    options = {"alpha": 20.0, "weight": "sample"}
    rows = np.eye(SAMPLES)
    inputs, targets = regmixup(key, rows, rows, **options)
    mixed, _ = mixup(key, rows, rows, **options)
    np.testing.assert_array_equal(inputs, np.concatenate([rows, mixed]))
    np.testing.assert_array_equal(targets, inputs)
