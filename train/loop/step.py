"""One step of one net, and its logits: pure functions of arrays, compiled in `train.loop.program`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import Sharding
from jaxtyping import Array, Float, UInt8

from ..data.augmentation import augment
from ..data.pipeline import DeviceData, Pixels, Scale, batch, in_batches, normalize
from ..data.streams import Stream, stream_key
from .job import Optimizer, Recipe
from .loss import cross_entropy
from .members import Lanes
from .mixing import StepDraw, mix_batch

__all__ = ["Nets", "Plan", "StepFigures", "logits_of", "start", "step"]

_ROWS_AT_ONCE = 500  # of an evaluation


class Nets(NamedTuple):
    """All that training changes: parameters, running statistics, and the optimiser's momentum."""

    params: Any
    statistics: Any
    momentum: Any


class StepFigures(NamedTuple):
    """Of a mixed batch: the mean loss, and the share of the targets that the predicted class has."""

    loss: Float[Array, "..."]
    accuracy: Float[Array, "..."]


class Plan(NamedTuple):
    """What a step is compiled for; plain values, equal for nets that may share a program."""

    recipe: Recipe
    image_shape: tuple[int, int, int]
    num_classes: int
    batch_layout: Sharding | None = None

    def build(self, key: jax.Array) -> nnx.Module:
        """A net before training."""
        dtype = jnp.dtype(self.recipe.dtype)
        return self.recipe.net.build(self.image_shape, self.num_classes, dtype, rngs=nnx.Rngs(key))


@lru_cache(maxsize=64)
def structure(plan: Plan) -> Any:
    """A net without its numbers, which go with it in `nnx.merge`."""
    return nnx.split(_abstract(plan), nnx.Param, nnx.BatchStat)[0]


@lru_cache(maxsize=64)
def mixing_places(plan: Plan) -> int:
    """Where the net lets manifold Mixup mix."""
    return _abstract(plan).mixing_places


def _abstract(plan: Plan) -> Any:
    return nnx.eval_shape(lambda: plan.build(jax.random.key(0)))


def start(plan: Plan, seed: int | np.integer | jax.Array) -> Nets:
    """A net before training, a function of the seed."""
    _, *parts = nnx.split(plan.build(stream_key(seed, Stream.INIT)), nnx.Param, nnx.BatchStat)
    params, statistics = parts
    return Nets(params, statistics, _rule(plan.recipe.optimizer).init(params))


def step(
    plan: Plan,
    inputs: UInt8[Array, "N H W C"],
    scale: Scale,
    nets: Nets,
    lane: Lanes,
    order: jax.Array,
    draw: StepDraw,
    epoch: jax.Array,
    place: jax.Array,
) -> tuple[Nets, StepFigures]:
    """Train on a batch: the `place`-th of an epoch whose rows come in `order`."""
    images, targets = _batch(plan, inputs, scale, lane, order, epoch, place)
    images, targets, hook = mix_batch(plan.recipe.mixing, draw, images, targets)

    def loss_of(params: Any) -> tuple[jax.Array, tuple[Any, jax.Array]]:
        net = nnx.merge(structure(plan), params, nets.statistics, copy=True)  # statistics that this trace may change
        net.train()
        logits = net(images, hook)
        return cross_entropy(logits, targets).mean(), (nnx.state(net, nnx.BatchStat), logits)

    (loss, (statistics, logits)), gradient = jax.value_and_grad(loss_of, has_aux=True)(nets.params)
    updates, momentum = _rule(plan.recipe.optimizer).update(gradient, nets.momentum, nets.params)
    predicted = jax.nn.one_hot(logits.argmax(-1), plan.num_classes, dtype=jnp.float32)
    accuracy = jnp.sum(targets * predicted, -1).mean()
    return Nets(optax.apply_updates(nets.params, updates), statistics, momentum), StepFigures(loss, accuracy)


def logits_of(plan: Plan, scale: Scale, nets: Nets, inputs: Pixels) -> Float[Array, "M K"]:
    """Of images that are not normalised, by the net in evaluation mode; every row, and a batch at a time."""
    net = nnx.merge(structure(plan), nets.params, nets.statistics)
    net.eval()
    return in_batches(lambda rows: net(_spread(plan, normalize(rows, scale))), inputs, min(_ROWS_AT_ONCE, len(inputs)))


def _batch(
    plan: Plan, inputs: jax.Array, scale: Scale, lane: Lanes, order: jax.Array, epoch: jax.Array, place: jax.Array
) -> tuple[Float[Array, "B H W C"], Float[Array, "B K"]]:
    """Normalised images and one-hot targets of a step."""
    recipe = plan.recipe
    images, labels = batch(DeviceData(inputs, lane.labels), order, place, recipe.batch_size)
    if recipe.augment != "none":
        key = stream_key(lane.seed, Stream.AUGMENT, epoch, place)
        padding = max(1, images.shape[1] // 8)  # 4 of 32 pixels, as in the paper
        images = augment(key, images, crop_padding=padding, flip=recipe.augment == "crop+flip")
    return _spread(plan, normalize(images, scale)), jax.nn.one_hot(labels, plan.num_classes, dtype=jnp.float32)


def _spread(plan: Plan, images: jax.Array) -> jax.Array:
    """Over the devices, if the plan says so; XLA spreads the rest of the step alike."""
    return images if plan.batch_layout is None else jax.lax.with_sharding_constraint(images, plan.batch_layout)


def _rule(optimizer: Optimizer) -> optax.GradientTransformation:
    decay = [optax.add_decayed_weights(optimizer.weight_decay)] if optimizer.weight_decay else []
    return optax.chain(*decay, optax.sgd(optimizer.learning_rate, optimizer.momentum))
