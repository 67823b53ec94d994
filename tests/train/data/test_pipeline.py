"""Order, batches and evaluation on the device: each row where it belongs, whatever the batch size, seed by seed."""

from __future__ import annotations

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from mixjax.datasets import load
from mixjax.train.data.pipeline import batch, channel_scale, epoch_order, in_batches, normalize, steps_per_epoch
from mixjax.train.data.streams import Stream, stream_key

ROWS, BATCH = 103, 8


@pytest.mark.medium
def test_an_order_is_a_permutation_of_its_seed_and_epoch():
    orders = {(seed, epoch): np.asarray(epoch_order(seed, epoch, ROWS)) for seed in (0, 1) for epoch in (0, 1, 2)}
    for order in orders.values():
        np.testing.assert_array_equal(np.sort(order), np.arange(ROWS))
    assert len({order.tobytes() for order in orders.values()}) == len(orders)
    np.testing.assert_array_equal(epoch_order(1, 2, ROWS), orders[1, 2])
    traced = jax.jit(jax.vmap(lambda seed: epoch_order(seed, jnp.int32(2), ROWS)))(jnp.arange(2))
    np.testing.assert_array_equal(traced, [orders[0, 2], orders[1, 2]])


@pytest.mark.medium
def test_an_order_does_not_change_with_settings_or_versions():
    """Stored results depend on these numbers: rows sorted by the words of Threefry, which has test vectors."""
    expected = epoch_order(7, 3, 1000)
    assert expected[:8].tolist() == [659, 162, 928, 580, 688, 765, 600, 238]
    with jax.default_prng_impl("rbg"), jax.threefry_partitionable(False):
        np.testing.assert_array_equal(epoch_order(7, 3, 1000), expected)
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(7, impl="threefry2x32"), 1), 3)
    np.testing.assert_array_equal(jax.random.key_data(stream_key(7, Stream.ORDER, 3)), jax.random.key_data(key))


@pytest.mark.slow
def test_every_place_is_as_likely_for_every_row():
    """4000 orders of 5 rows: 25 counts with mean 800. Chi-square with 16 degrees of freedom exceeds 66 at a rate of
    5e-8 (the statistic is scaled by (n - 1) / n, as for permutation matrices)."""
    orders = np.asarray(jax.vmap(lambda seed: epoch_order(seed, 0, 5))(jnp.arange(4000)))
    counts = (orders[:, :, None] == np.arange(5)).sum(axis=0)
    assert ((counts - 800.0) ** 2 / 800).sum() * 4 / 5 < 66


@pytest.mark.medium
def test_an_epoch_sees_each_row_once_and_a_scan_what_a_loop_sees():
    """Row i holds the pixel i and the label i."""
    numbered = jnp.arange(ROWS, dtype=np.uint8).reshape(-1, 1, 1, 1), jnp.arange(ROWS, dtype=np.int32)
    order, steps = epoch_order(3, 0, ROWS), steps_per_epoch(ROWS, BATCH)
    looped = [batch(*numbered, order, step, BATCH) for step in range(steps)]
    _, scanned = lax.scan(lambda _, step: (None, batch(*numbered, order, step, BATCH)), None, jnp.arange(steps))
    for got, expected in zip(scanned, map(np.stack, zip(*looped, strict=True)), strict=True):
        np.testing.assert_array_equal(got, expected)
    images, labels = scanned
    np.testing.assert_array_equal(labels.ravel(), order[: steps * BATCH])
    np.testing.assert_array_equal(images.ravel(), labels.ravel())
    assert images.dtype == np.uint8


def test_scales_are_exact_and_normalize(rng):
    """Beside fractions; torchvision's way, to [0, 1] first, gives the same numbers to float32."""
    inputs = rng.integers(0, 200, (11, 5, 3, 2), np.uint8)
    scale = channel_scale(inputs)
    for channel in range(2):
        values = [Fraction(int(v)) for v in inputs[..., channel].ravel()]
        mean = sum(values) / len(values)
        variance = sum((v - mean) ** 2 for v in values) / len(values)
        assert scale.mean[channel] == np.float32(mean) and scale.sd[channel] == np.float32(float(variance) ** 0.5)
    shares = inputs / 255
    expected = (shares - shares.mean(axis=(0, 1, 2))) / shares.std(axis=(0, 1, 2))
    normal = normalize(jnp.asarray(inputs), scale)
    assert normal.dtype == np.float32
    np.testing.assert_allclose(normal, expected, rtol=0, atol=3e-6)  # 16 units in the last place of the largest, 1.7


@pytest.mark.slow
def test_a_constant_channel_is_zero():
    inputs = np.full((2, 3, 3, 1), 77, np.uint8)
    assert not normalize(jnp.asarray(inputs), channel_scale(inputs)).any()


def test_evaluation_does_not_depend_on_the_batch_size(rng):
    """Of 355 test digits each is scored once, by a linear map in whole numbers: sums are exact."""
    inputs, weights = load("digits").test_inputs, rng.integers(-3, 4, (64, 10)).astype(np.float32)

    def logits(images):
        return images.reshape(-1, 64).astype(np.float32) @ weights

    for size in (1, 71, 100, 512):
        found = in_batches(logits, jnp.asarray(inputs), size)
        np.testing.assert_array_equal(found, logits(inputs))


WRONG = {
    "no batch": (lambda: steps_per_epoch(7, 8), ValueError, "at most the number of training rows, 7, got 8"),
    "batch of 0": (lambda: steps_per_epoch(7, 0), ValueError, "batch_size must be at least 1, got 0"),
    "seed": (lambda: epoch_order(-1, 0, 3), ValueError, r"seed must be in \[0, 2\^32\), got -1"),
    "seed 0.5": (lambda: epoch_order(0.5, 0, 3), TypeError, "seed must be a whole number"),
}


@pytest.mark.parametrize(("call", "kind", "message"), WRONG.values(), ids=WRONG)
def test_refusals(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
