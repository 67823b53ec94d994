"""Mixing inside a step: the batch, or the inputs of one layer; with alpha = 0 neither."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from mixjax.train.loop.mixing import Mixing, StepDraw, draw_step, mix_batch
from mixjax.train.nets import MLP

from mixjax.mixing import MixupDraw

SIZE, SHAPE, LAYERS, MANY = 16, (4, 4), 3, 3000
KINDS = ("mixup", "cutmix", "manifold", "regmixup")


@functools.cache
def draws_of(kind: str):
    """Draws for many keys, in one program a kind."""
    return jax.jit(jax.vmap(lambda key, alpha: draw_step(Mixing(kind), key, alpha, SIZE, SHAPE, LAYERS), (0, None)))


def draw_of(kind: str, key: jax.Array, alpha: float) -> StepDraw:
    many = draws_of("mixup" if kind == "regmixup" else kind)(jax.random.split(key, MANY), np.float32(alpha))
    return jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)[0]), many)


def test_regmixup_draws_as_mixup(key):
    """Seen in the traces, which are cheaper than programs."""
    traces = [
        str(jax.make_jaxpr(lambda alpha, kind=kind: draw_step(Mixing(kind), key, alpha, SIZE, SHAPE, LAYERS))(0.5))
        for kind in ("mixup", "regmixup")
    ]
    assert traces[0] == traces[1]


@pytest.fixture
def images(rng):
    return jnp.asarray(rng.normal(size=(SIZE, *SHAPE, 1)), jnp.float32)


@pytest.fixture
def targets(rng):
    return jnp.asarray(np.eye(5, dtype=np.float32)[rng.integers(0, 5, SIZE)])


@pytest.mark.parametrize("kind", KINDS)
def test_alpha_0_leaves_the_batch_and_the_hidden_values(key, images, targets, kind):
    """Report 11, to the last bit; targets are one-hot exactly (report 8)."""
    mixed, labels, hook = mix_batch(Mixing(kind), draw_of(kind, key, 0.0), images, targets)
    copies = 2 if kind == "regmixup" else 1
    np.testing.assert_array_equal(mixed, np.concatenate([images] * copies))
    np.testing.assert_array_equal(labels, np.concatenate([targets] * copies))
    for layer in range(LAYERS):
        np.testing.assert_array_equal(hook(images, layer), images)


@pytest.mark.parametrize("kind", KINDS)
def test_images_and_targets_are_mixed_alike(key, kind):
    """Report 2: the rows are unit vectors, as pixels and as targets, so that both must show the same shares."""
    rows = jnp.eye(SIZE, dtype=jnp.float32)
    images = jnp.broadcast_to(rows[:, None, None], (SIZE, *SHAPE, SIZE))
    draw = draw_of(kind, key, 1.0)
    mixed, labels, hook = mix_batch(Mixing(kind), draw, images, rows)
    np.testing.assert_allclose(np.asarray(hook(mixed, int(draw.layer))).mean((1, 2)), labels, atol=1e-6)
    labels = np.asarray(labels)
    if kind == "regmixup":
        np.testing.assert_array_equal(labels[:SIZE], rows)
    assert len(labels) == SIZE * (2 if kind == "regmixup" else 1)
    assert (labels[-SIZE:].max(1) < 1).any()


def test_hidden_values_are_mixed_where_they_enter_the_chosen_layer(key, images):
    """By hand: the net up to the layer, the rows mixed, the net from there on."""
    net, mixing = MLP(16, 5, 6, 2, rngs=nnx.Rngs(0)), Mixing("manifold")
    pairs = draw_of("manifold", key, 1.0).pairs
    share, partner = np.float32(pairs.lam), np.asarray(pairs.partner)
    assert 0 < share < 1
    for chosen in range(net.mixing_layers):
        _, _, hook = mix_batch(mixing, StepDraw(pairs, jnp.int32(chosen)), images, jnp.zeros((SIZE, 5), jnp.float32))
        values = np.asarray(images).reshape(SIZE, -1)
        for number, layer in enumerate((*net.hidden, net.head)):
            values = share * values + (1 - share) * values[partner] if number == chosen else values
            values = values @ np.asarray(layer.kernel[...]) + np.asarray(layer.bias[...])
            values = np.maximum(values, 0) if number < 2 else values
        np.testing.assert_allclose(net(images, hook), values, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["mixup", pytest.param("cutmix", marks=pytest.mark.slow)])
def test_draws_do_not_depend_on_x64(key, kind):
    """A setting of JAX: a run that is resumed under another one draws the same."""
    with jax.enable_x64(False):
        expected = jax.tree.map(np.asarray, draw_of(kind, key, 0.7))
    jax.tree.map(np.testing.assert_array_equal, draw_of(kind, key, 0.7), expected)


def test_layers_are_uniform(key):
    """Of 3000 draws; chi-square with 2 degrees of freedom exceeds 30 at a rate of 3e-7."""
    counts = np.bincount(draws_of("manifold")(jax.random.split(key, MANY), np.float32(1)).layer, minlength=LAYERS)
    assert ((counts - MANY / 3) ** 2 / (MANY / 3)).sum() < 30


def test_hidden_values_of_bfloat16_are_mixed_in_float32(images, targets):
    """Report 7: rounded once, after the mix."""
    pairs = MixupDraw(jnp.float32(0.7), jnp.asarray(np.roll(np.arange(SIZE), 1)))
    _, _, hook = mix_batch(Mixing("manifold"), StepDraw(pairs, jnp.int32(1)), images, targets)
    values = images.astype(jnp.bfloat16)
    plain = np.asarray(values, np.float32)
    exact = np.float32(0.7) * plain + np.float32(0.3) * np.roll(plain, 1, 0)
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
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        Mixing(**options)
