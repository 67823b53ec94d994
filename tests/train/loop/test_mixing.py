"""Mixing inside a step: the batch, or the inputs of one layer, and alpha = 0 nothing."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from mixjax.train.loop.mixing import Mixing, StepDraw, draw_step, mix_batch
from mixjax.train.nets import MLP

from mixjax.mixing import MixupDraw

SIZE, SHAPE, LAYERS = 12, (4, 4), 3
KINDS = ("mixup", "cutmix", "manifold", "regmixup")


@pytest.fixture
def images(rng):
    return jnp.asarray(rng.normal(size=(SIZE, *SHAPE, 1)), jnp.float32)


@pytest.fixture
def targets(rng):
    return jnp.asarray(np.eye(5, dtype=np.float32)[rng.integers(0, 5, SIZE)])


@pytest.mark.parametrize("kind", KINDS)
def test_alpha_0_leaves_the_batch_and_the_hidden_values(key, images, targets, kind):
    """Report 11, to the last bit; targets are one-hot exactly (report 8)."""
    mixing = Mixing(kind)
    mixed, labels, hook = mix_batch(mixing, draw_step(mixing, key, 0.0, SIZE, SHAPE, LAYERS), images, targets)
    copies = 2 if kind == "regmixup" else 1
    np.testing.assert_array_equal(mixed, np.concatenate([images] * copies))
    np.testing.assert_array_equal(labels, np.concatenate([targets] * copies))
    for layer in range(LAYERS):
        np.testing.assert_array_equal(hook(images, layer), images)


@pytest.mark.parametrize("kind", KINDS)
def test_images_and_targets_are_mixed_alike(key, kind):
    """Report 2: the rows are unit vectors, as pixels and as targets, so that what the one says the other must."""
    mixing, rows = Mixing(kind), jnp.eye(16, dtype=jnp.float32)
    images = jnp.broadcast_to(rows[:, None, None], (16, *SHAPE, 16))
    draw = draw_step(mixing, key, 1.0, 16, SHAPE, LAYERS)
    mixed, labels, hook = mix_batch(mixing, draw, images, rows)
    at = hook(mixed, int(draw.layer))
    np.testing.assert_allclose(at.mean((1, 2)), labels, atol=1e-6)
    clean = labels[:16] if kind == "regmixup" else jnp.eye(16)
    np.testing.assert_array_equal(clean, jnp.eye(16))
    assert (labels[-16:].max(1) < 1).any()


def test_hidden_values_are_mixed_where_they_enter_the_chosen_layer(key, images):
    """By hand: the net up to the layer, the rows mixed, the net from there on."""
    net, mixing = MLP(16, 5, 6, 2, rngs=nnx.Rngs(0)), Mixing("manifold")
    pairs = draw_step(mixing, key, 1.0, SIZE, SHAPE, LAYERS).pairs
    share, partner = np.float32(pairs.lam), np.asarray(pairs.partner)
    assert 0 < share < 1
    for chosen in range(net.mixing_layers):
        _, _, hook = mix_batch(mixing, StepDraw(pairs, jnp.int32(chosen)), images, jnp.zeros((SIZE, 5), jnp.float32))
        values = images.reshape(SIZE, -1)
        for place, layer in enumerate((*net.hidden, net.head)):
            values = share * values + (1 - share) * values[partner] if place == chosen else values
            values = layer(values)
            values = jax.nn.relu(values) if place < 2 else values
        np.testing.assert_allclose(net(images, hook), values, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["mixup", "cutmix"])
def test_what_is_drawn_does_not_depend_on_x64(key, kind):
    """A setting of JAX: a run that is gone on with under another one draws the same."""
    draw = partial(draw_step, Mixing(kind), key, np.float32(0.7), SIZE, SHAPE, LAYERS)
    with jax.enable_x64(False):
        expected = jax.tree.leaves(draw())
    for found, leaf in zip(jax.tree.leaves(draw()), expected, strict=True):
        np.testing.assert_array_equal(found, leaf)


def test_layers_are_uniform(key):
    """Of 3000 draws; chi-square with 2 degrees of freedom exceeds 30 at a rate of 3e-7."""
    draw = jax.jit(jax.vmap(partial(draw_step, Mixing("manifold"), alpha=1.0, size=2, image_shape=SHAPE, layers=3)))
    counts = np.bincount(draw(jax.random.split(key, 3000)).layer, minlength=3)
    assert ((counts - 1000.0) ** 2 / 1000).sum() < 30


def test_hidden_values_of_bfloat16_are_mixed_in_float32(images, targets):
    """Report 7: rounded once, after the mix."""
    pairs = MixupDraw(jnp.float32(0.7), jnp.roll(jnp.arange(SIZE), 1))
    _, _, hook = mix_batch(Mixing("manifold"), StepDraw(pairs, jnp.int32(1)), images, targets)
    values = images.astype(jnp.bfloat16)
    exact = np.float32(0.7) * np.asarray(values, np.float32) + np.float32(0.3) * np.roll(
        np.asarray(values, np.float32), 1, 0
    )
    found = hook(values, 1)
    assert found.dtype == jnp.bfloat16
    np.testing.assert_allclose(np.asarray(found, np.float32), exact, rtol=2.0**-8, atol=1e-6)
    np.testing.assert_array_equal(hook(values, 0), values)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "fmix"}, "kind must be one of .* got 'fmix'"),
        ({"weight": "row"}, "weight must be one of .* got 'row'"),
        ({"pairing": "next"}, "pairing must be one of .* got 'next'"),
        ({"kind": "cutmix", "fold": True}, "fold has no meaning for cutmix"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Mixing(**options)
