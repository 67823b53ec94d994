"""RankMixup beside its formula written out row by row, and the limits in which its penalty is 0 or is gone."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from mixjax.mixing import MixupDraw
from mixjax.train.loop.mixing import Mixing, StepDraw, draw_step, mix_batch, mixed_loss
from mixjax.train.loop.rank import RankedMixes

SIZE, CLASSES = 6, 4
LABELS = np.array([0, 1, 2, 3, 0, 1])
WEIGHTS = np.float32([0.875, 0.25, 0.625])
PARTNERS = [np.roll(np.arange(SIZE), shift) for shift in (1, 2, 4)]  # the last two pair rows of one class


def draw_of(mixed=True):
    mixes = (MixupDraw(jnp.float32(lam), jnp.asarray(pair)) for lam, pair in zip(WEIGHTS, PARTNERS, strict=True))
    return StepDraw(RankedMixes(tuple(mixes), jnp.asarray(mixed)), jnp.int32(0))


def batch(rng, draw):
    images = jnp.asarray(rng.normal(size=(SIZE, 2, 2, 1)), jnp.float32)
    return mix_batch(Mixing("rank"), draw, images, jnp.eye(CLASSES, dtype=np.float32)[LABELS])


def literal(logits):
    """The loss of each row: its cross-entropy and a tenth of what its ranking lacks."""
    raw, *mixes = logits.reshape(4, SIZE, CLASSES)
    losses = []
    for i in range(SIZE):
        ranked = []
        for lam, pair, z in zip(WEIGHTS, PARTNERS, mixes, strict=True):
            same = LABELS[i] == LABELS[pair[i]]
            ranked.append((1.0 if same else max(lam, 1 - lam), softmax(z[i]).max()))
        ranked = [(1.0, softmax(raw[i]).max()), *sorted(ranked, key=lambda pair: -pair[0])]
        ideal, gain = (sum(pair[k] / np.log2(m + 2) for m, pair in enumerate(ranked)) for k in (0, 1))
        losses.append(-log_softmax(raw[i])[LABELS[i]] + 0.1 * (1 - min(gain / ideal, ideal / gain)))
    return np.mean(losses)


@pytest.mark.parametrize("scale", [1.0, 30.0])  # confidences below and above the shares of the classes
def test_the_loss_is_its_formula(scale, rng):
    draw = draw_of()
    _, targets, _ = batch(rng, draw)
    logits = scale * rng.normal(size=(4 * SIZE, CLASSES))
    found = mixed_loss(draw, jnp.asarray(logits, jnp.float32), targets)
    np.testing.assert_allclose(found, literal(logits), rtol=1e-5)


def test_rows_come_first_and_then_each_of_their_mixes(rng):
    draw = draw_of()
    images, targets, _ = batch(rng, draw)
    images, targets = (np.asarray(part).reshape(4, SIZE, -1) for part in (images, targets))
    for lam, pair, mixed, label in zip(WEIGHTS, PARTNERS, images[1:], targets[1:], strict=True):
        np.testing.assert_allclose(mixed, lam * images[0] + (1 - lam) * images[0][pair], atol=1e-6)
        np.testing.assert_allclose(label, lam * targets[0] + (1 - lam) * targets[0][pair], atol=1e-6)


def test_confidences_that_are_the_shares_cost_nothing(rng):
    """Logits of the mixed labels: each confidence is then its share, and the loss the cross-entropy, nearly 0."""
    draw = draw_of()
    _, targets, _ = batch(rng, draw)
    assert mixed_loss(draw, jnp.log(targets + 1e-9), targets) < 1e-6


@pytest.mark.medium
def test_without_mixing_the_loss_is_the_cross_entropy(rng, key):
    """Also where a net is unsure of all rows, which would cost a penalty if they were ranked."""
    draw = draw_step(Mixing("rank"), key, jnp.float32(0.0), SIZE, (2, 2), 1)
    images, targets, _ = batch(rng, draw)
    for part in np.asarray(images).reshape(4, SIZE, -1)[1:]:
        np.testing.assert_array_equal(part, np.asarray(images[:SIZE]).reshape(SIZE, -1))
    logits = rng.normal(size=(4 * SIZE, CLASSES))
    cross_entropy = -log_softmax(logits[:SIZE], axis=1)[np.arange(SIZE), LABELS].mean()
    found = mixed_loss(draw, jnp.asarray(logits, jnp.float32), targets)
    np.testing.assert_allclose(found, cross_entropy, rtol=1e-5)


@pytest.mark.medium
def test_each_mix_has_a_weight_and_partners_of_its_own(key):
    draws = jax.vmap(lambda key: draw_step(Mixing("rank"), key, jnp.float32(1.0), SIZE, (2, 2), 1))
    mixes = draws(jax.random.split(key, 50)).pairs.mixes
    assert len({float(lam) for each in mixes for lam in each.lam}) == 150
    assert not np.array_equal(mixes[0].partner, mixes[1].partner)
