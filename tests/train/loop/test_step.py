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
from mixjax.train.loop.program import TrainingProgram
from mixjax.train.loop.step import Images
from mixjax.train.nets.shapes import MLPShape, ResNetShape

from mixjax.calibration import top_label_ece

RECIPE = Recipe(MLPShape(12, 2), batch_size=32)
ARMS = (Arm("erm", (0.0,)), Arm("mixup", (1.0,)))
SEEDS = (0, 1)


def images_of(digits) -> Images:
    return Images(jnp.asarray(digits.train_inputs), channel_scale(digits.train_inputs))


def trained(recipe, digits, arms=ARMS, seeds=SEEDS, epochs=2):
    """(program, members, nets, losses of all steps [members, steps])."""
    job = Job("job", recipe, arms, seeds, (Phase(2),))
    training = TrainingProgram(recipe, images_of(digits), 10)
    members, size = members_of(job, digits.train_labels)
    nets, losses = training.start([member.seed for member in job.members]), []
    for epoch in range(epochs):
        for after, metrics in training.epoch(nets, members, epoch, size):
            nets = after
            losses.append(np.asarray(metrics.loss))
    return training, members, nets, np.concatenate(losses, axis=1)


@pytest.fixture(scope="module")
def both(digits):
    return trained(RECIPE, digits)


def plain_training(digits, weights, seed, epochs=2):
    """The same net, trained without a word about mixing: SGD and gradients written out in NumPy, in float64."""
    pixels = digits.train_inputs.reshape(320, -1) / 1.0
    rows = (pixels - pixels.mean()) / pixels.std()
    bias, kernel = ([np.asarray(leaf, np.float64) for leaf in weights[part::2]] for part in (0, 1))  # head, then layers
    momentum = [np.zeros_like(leaf) for leaf in (*bias, *kernel)]
    for epoch in range(epochs):
        for batch in np.asarray(epoch_order(seed, epoch, 320)).reshape(10, 32):
            values = [rows[batch]]
            for layer in (1, 2):
                values.append(np.maximum(values[-1] @ kernel[layer] + bias[layer], 0))
            logits = values[-1] @ kernel[0] + bias[0]
            shares = np.exp(logits - logits.max(1, keepdims=True))
            slope = (shares / shares.sum(1, keepdims=True) - np.eye(10)[digits.train_labels[batch]]) / 32
            slopes = [np.zeros(0)] * 6
            for layer, inputs in ((0, values[2]), (2, values[1]), (1, values[0])):
                slopes[layer], slopes[3 + layer] = slope.sum(0), inputs.T @ slope
                slope = (slope @ kernel[layer].T) * (inputs > 0)
            momentum = [0.9 * old + new for old, new in zip(momentum, slopes, strict=True)]
            bias = [leaf - 0.01 * move for leaf, move in zip(bias, momentum[:3], strict=True)]
            kernel = [leaf - 0.01 * move for leaf, move in zip(kernel, momentum[3:], strict=True)]
    return [leaf for pair in zip(bias, kernel, strict=True) for leaf in pair]


def test_no_mixup_is_plain_training(digits, both):
    """Report 11: beside a training loop that knows no mixing; float32 against float64."""
    training, _, nets, _ = both
    start = training.start(SEEDS)
    for seed in SEEDS:  # members 0 and 1: erm
        found, begun = ([np.asarray(leaf[seed]) for leaf in jax.tree.leaves(tree.params)] for tree in (nets, start))
        for ours, expected in zip(found, plain_training(digits, begun, seed), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=0, atol=4e-6)


@pytest.fixture(scope="module")
def unmixed(digits):
    """An epoch of the nets with the mixing taken out of the step altogether; it is the same for every kind."""
    called = []

    def without_mixing(mixing, draw, images, targets):
        called.append(mixing)
        return images, targets, lambda values, layer: values

    program.compiled.cache_clear()  # a program keeps its traces
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step, "mix_batch", without_mixing)
        _, _, plain, losses = trained(RECIPE, digits, ARMS[:1], epochs=1)
    program.compiled.cache_clear()
    assert called
    return plain, losses


@pytest.mark.parametrize("kind", ["mixup", pytest.param("cutmix", marks=pytest.mark.slow), "manifold"])
def test_alpha_0_has_the_bits_of_a_program_without_mixing(digits, unmixed, kind):
    """Report 11."""
    recipe, (plain, expected) = dataclasses.replace(RECIPE, mixing=Mixing(kind)), unmixed
    _, _, mixed, losses = trained(recipe, digits, ARMS[:1], epochs=1)
    np.testing.assert_array_equal(losses, expected)
    jax.tree.map(np.testing.assert_array_equal, mixed, plain)


def test_arms_begin_alike_and_part(both):
    """Members of one seed have the same net and rows; the first loss of ERM differs from Mixup's."""
    training, members, _, losses = both
    for leaf in jax.tree.leaves(training.start([0, 1, 0, 1]).params):
        np.testing.assert_array_equal(leaf[0], leaf[2])
    np.testing.assert_array_equal(members.seed, [0, 1, 0, 1])
    assert (losses[0] != losses[2]).all() and (losses[0] != losses[1]).all()


def test_equal_seeds_are_equal_to_the_last_bit(digits, both):
    """Report 17: parameters, lambdas and losses of a second run; another seed has others."""
    training, members, nets, losses = both
    _, again, other, repeated = trained(RECIPE, digits)
    np.testing.assert_array_equal(losses, repeated)
    jax.tree.map(np.testing.assert_array_equal, nets, other)
    draws, repeats = (training.compiled.draws(10, each, np.uint32(0)) for each in (members, again))
    jax.tree.map(np.testing.assert_array_equal, draws, repeats)
    later = training.compiled.draws(10, members, np.uint32(1))
    now, then = np.asarray(draws.pairs.lam), np.asarray(later.pairs.lam)
    lam = np.stack([now[:, 2], now[:, 3], then[:, 2]])
    assert len(np.unique(lam)) == lam.size


def test_a_batch_has_one_lambda_or_one_a_row(both):
    """Report 12: of the draws that the steps take, [steps, members]; those of ERM are 1."""
    training, members, _, _ = both
    lam = np.asarray(training.compiled.draws(10, members, np.uint32(0)).pairs.lam)
    assert lam.shape == (10, 4)
    assert (lam[:, :2] == 1).all() and (lam[:, 2:] < 1).all()
    draw = partial(program.epoch_draws, Mixing(weight="sample"), (32, (8, 8), 1), 10)
    rows = jax.eval_shape(draw, members, np.uint32(0))
    assert rows.pairs.lam.shape == (10, 4, 32)


def test_evaluation_does_not_depend_on_the_batch_size(digits, both, monkeypatch):
    """Reports 22 and 23: 160 rows in batches of 64 and 512; ECE is that of all logits at once."""
    training, _, nets, _ = both
    one, errors, logits = jax.tree.map(lambda leaf: leaf[0], nets), [], []
    for size in (64, 512):
        monkeypatch.setattr(step, "_ROWS_AT_ONCE", size)
        evaluate = jax.jit(partial(step.logits_of, training.spec, training.images.scale))
        logits.append(np.asarray(evaluate(one, jnp.asarray(digits.test_inputs))))
        assert logits[-1].shape == (160, 10) and logits[-1].dtype == np.float32
        errors.append(float(top_label_ece(jax.nn.softmax(logits[-1]), digits.test_labels)))
    np.testing.assert_allclose(logits[1], logits[0], rtol=0, atol=1e-5)
    np.testing.assert_allclose(errors[1], errors[0], rtol=0, atol=1e-6)


def test_evaluating_changes_nothing(digits, both):
    """Report 27: twice the same logits, and nets as before."""
    training, _, nets, _ = both
    before = jax.tree.map(np.asarray, nets)
    first = training.logits(nets, digits.test_inputs)
    np.testing.assert_array_equal(first, training.logits(nets, digits.test_inputs))
    jax.tree.map(np.testing.assert_array_equal, before, nets)


@pytest.mark.slow
def test_the_loss_under_mixup_has_a_floor(digits):
    """Report 14: 0.45 on average on ten balanced classes, where ERM's goes to 0. 100 epochs of a net that fits.

    The mean of the last 200 batches is above 0.4 whatever the net does (five standard errors: 0.45 - 5 * 0.21 / 14).
    """
    recipe = Recipe(MLPShape(64, 1), optimizer=Optimizer(0.05), batch_size=32)
    _, _, _, losses = trained(recipe, digits, seeds=(0,), epochs=100)
    assert losses[0, -200:].mean() < 0.02
    assert losses[1, -200:].mean() > 0.45


def test_convolutions_on_a_cpu_are_not_put_in_a_loop(digits):
    """Report 34: inside `lax.scan` they are 16 to 43 times slower."""
    assert jax.default_backend() == "cpu"
    convolutional = dataclasses.replace(RECIPE, net=ResNetShape(1 / 64))
    assert TrainingProgram(convolutional, images_of(digits), 10).compiled.steps_at_once == 1
    assert TrainingProgram(RECIPE, images_of(digits), 10).compiled.steps_at_once > 100
