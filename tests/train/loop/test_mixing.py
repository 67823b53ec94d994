"""Mixing inside a step: the batch, or the inputs of one layer; with alpha = 0 neither."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from mixjax.mixing import CutMixDraw, MixupDraw
from mixjax.train.loop import mixing
from mixjax.train.loop.mixing import Mixing, StepDraw, draw_step, mix_batch
from mixjax.train.nets import MLP

SIZE, SHAPE, LAYERS = 16, (4, 4), 3
KINDS = ("mixup", "cutmix", "manifold", "regmixup")


def draw_by_hand(kind: str, lam: float = 0.75) -> StepDraw:
    """Each row with the one before it; for CutMix a quarter of the pixels, or none."""
    pairs = MixupDraw(jnp.float32(lam), jnp.asarray(np.roll(np.arange(SIZE), 1)))
    inside = np.zeros(SHAPE, bool)
    inside[:2, :2] = lam < 1
    return StepDraw(CutMixDraw(jnp.asarray(inside), pairs) if kind == "cutmix" else pairs, jnp.int32(1))


@pytest.fixture
def images(rng):
    return jnp.asarray(rng.normal(size=(SIZE, *SHAPE, 1)), jnp.float32)


@pytest.fixture
def targets(rng):
    return jnp.asarray(np.eye(5, dtype=np.float32)[rng.integers(0, 5, SIZE)])


@pytest.mark.few(1)
@pytest.mark.parametrize("drawn", ["by hand", pytest.param("by chance", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_alpha_0_leaves_the_batch_and_the_hidden_values(key, images, targets, kind, drawn):
    """To the last bit; targets are one-hot exactly."""
    chance = partial(draw_step, Mixing(kind), key, 0.0, SIZE, SHAPE, LAYERS)
    draw = draw_by_hand(kind, 1.0) if drawn == "by hand" else jax.jit(chance)()
    mixed, labels, hook = mix_batch(Mixing(kind), draw, images, targets)
    copies = 2 if kind == "regmixup" else 1
    np.testing.assert_array_equal(mixed, np.concatenate([images] * copies))
    np.testing.assert_array_equal(labels, np.concatenate([targets] * copies))
    for layer in range(LAYERS):
        np.testing.assert_array_equal(hook(images, layer), images)


@pytest.mark.medium
@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
def test_images_and_targets_are_mixed_alike(kind):
    """The rows are unit vectors, as pixels and as targets, so that both must show the same shares."""
    rows = jnp.eye(SIZE, dtype=jnp.float32)
    images = jnp.broadcast_to(rows[:, None, None], (SIZE, *SHAPE, SIZE))
    draw = draw_by_hand(kind)
    mixed, labels, hook = mix_batch(Mixing(kind), draw, images, rows)
    np.testing.assert_allclose(np.asarray(hook(mixed, int(draw.layer))).mean((1, 2)), labels, atol=1e-6)
    labels = np.asarray(labels)
    if kind == "regmixup":
        np.testing.assert_array_equal(labels[:SIZE], rows)
    assert len(labels) == SIZE * (2 if kind == "regmixup" else 1)
    np.testing.assert_allclose(labels[-SIZE:], 0.75 * np.eye(SIZE) + 0.25 * np.roll(np.eye(SIZE), 1, 0), atol=1e-6)


@pytest.mark.medium
def test_hidden_values_are_mixed_where_they_enter_the_chosen_layer(images):
    """By hand: the net up to the layer, the rows mixed, the net from there on."""
    net = MLP(16, 5, 6, 2, rngs=nnx.Rngs(0))
    pairs = draw_by_hand("manifold").pairs
    share, partner = np.float32(pairs.lam), np.asarray(pairs.partner)
    for chosen in range(net.mixing_layers):
        _, _, hook = mix_batch(Mixing("manifold"), StepDraw(pairs, jnp.int32(chosen)), images, jnp.zeros((SIZE, 5)))
        values = np.asarray(images).reshape(SIZE, -1)
        for number, layer in enumerate((*net.hidden, net.head)):
            values = share * values + (1 - share) * values[partner] if number == chosen else values
            values = values @ np.asarray(layer.kernel[...]) + np.asarray(layer.bias[...])
            values = np.maximum(values, 0) if number < 2 else values
        np.testing.assert_allclose(net(images, hook), values, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mixup", "cutmix"])
def test_draws_do_not_depend_on_x64(key, kind):
    """A setting of JAX: a run that is resumed under another one draws the same."""
    draw = jax.jit(partial(draw_step, Mixing(kind), key, np.float32(0.7), SIZE, SHAPE, LAYERS))
    with jax.enable_x64(False):
        expected = jax.tree.map(np.asarray, draw())
    jax.tree.map(np.testing.assert_array_equal, draw(), expected)


@pytest.fixture
def calls(monkeypatch):
    """The arguments of draws of pairs, which are not made: their programs take long to compile."""
    found = []

    def pairs(kind):
        return lambda key, *sizes, **options: found.append((kind, key, sizes, options)) or jax.random.bits(key)

    monkeypatch.setattr(mixing, "draw_mixup", pairs("mixup"))
    monkeypatch.setattr(mixing, "draw_cutmix", pairs("cutmix"))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_are_drawn_as_the_options_say(key, calls, kind):
    chosen = Mixing(kind, "sample", "roll", fold=kind != "cutmix")
    draw_step(chosen, key, 0.3, SIZE, SHAPE, LAYERS)
    ((drawn, _, sizes, options),) = calls
    expected = {"alpha": 0.3, "weight": "sample", "pairing": "roll"}
    if kind == "cutmix":
        assert (drawn, sizes, options) == ("cutmix", (SIZE, SHAPE), expected)
    else:
        assert (drawn, sizes, options) == ("mixup", (SIZE,), expected | {"fold": True})


@pytest.mark.slow
def test_layers_are_uniform_and_apart_from_pairs(key, calls):
    """Of 3000 draws; chi-square with 2 degrees of freedom exceeds 30 at a rate of 3e-7, also among odd pairs."""
    draw = jax.jit(jax.vmap(lambda key: draw_step(Mixing("manifold"), key, 1.0, SIZE, SHAPE, LAYERS)))
    draws = draw(jax.random.split(key, 3000))
    for chosen in (slice(None), np.asarray(draws.pairs) % 2 == 1):
        layers = np.asarray(draws.layer)[chosen]
        counts = np.bincount(layers, minlength=LAYERS)
        assert ((counts - len(layers) / 3) ** 2 / (len(layers) / 3)).sum() < 30
    assert draws.layer.dtype == np.int32


def test_hidden_values_of_bfloat16_are_mixed_in_float32(images, targets):
    """Rounded once, after the mix."""
    _, _, hook = mix_batch(Mixing("manifold"), draw_by_hand("manifold", 0.7), images, targets)
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
        ({"kind": "cutmix", "fold": True}, "fold does not apply to cutmix"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        Mixing(**options)
