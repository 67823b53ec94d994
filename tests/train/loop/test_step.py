"""Steps of a net: ERM beside a plain step, equal seeds, evaluation, and the loss that Mixup cannot go below."""

from __future__ import annotations

import dataclasses
from functools import partial

import jax
import numpy as np
import pytest

from mixjax.train.data.pipeline import Scale, epoch_order
from mixjax.train.loop import program, step
from mixjax.train.loop.job import Arm, Job, Optimizer, Phase, Recipe
from mixjax.train.loop.mixing import Mixing
from mixjax.train.loop.step import Images, StepSpec
from mixjax.train.loop.trainer import Trainer
from mixjax.train.nets.shapes import MLPShape, ResNetShape
from tests.train.conftest import RECIPE

ARMS = (Arm("erm", (0.0,)), Arm("mixup", (1.0,)))


def trained(recipe, digits, arms=ARMS, seeds=(0,), epochs=2):
    """(program, members, nets, losses of all steps [members, steps])."""
    trainer, state = Trainer.begin(Job("job", recipe, arms, seeds, (Phase(2),)), digits)
    nets, losses = state.nets, []
    for epoch in range(epochs):
        for after, metrics in trainer.program.epoch(nets, trainer.members, epoch, len(digits.train_labels)):
            nets = after
            losses.append(np.asarray(metrics.loss))
    return trainer.program, trainer.members, nets, np.concatenate(losses, axis=1)


@pytest.fixture(scope="module")
def both(digits):
    return trained(RECIPE, digits)


def plain_training(digits, weights, seed, epochs=2):
    """The same net, trained without a word about mixing: SGD and gradients written out in NumPy, in float64."""
    pixels = digits.train_inputs.reshape(710, -1) / 1.0
    rows = (pixels - pixels.mean()) / pixels.std()
    weights = [np.asarray(leaf, np.float64) for leaf in weights]
    momentum = [np.zeros_like(leaf) for leaf in weights]
    for epoch in range(epochs):
        for batch in np.asarray(epoch_order(seed, epoch, 710))[:704].reshape(44, 16):
            head_bias, head, bias, kernel, shift, scale = weights
            values = rows[batch] @ kernel + bias
            sd = np.sqrt(values.var(0) + 1e-5)
            normal = (values - values.mean(0)) / sd
            hidden = np.maximum(normal * scale + shift, 0)
            logits = hidden @ head + head_bias
            shares = np.exp(logits - logits.max(1, keepdims=True))
            outer = (shares / shares.sum(1, keepdims=True) - np.eye(10)[digits.train_labels[batch]]) / 16
            middle = (outer @ head.T) * (hidden > 0)
            inner = (middle - middle.mean(0) - normal * (middle * normal).mean(0)) * scale / sd
            slopes = (outer, hidden.T @ outer, inner, rows[batch].T @ inner, middle, middle * normal)
            slopes = [slope if number % 2 and number < 4 else slope.sum(0) for number, slope in enumerate(slopes)]
            momentum = [0.9 * old + new for old, new in zip(momentum, slopes, strict=True)]
            weights = [leaf - 0.05 * move for leaf, move in zip(weights, momentum, strict=True)]
    return weights


def test_a_step_of_the_optimizer_is_pytorchs():
    """v <- momentum v + gradient + weight_decay w; w <- w - learning_rate v, by hand, twice."""
    rule, gradient = step._transformation(Optimizer(0.1, 0.9, 0.5)), np.float32([0.5, 0.25])
    found = wanted = np.float32([1.0, -2.0])
    state, velocity = rule.init(found), np.zeros(2, np.float32)
    for _ in range(2):
        update, state = rule.update(gradient, state, found)
        found = found + np.asarray(update)
        velocity = np.float32(0.9) * velocity + gradient + np.float32(0.5) * wanted
        wanted = wanted - np.float32(0.1) * velocity
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.slow
def test_no_mixup_is_plain_training(digits, both):
    """Beside a training loop that knows no mixing; float32 against float64."""
    training, _, nets, _ = both
    found, begun = (
        [np.asarray(leaf[0]) for leaf in jax.tree.leaves(tree.params)] for tree in (nets, training.start([0]))
    )
    for ours, expected in zip(found, plain_training(digits, begun, 0), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=2e-6)


@pytest.fixture(scope="module")
def unmixed(digits):
    """An epoch of the nets with the mixing taken out of the step altogether; it is the same for every kind."""
    called = []

    def without_mixing(mixing, draw, images, targets):
        called.append(mixing)
        return images, targets, lambda values, layer: values

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step, "mix_batch", without_mixing)
        patch.setattr(program, "compiled", program.compiled.__wrapped__)  # a compiled step keeps its trace
        _, _, plain, losses = trained(RECIPE, digits, ARMS[:1], seeds=(0, 1), epochs=1)
    assert called
    return plain, losses


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mixup", "cutmix", "manifold"])
def test_alpha_0_has_the_bits_of_a_program_without_mixing(digits, unmixed, kind):
    recipe, (plain, expected) = dataclasses.replace(RECIPE, mixing=Mixing(kind)), unmixed
    _, _, mixed, losses = trained(recipe, digits, ARMS[:1], seeds=(0, 1), epochs=1)
    np.testing.assert_array_equal(losses, expected)
    jax.tree.map(np.testing.assert_array_equal, mixed, plain)


@pytest.mark.medium
def test_arms_begin_alike_and_part(both):
    """Members of one seed have the same net and rows; the first loss of ERM differs from Mixup's."""
    training, members, _, losses = both
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(training.start([0, 1, 0]).params)]
    assert all((leaf[0] == leaf[2]).all() for leaf in leaves) and any((leaf[0] != leaf[1]).any() for leaf in leaves)
    np.testing.assert_array_equal(program.epoch_orders(members, np.uint32(0), 710)[0], epoch_order(0, 0, 710))
    assert (losses[0] != losses[1]).all()


@pytest.mark.medium
def test_equal_seeds_are_equal_to_the_last_bit(digits, both):
    """Parameters and losses of a second run."""
    _, _, nets, losses = both
    _, _, other, repeated = trained(RECIPE, digits)
    np.testing.assert_array_equal(losses, repeated)
    jax.tree.map(np.testing.assert_array_equal, nets, other)


@pytest.mark.medium
def test_each_seed_epoch_and_step_has_a_lambda_and_erm_has_none(both):
    """One a batch, of the draws that the steps take, [members, steps]; those of ERM are 1."""
    training, members, _, _ = both
    draws = lambda members, epoch: np.asarray(training.compiled.draws(44, members, np.uint32(epoch)).pairs.lam)  # noqa: E731
    lam = draws(members, 0)
    assert lam.shape == (2, 44) and (lam[0] == 1).all()
    changed = np.array([0, 1], np.uint32), np.ones(2, np.float32)
    seed, alpha = (jax.device_put(part, members.seed.sharding) for part in changed)
    seeds = members._replace(seed=seed, alpha=alpha)
    np.testing.assert_array_equal(draws(seeds, 0)[0], lam[1])
    several = np.concatenate([draws(seeds, 0), draws(seeds, 1)])
    assert (several < 1).all() and len(np.unique(several)) == several.size
    draw = partial(program.epoch_draws, Mixing(weight="sample"), (16, (8, 8), 2), 44)
    assert jax.eval_shape(draw, members, np.uint32(0)).pairs.lam.shape == (2, 44, 16)


@pytest.mark.medium
def test_nets_in_turn_are_the_nets_side_by_side(digits, both, monkeypatch):
    """Two nets, each first alone, as on a CPU where the layers are wide: parameters, losses and logits."""
    monkeypatch.setattr(program, "_in_turn", lambda spec: True)
    monkeypatch.setattr(program, "compiled", program.compiled.__wrapped__)
    _, _, nets, losses = both
    in_turn, _, found, found_losses = trained(RECIPE, digits)
    np.testing.assert_allclose(found_losses, losses, rtol=1e-5)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=0, atol=2e-6), found, nets)
    logits = in_turn.logits(found, digits.test_inputs)
    _, _, alone, _ = trained(RECIPE, digits, ARMS[1:])
    jax.tree.map(lambda one, two: np.testing.assert_array_equal(one[0], two[1]), alone, found)
    np.testing.assert_array_equal(in_turn.logits(alone, digits.test_inputs)[0], logits[1])


@pytest.mark.parametrize(
    ("net", "in_turn"), [(MLPShape(400, 1), True), (MLPShape(399, 8), False), (ResNetShape(0.25), True)]
)
def test_wide_nets_are_trained_in_turn_on_one_cpu(net, in_turn, monkeypatch):
    """Nets that are spread over several devices are side by side, and so are those on a GPU."""
    spec = StepSpec(Recipe(net), (28, 28, 1), 10)
    monkeypatch.setattr(jax, "device_count", lambda: 1)
    assert program._in_turn(spec) == in_turn
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert program._in_turn(spec) == isinstance(net, ResNetShape)
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")
    monkeypatch.setattr(jax, "device_count", lambda: 2)
    assert program._in_turn(spec) == isinstance(net, ResNetShape)


@pytest.mark.medium
def test_the_labels_of_a_step_are_smoothed(digits, both):
    """At the first step, of equal nets: 1 - epsilon of the plain loss, and epsilon of that of uniform targets."""
    plain = both[3]
    _, _, _, losses = trained(dataclasses.replace(RECIPE, smoothing=0.4), digits, ARMS[:1], epochs=1)
    uniform = trained(dataclasses.replace(RECIPE, smoothing=1 - 2**-20), digits, ARMS[:1], epochs=1)[3]
    np.testing.assert_allclose(losses[0, 0], 0.6 * plain[0, 0] + 0.4 * uniform[0, 0], rtol=1e-5)
    assert abs(uniform[0, 0] - plain[0, 0]) > 0.01


@pytest.mark.slow
def test_evaluation_does_not_depend_on_the_batch_size(digits, both, monkeypatch):
    """355 rows in batches of 64, beside all of them at once."""
    training, _, nets, _ = both
    monkeypatch.setattr(step, "_ROWS_AT_ONCE", 64)
    found = jax.jit(partial(step.logits_of, training.spec, training.images.scale))(
        jax.tree.map(lambda leaf: leaf[0], nets), digits.test_inputs
    )
    assert found.shape == (355, 10) and found.dtype == np.float32
    np.testing.assert_allclose(found, training.logits(nets, digits.test_inputs)[0], rtol=0, atol=1e-5)


@pytest.mark.medium
def test_evaluating_changes_nothing(digits, both):
    """Twice the same logits, and nets as before."""
    training, _, nets, _ = both
    before = jax.tree.map(np.asarray, nets)
    first = training.logits(nets, digits.test_inputs)
    np.testing.assert_array_equal(first, training.logits(nets, digits.test_inputs))
    jax.tree.map(np.testing.assert_array_equal, before, nets)


@pytest.mark.slow
def test_the_loss_under_mixup_has_a_floor(digits):
    """0.45 on average on ten balanced classes, where ERM's goes to 0. 100 epochs of a net that fits.

    No net has a mean below 0.375 over the last 200 batches (0.45 - 5 standard errors of 0.21 / 14); this one is above
    0.45.
    """
    recipe = Recipe(MLPShape(64, 1), optimizer=Optimizer(0.05), batch_size=32)
    _, _, _, losses = trained(recipe, digits, seeds=(0,), epochs=100)
    assert losses[0, -200:].mean() < 0.02
    assert losses[1, -200:].mean() > 0.45


@pytest.mark.parametrize(
    ("net", "steps", "at_once"),
    [(ResNetShape(0.01), 22, 1), (ResNetShape(0.25), 937, 4), (ResNetShape(1.0), 937, 1), (RECIPE.net, 22, 250)],
)
def test_steps_of_a_call(net, steps, at_once, digits):
    """Small convolutional nets unroll four on a CPU, where an epoch has enough; large ones gain nothing."""
    assert jax.default_backend() == "cpu"
    images = Images(digits.train_inputs, Scale(np.zeros(1, np.float32), np.ones(1, np.float32)))
    assert program.TrainingProgram(Recipe(net), images, 10).steps_at_once(steps) == at_once


@pytest.mark.slow
def test_unrolled_steps_are_single_steps(digits, monkeypatch):
    """A ResNet of one to five channels, 44 steps: eleven calls of four beside 44 of one; neither program has a loop."""
    recipe = dataclasses.replace(RECIPE, net=ResNetShape(0.01))
    trainer, state = Trainer.begin(Job("job", recipe, ARMS[1:], (0,), (Phase(1),)), digits)
    draws = trainer.program.compiled.draws(4, trainer.members, np.uint32(0))
    orders = program.epoch_orders(trainer.members, np.uint32(0), 710)
    for count in (1, 4):
        batches = np.arange(count, dtype=np.int32), jax.tree.map(lambda leaf: leaf[:, :count], draws)  # noqa: B023
        arguments = trainer.program.images, state.nets, trainer.members, orders, np.uint32(0), batches
        assert "stablehlo.while" not in trainer.program.compiled.steps.lower(*arguments).as_text()

    *_, nets, losses = trained(recipe, digits, ARMS[1:], epochs=1)
    monkeypatch.setattr(program, "ENOUGH_STEPS", 45)
    *_, found, one_by_one = trained(recipe, digits, ARMS[1:], epochs=1)
    assert losses.shape == (1, 44)
    np.testing.assert_allclose(losses, one_by_one, rtol=1e-4)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=0, atol=1e-4), nets, found)
