"""One step of one net, and its logits: pure functions of arrays, compiled in `mixjax.train.loop.program`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jax.sharding import Sharding
from jaxtyping import Array, Float, UInt8

from ..data.augmentation import augment
from ..data.pipeline import Pixels, Scale, batch, in_batches, normalize
from ..data.streams import Stream, stream_key
from .job import Optimizer, Recipe
from .loss import smooth
from .members import Members
from .mixing import StepDraw, mix_batch, mixed_loss, read_logits
from .schedule import Schedule, learning_rate_share

__all__ = [
    "Images",
    "Nets",
    "StepMetrics",
    "StepSpec",
    "features_of",
    "initial_nets",
    "logits_of",
    "mixing_layers",
    "net_of",
    "step",
]

_ROWS_AT_ONCE = 500  # of an evaluation


class Nets(NamedTuple):
    """The state of training: parameters, running statistics, and the optimizer's momentum."""

    params: Any
    statistics: Any
    momentum: Any


class StepMetrics(NamedTuple):
    """Metrics of a mixed batch: the mean loss, and the share of the targets that the predicted class has."""

    loss: Float[Array, "..."]
    accuracy: Float[Array, "..."]


class Images(NamedTuple):
    """The raw training images on the device, and the scale by which any images are normalized."""

    pixels: UInt8[Array, "N H W C"]
    scale: Scale


class StepSpec(NamedTuple):
    """The static facts that a step is compiled for: plain values, equal for nets that may share a program."""

    recipe: Recipe
    image_shape: tuple[int, int, int]
    num_classes: int
    batch_layout: Sharding | None = None

    def build(self, key: jax.Array) -> nnx.Module:
        """Return a net before training."""
        dtype = jnp.dtype(self.recipe.dtype)
        return self.recipe.net.build(self.image_shape, self.num_classes, dtype, rngs=nnx.Rngs(key))

    def spread(self, images: jax.Array) -> jax.Array:
        """Spread images over the devices, if there is a layout; XLA spreads the rest of the step alike."""
        return images if self.batch_layout is None else jax.lax.with_sharding_constraint(images, self.batch_layout)


@lru_cache(maxsize=64)
def _structure(spec: StepSpec) -> Any:
    """Return a net without its numbers, which go with it in `nnx.merge`."""
    return nnx.split(_abstract(spec), nnx.Param, nnx.BatchStat)[0]


@lru_cache(maxsize=64)
def mixing_layers(spec: StepSpec) -> int:
    """Return at how many positions the net lets manifold Mixup mix."""
    return _abstract(spec).mixing_layers


def _abstract(spec: StepSpec) -> Any:
    return nnx.eval_shape(lambda: spec.build(jax.random.key(0)))


def initial_nets(spec: StepSpec, seed: int) -> Nets:
    """Return a net before training, a function of the seed."""
    _, *parts = nnx.split(spec.build(stream_key(seed, Stream.INIT)), nnx.Param, nnx.BatchStat)
    params, statistics = parts
    return Nets(params, statistics, _transformation(spec.recipe.optimizer).init(params))


def step(
    spec: StepSpec,
    images: Images,
    nets: Nets,
    member: Members,
    order: jax.Array,
    draw: StepDraw,
    epoch: jax.Array,
    index: jax.Array,
) -> tuple[Nets, StepMetrics]:
    """Train on a batch: number `index` of an epoch whose rows come in `order`."""
    inputs, targets = _batch(spec, images, member, order, epoch, index)
    inputs, targets, hook = mix_batch(spec.recipe.mixing, draw, inputs, targets)

    def loss_of(params: Any) -> tuple[jax.Array, tuple[Any, jax.Array]]:
        net = nnx.merge(_structure(spec), params, nets.statistics, copy=True)  # statistics that this trace may change
        net.train()
        logits = read_logits(draw, net(inputs, hook))
        return mixed_loss(draw, logits, targets), (nnx.state(net, nnx.BatchStat), logits)

    (loss, (statistics, logits)), gradient = jax.value_and_grad(loss_of, has_aux=True)(nets.params)
    updates, momentum = _transformation(spec.recipe.optimizer).update(gradient, nets.momentum, nets.params)
    updates = _scheduled(spec.recipe.optimizer, updates, epoch)
    predicted = jax.nn.one_hot(logits.argmax(-1), spec.num_classes, dtype=jnp.float32)
    accuracy = jnp.sum(targets * predicted, -1).mean()
    return Nets(optax.apply_updates(nets.params, updates), statistics, momentum), StepMetrics(loss, accuracy)


def logits_of(spec: StepSpec, scale: Scale, nets: Nets, inputs: Pixels) -> Float[Array, "M K"]:
    """Return the logits of images that are not normalized, by the net in evaluation mode, a batch at a time."""
    return _evaluated(spec, scale, net_of(spec, nets), inputs)


def features_of(spec: StepSpec, scale: Scale, nets: Nets, inputs: Pixels) -> Float[Array, "M F"]:
    """Return the inputs of the last layer, for images that are not normalized, a batch at a time."""
    net = net_of(spec, nets)
    net.head = lambda features: features
    return _evaluated(spec, scale, net, inputs)


def net_of(spec: StepSpec, nets: Nets) -> Any:
    """Return the net in evaluation mode; it takes images that are normalized."""
    net = nnx.merge(_structure(spec), nets.params, nets.statistics)
    net.eval()
    return net


def _evaluated(spec: StepSpec, scale: Scale, net: Any, inputs: Pixels) -> jax.Array:
    return in_batches(lambda rows: net(spec.spread(normalize(rows, scale))), inputs, min(_ROWS_AT_ONCE, len(inputs)))


def _batch(
    spec: StepSpec, images: Images, member: Members, order: jax.Array, epoch: jax.Array, index: jax.Array
) -> tuple[Float[Array, "B H W C"], Float[Array, "B K"]]:
    """Return normalized images and targets of a step, one-hot or smoothed."""
    recipe = spec.recipe
    inputs, labels = batch(images.pixels, member.labels, order, index, recipe.batch_size)
    if recipe.augment != "none":
        key = stream_key(member.seed, Stream.AUGMENT, epoch, index)
        padding = max(1, inputs.shape[1] // 8)  # 4 of 32 pixels, as in the paper
        inputs = augment(key, inputs, crop_padding=padding, flip=recipe.augment == "crop+flip")
    targets = jax.nn.one_hot(labels, spec.num_classes, dtype=jnp.float32)
    return spec.spread(normalize(inputs, images.scale)), smooth(targets, recipe.smoothing)


def _scheduled(optimizer: Optimizer, updates: Any, epoch: jax.Array) -> Any:
    """Return the updates of an epoch; where the rate is constant, to the last bit."""
    if optimizer.schedule == Schedule():
        return updates
    share = learning_rate_share(optimizer.schedule, epoch)
    return jax.tree.map(lambda update: share.astype(update.dtype) * update, updates)


def _transformation(optimizer: Optimizer) -> optax.GradientTransformation:
    decay = [optax.add_decayed_weights(optimizer.weight_decay)] if optimizer.weight_decay else []
    return optax.chain(*decay, optax.sgd(optimizer.learning_rate, optimizer.momentum))
