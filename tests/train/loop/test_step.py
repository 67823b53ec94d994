"""Steps of a net: ERM beside a plain step, equal seeds, evaluation, and the loss that Mixup cannot go below."""

from __future__ import annotations

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from mixjax.train.data.pipeline import channel_scale, epoch_order
from mixjax.train.loop import program, step
from mixjax.train.loop.job import Arm, Job, Optimizer, Phase, Recipe
from mixjax.train.loop.members import members_of
from mixjax.train.loop.mixing import Mixing
from mixjax.train.loop.program import Program
from mixjax.train.nets.shapes import MLPShape, ResNetShape

from mixjax.calibration import top_label_ece

RECIPE = Recipe(MLPShape(12, 2), batch_size=32)


ARMS = (Arm("erm", (0.0,)), Arm("mixup", (1.0,)))


def job_of(recipe=RECIPE, arms=ARMS, seeds=(0, 1)) -> Job:
    return Job("job", recipe, arms, seeds, (Phase(2),))


def trained(recipe, digits, arms, seeds=(0, 1), epochs=2):
    """(program, members, nets, figures of all steps [members, steps])."""
    program = Program(recipe, jnp.asarray(digits.train_inputs), channel_scale(digits.train_inputs), 10)
    members, size = members_of(job_of(recipe, arms, seeds), digits.train_labels)
    nets, losses = program.start(members), []
    for epoch in range(epochs):
        for after, figures in program.epoch(nets, members, epoch, size):
            nets = after
            losses.append(np.asarray(figures.loss))
    return program, members, nets, np.concatenate(losses, axis=1)


@pytest.fixture(scope="module")
def both(digits):
    return trained(RECIPE, digits, ARMS)


def plain_training(digits, seed, epochs=2):
    """The same net, trained without a word about mixing: SGD written out, one call a step."""
    program = Program(RECIPE, jnp.asarray(digits.train_inputs), channel_scale(digits.train_inputs), 10)
    members, _ = members_of(job_of(seeds=(seed,)), digits.train_labels)
    start = jax.tree.leaves(jax.tree.map(lambda leaf: leaf[0], program.start(members).params))
    scale = channel_scale(digits.train_inputs)
    images = (jnp.asarray(digits.train_inputs, jnp.float32) - scale.mean[None, None, None]) / scale.sd[None, None, None]
    rows, labels = images.reshape(320, -1), np.eye(10, dtype=np.float32)[digits.train_labels]

    def loss(weights, inputs, targets):
        values = inputs
        for bias, kernel in zip(weights[2::2], weights[3::2], strict=True):  # hidden layers; the head sorts first
            values = jnp.maximum(values @ kernel + bias[None], 0)
        logits = values @ weights[1] + weights[0][None]
        return -jnp.sum(targets * jax.nn.log_softmax(logits), -1).mean()

    gradient = jax.jit(jax.grad(loss))
    weights, momentum = start, [jnp.zeros_like(weight) for weight in start]
    for epoch in range(epochs):
        order = np.asarray(epoch_order(seed, epoch, 320))
        for batch in order.reshape(10, 32):
            slopes = gradient(weights, rows[batch], jnp.asarray(labels[batch]))
            momentum = [np.float32(0.9) * old + slope for old, slope in zip(momentum, slopes, strict=True)]
            weights = [weight - np.float32(0.01) * move for weight, move in zip(weights, momentum, strict=True)]
    return weights


def test_no_mixup_is_plain_training(digits, both):
    """Report 11: beside a training loop that knows no mixing; float32, the order of sums differs."""
    _, _, nets, _ = both
    for seed in (0, 1):
        ours = [leaf[seed] for leaf in jax.tree.leaves(nets.params)]  # members 0 and 1: erm
        for found, expected in zip(ours, plain_training(digits, seed), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6)


@pytest.fixture(scope="module")
def unmixed(digits):
    """An epoch of a net with the mixing taken out of the step altogether; it is the same for every kind."""
    steps, called = program._steps.__wrapped__, []

    def without_mixing(mixing, draw, images, targets):
        called.append(mixing)
        return images, targets, step_unmixed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step, "mix_batch", without_mixing)
        fresh = lambda spec, *arguments: steps(spec, *arguments)  # noqa: E731 - JAX keeps the traces of a function
        patch.setattr(program, "_steps", jax.jit(fresh, static_argnums=0))
        _, _, plain, losses = trained(RECIPE, digits, ARMS[:1], seeds=(0,), epochs=1)
    assert called
    return plain, losses


@pytest.mark.parametrize("kind", ["mixup", "cutmix", "manifold"])
def test_alpha_0_has_the_bits_of_a_program_without_mixing(digits, unmixed, kind):
    """Report 11."""
    recipe, (plain, expected) = dataclasses.replace(RECIPE, mixing=Mixing(kind)), unmixed
    _, _, mixed, losses = trained(recipe, digits, ARMS[:1], seeds=(0,), epochs=1)
    np.testing.assert_array_equal(losses, expected)
    jax.tree.map(np.testing.assert_array_equal, mixed, plain)


def step_unmixed(values, place):
    return values


def test_arms_begin_alike_and_part(both):
    """Members of one seed have the same net and rows; the first loss of ERM differs from Mixup's."""
    program, members, _, losses = both
    start = program.start(members)
    for leaf in jax.tree.leaves(start.params):
        np.testing.assert_array_equal(leaf[0], leaf[2])
    assert (losses[0] != losses[2]).all() and (losses[0] != losses[1]).all()


def test_equal_seeds_are_equal_to_the_last_bit(digits, both):
    """Report 17: parameters, lambdas and losses of a second run; another seed has others."""
    program_, members, nets, losses = both
    _, again, other, repeated = trained(RECIPE, digits, ARMS)
    np.testing.assert_array_equal(losses, repeated)
    jax.tree.map(np.testing.assert_array_equal, nets, other)
    draws = program._draws(program_.spec, members, np.uint32(0), 10)
    repeats = program._draws(program_.spec, again, np.uint32(0), 10)
    jax.tree.map(np.testing.assert_array_equal, draws, repeats)
    later = program._draws(program_.spec, members, np.uint32(1), 10)
    lam = np.stack([draws.pairs.lam[:, 2], draws.pairs.lam[:, 3], later.pairs.lam[:, 2]])
    assert len(np.unique(lam)) == lam.size


def test_a_batch_has_one_lambda_or_one_a_row(digits, both):
    """Report 12: of the draws that the steps take, [steps, members]; those of ERM are 1."""
    program_, members, _, _ = both
    lam = np.asarray(program._draws(program_.spec, members, np.uint32(0), 10).pairs.lam)
    assert lam.shape == (10, 4)
    assert (lam[:, :2] == 1).all() and (lam[:, 2:] < 1).all()
    spec = program_.spec._replace(recipe=dataclasses.replace(RECIPE, mixing=Mixing(weight="sample")))
    assert program._draws(spec, members, np.uint32(0), 10).pairs.lam.shape == (10, 4, 32)


def test_evaluation_does_not_depend_on_the_batch_size(digits, both, monkeypatch):
    """Reports 22 and 23: 120 rows in batches of 1, 64, 100 and 512; ECE is that of all logits at once."""
    program_, _, nets, _ = both
    one, errors, logits = jax.tree.map(lambda leaf: leaf[0], nets), [], []
    for size in (1, 64, 100, 512):
        monkeypatch.setattr(step, "_ROWS_AT_ONCE", size)
        evaluate = jax.jit(partial(step.logits_of, program_.spec, program_.scale))
        logits.append(np.asarray(evaluate(one, jnp.asarray(digits.test_inputs))))
        assert logits[-1].shape == (120, 10) and logits[-1].dtype == np.float32
        errors.append(float(top_label_ece(jax.nn.softmax(logits[-1]), digits.test_labels)))
    for found in logits[1:]:
        np.testing.assert_allclose(found, logits[0], rtol=0, atol=1e-5)
    np.testing.assert_allclose(errors, errors[0], rtol=0, atol=1e-6)


def test_evaluating_changes_nothing(digits, both):
    """Report 27: twice the same logits, and nets as before."""
    program_, _, nets, _ = both
    before = jax.tree.map(np.asarray, nets)
    first = program_.logits(nets, jnp.asarray(digits.test_inputs))
    np.testing.assert_array_equal(first, program_.logits(nets, jnp.asarray(digits.test_inputs)))
    jax.tree.map(np.testing.assert_array_equal, before, nets)


def test_the_loss_under_mixup_has_a_floor(digits):
    """Report 14: 0.45 on average on ten balanced classes, where ERM's goes to 0. 100 epochs of a net that fits.

    The mean of the last 200 batches is above 0.4 whatever the net does (five standard errors: 0.45 - 5 * 0.21 / 14).
    """
    recipe = Recipe(MLPShape(64, 1), optimizer=Optimizer(0.05), batch_size=32)
    _, _, _, losses = trained(recipe, digits, ARMS, seeds=(0,), epochs=100)
    assert losses[0, -200:].mean() < 0.02
    assert losses[1, -200:].mean() > 0.45


def test_convolutions_on_a_cpu_are_not_put_in_a_loop(digits):
    """Report 34: inside `lax.scan` they are 16 to 43 times slower."""
    inputs, scale = jnp.asarray(digits.train_inputs), channel_scale(digits.train_inputs)
    assert jax.default_backend() == "cpu"
    assert Program(dataclasses.replace(RECIPE, net=ResNetShape(1 / 16)), inputs, scale, 10)._steps_at_once == 1
    assert Program(RECIPE, inputs, scale, 10)._steps_at_once > 100
