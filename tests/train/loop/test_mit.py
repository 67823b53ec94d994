"""MIT-L beside the formulas of its authors' code, a linear net that it solves exactly, and the law of its weights."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax.mixing import MixupDraw
from mixjax.train.loop.mit import TwoMixes, draw_two_mixes
from mixjax.train.loop.mixing import Mixing, StepDraw, mix_batch, read_logits

SIZE, CLASSES = 6, 4
PARTNER = np.roll(np.arange(SIZE), 2)
DRAW = TwoMixes(*(MixupDraw(jnp.float32(lam), jnp.asarray(PARTNER)) for lam in (0.8, 0.125)))


def test_the_loss_is_that_of_the_authors(rng):
    """Their two coefficients, in float64."""
    l1, l2 = float(np.float32(0.8)), 0.125
    z1, z2 = rng.normal(size=(2, SIZE, CLASSES))
    coefficient = (1 - l1) / (1 - l2)
    rows = (z1 - coefficient * z2) / (l1 - l2 * coefficient)
    coefficient = l2 / l1
    partners = (z2 - coefficient * z1) / (1 - l2 - (1 - l1) * coefficient)
    found = read_logits(StepDraw(DRAW, jnp.int32(0)), jnp.asarray(np.concatenate([z1, z2]), jnp.float32))
    np.testing.assert_allclose(found, np.concatenate([rows, partners]), rtol=0, atol=1e-6)


@pytest.mark.medium
def test_a_linear_net_is_solved_for_the_rows_and_their_partners(rng):
    images = jnp.asarray(rng.normal(size=(SIZE, 2, 2, 1)), jnp.float32)
    targets, weights = jnp.eye(SIZE), rng.normal(size=(4, CLASSES)).astype(np.float32)
    draw = StepDraw(DRAW, jnp.int32(0))
    mixed, labels, _ = mix_batch(Mixing("mit"), draw, images, targets)
    flat = np.asarray(images).reshape(SIZE, 4)
    assert mixed.shape == (2 * SIZE, 2, 2, 1)
    np.testing.assert_allclose(mixed[SIZE:].reshape(SIZE, 4), 0.125 * flat + 0.875 * flat[PARTNER], rtol=0, atol=1e-6)
    own = np.concatenate([flat, flat[PARTNER]]) @ weights
    np.testing.assert_allclose(read_logits(draw, mixed.reshape(2 * SIZE, 4) @ weights), own, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(labels.argmax(1), np.concatenate([np.arange(SIZE), PARTNER]))


@pytest.fixture(scope="module")
def drawn():
    draw = lambda key, alpha: draw_two_mixes(key, SIZE, alpha=alpha, pairing="permutation")  # noqa: E731
    return jax.jit(jax.vmap(draw, in_axes=(0, None)))


@pytest.mark.medium
def test_the_law_of_the_weights(key, drawn):
    """Uniform on lambda_1 - lambda_2 >= 1/2: means 5/6 and 1/6, sd 1/sqrt(72); within 5 s.e., false alarms 1e-6."""
    draws, count = drawn(jax.random.split(key, 4000), jnp.float32(1.0)), 4000
    first, second = np.asarray(draws.first.lam), np.asarray(draws.second.lam)
    assert (first - second >= 0.5).all() and (first <= 1).all() and (second >= 0).all()
    reach = 5 / (72 * count) ** 0.5
    assert abs(first.mean() - 5 / 6) < reach and abs(second.mean() - 1 / 6) < reach
    np.testing.assert_array_equal(draws.first.partner, draws.second.partner)
    assert len(np.unique(first)) > 3900


@pytest.mark.medium
def test_without_mixing_the_rows_are_left(key, drawn):
    draws = drawn(jax.random.split(key, 4000), jnp.float32(0.0))
    assert (np.asarray(draws.first.lam) == 1).all() and (np.asarray(draws.second.lam) == 0).all()


@pytest.mark.parametrize("options", [{"weight": "sample"}, {"fold": True}])
def test_options_that_it_does_not_have(options):
    with pytest.raises(ValueError, match="does not apply to mit"):
        Mixing("mit", **options)
