"""The steps of an epoch and the logits of all nets of a job, compiled.

What makes it fast. Nets of one shape are one array program (`vmap`), except convolutional ones and, on a CPU, wide
ones, which are trained in turn. The steps of an epoch follow each other in `lax.scan`, a few hundred at a time, except
those of a convolutional net on a CPU, where XLA's convolutions inside a loop are slow (jax-ml/jax#12868): there a call
makes one step, or four unrolled ones of a small net. Parameters are donated. What is random is drawn for a whole epoch
at once, apart from the nets, as a function of (seed, epoch, step): nothing is carried, and nothing of it is compiled
again for another net.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Sharding
from jaxtyping import Array, Float

from ..data.pipeline import Pixels, Scale, epoch_order, steps_per_epoch
from ..data.streams import Stream, stream_key
from ..nets.shapes import MLPShape
from .job import Recipe
from .members import Members
from .mixing import Mixing, StepDraw, draw_step
from .step import Images, Nets, StepMetrics, StepSpec, features_of, initial_nets, logits_of, mixing_layers, step

__all__ = ["ENOUGH_STEPS", "TrainingProgram"]

_STEPS_AT_ONCE = 250
_UNROLLED_STEPS = 4
ENOUGH_STEPS = 32  # of an epoch: in fewer, unrolled steps hardly repay the seconds that they take to compile
_SMALL = 2**20  # parameters
_WIDE = 400  # units


class TrainingProgram:
    """The functions of a recipe on training images; leaves of nets and metrics begin with the axis of the members.

    Args:
      recipe: of the nets.
      images: raw training images and the scale of their pixels, on the device.
      num_classes: K.
      batch_layout: over which devices the rows of a batch are spread, if they are.
    """

    def __init__(self, recipe: Recipe, images: Images, num_classes: int, batch_layout: Sharding | None = None):
        height, width, channels = images.pixels.shape[1:]
        self.spec = StepSpec(recipe, (height, width, channels), num_classes, batch_layout)
        self.images = images
        self.compiled = compiled(self.spec)

    def start(self, seeds: Sequence[int]) -> Nets:
        """Return a net for each seed, before training; those of the same seed are the same."""
        nets = {seed: self.compiled.start(seed) for seed in set(seeds)}
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *(nets[seed] for seed in seeds))

    def epoch(self, nets: Nets, members: Members, epoch: int, size: int) -> Iterator[tuple[Nets, StepMetrics]]:
        """Train on the first `size` of the members' rows, once, in a new order; yield after each compiled call.

        The nets that are given are used up. Rows that do not fill a batch are left for another epoch's order. Metrics
        have shape [members, steps].
        """
        number, compiled = np.uint32(epoch), self.compiled
        steps = steps_per_epoch(size, self.spec.recipe.batch_size)
        orders, draws = epoch_orders(members, number, size), compiled.draws(steps, members, number)
        at_once = self.steps_at_once(steps)
        for first in range(0, steps, at_once):
            part = slice(first, min(first + at_once, steps))
            batches = (np.arange(steps, dtype=np.int32)[part], jax.tree.map(itemgetter((slice(None), part)), draws))
            nets, metrics = compiled.steps(self.images, nets, members, orders, number, batches)
            yield nets, metrics

    def steps_at_once(self, steps: int) -> int:
        """Return how many of the steps of an epoch a compiled call makes.

        XLA takes fresh memory for each call, and four steps of a small net need little more of it than one. On two
        cores a ResNet-18 with a quarter of the channels then takes 14 % less time, one with half of them 0 to 8 %, and
        the whole net no less.
        """
        if not _loops_are_slow(self.spec):
            return _STEPS_AT_ONCE
        small = self.spec.recipe.net.parameter_count(self.spec.image_shape, self.spec.num_classes) <= _SMALL
        return _UNROLLED_STEPS if small and steps >= ENOUGH_STEPS else 1

    def logits(self, nets: Nets, inputs: np.ndarray | Pixels) -> Float[Array, "members M K"]:
        """Return the logits of images [M, H, W, C] that are not normalized, by nets in evaluation mode."""
        return self.compiled.logits(self.images.scale, nets, inputs)

    def features(self, nets: Nets, inputs: np.ndarray | Pixels) -> Float[Array, "members M F"]:
        """Return the inputs of the last layer, for images that are not normalized."""
        return self.compiled.features(self.images.scale, nets, inputs)


class Compiled(NamedTuple):
    """The functions of a spec, compiled at their first call and shared by all programs of this spec."""

    start: Callable[[int], Nets]
    draws: Callable[[int, Members, np.uint32], StepDraw]
    steps: Callable[..., tuple[Nets, StepMetrics]]
    logits: Callable[..., jax.Array]
    features: Callable[..., jax.Array]


@lru_cache(maxsize=64)
def compiled(spec: StepSpec) -> Compiled:
    """Return the functions of a spec."""
    recipe = spec.recipe
    sizes = (recipe.batch_size, spec.image_shape[:2], mixing_layers(spec))

    def outputs(of_net: Callable[..., jax.Array], scale: Scale, nets: Nets, inputs: Pixels) -> jax.Array:
        return _over_members(spec, lambda net: of_net(spec, scale, net, inputs), nets)

    return Compiled(
        partial(initial_nets, spec),
        partial(epoch_draws, recipe.mixing, sizes),
        jax.jit(partial(_steps, spec), donate_argnames="nets"),
        jax.jit(partial(outputs, logits_of)),
        jax.jit(partial(outputs, features_of)),
    )


def _loops_are_slow(spec: StepSpec) -> bool:
    return not spec.recipe.net.vectorized and jax.default_backend() == "cpu"


def _steps(
    spec: StepSpec,
    images: Images,
    nets: Nets,
    members: Members,
    orders: jax.Array,
    epoch: jax.Array,
    batches: tuple[jax.Array, StepDraw],
) -> tuple[Nets, StepMetrics]:
    indices, draws = batches

    def train(net: Nets, member: Members, order: jax.Array, draws: StepDraw) -> tuple[Nets, StepMetrics]:
        def one_step(net: Nets, batch: tuple[jax.Array, StepDraw]) -> tuple[Nets, StepMetrics]:
            index, draw = batch
            return step(spec, images, net, member, order, draw, epoch, index)

        unroll = _UNROLLED_STEPS if _loops_are_slow(spec) else 1  # True would leave a loop around a single step
        return jax.lax.scan(one_step, net, (indices, draws), unroll=unroll)

    if _in_turn(spec) and len(members.seed) > 1:
        return _train_in_turn(train, nets, members, orders, draws)
    return _over_members(spec, train, nets, members, orders, draws)


def _train_in_turn(train: Callable[..., tuple[Nets, StepMetrics]], nets: Nets, *arguments: Any) -> Any:
    """Train each member in turn; write its net where it was, so that there is no second copy of all nets."""

    def train_one(nets: Nets, member: tuple[Any, ...]) -> tuple[Nets, StepMetrics]:
        index, *own = member
        net, metrics = train(jax.tree.map(lambda leaf: leaf[index], nets), *own)
        return jax.tree.map(lambda leaf, new: leaf.at[index].set(new), nets, net), metrics

    return jax.lax.scan(train_one, nets, (jnp.arange(len(arguments[0].seed)), *arguments))


def _over_members(spec: StepSpec, function: Callable[..., Any], nets: Nets, *arguments: Any) -> Any:
    """Call `function` for each member: for the one that there is, in turn, or side by side."""
    if len(jax.tree.leaves(nets)[0]) == 1:
        return jax.tree.map(lambda leaf: leaf[None], function(*jax.tree.map(lambda leaf: leaf[0], (nets, *arguments))))
    if _in_turn(spec):
        return jax.lax.map(lambda each: function(*each), (nets, *arguments))
    return jax.vmap(function)(nets, *arguments)


def _in_turn(spec: StepSpec) -> bool:
    """Return whether members are trained one after another: convolutional nets, and wide ones where this is faster.

    XLA's batched products of wide layers are slow on a CPU. Measured with 8 layers, batches of 64 and ten nets on two
    cores, nets in turn take 7 % more time at 300 units, as much at 400 and 27 % less at 1,000 (28x28 inputs); with
    32x32x3 inputs, 13 % more at 200 and 23 % less at 400.
    """
    net = spec.recipe.net
    if not isinstance(net, MLPShape):
        return True
    return jax.default_backend() == "cpu" and jax.device_count() == 1 and net.width >= _WIDE


@partial(jax.jit, static_argnames="size")
def epoch_orders(members: Members, epoch: jax.Array, size: int) -> jax.Array:
    """Return the first `size` rows of each member in the order of the epoch."""
    return jax.vmap(lambda seed, rows: rows[epoch_order(seed, epoch, size)])(members.seed, members.rows)


@partial(jax.jit, static_argnums=(0, 1, 2))
def epoch_draws(mixing: Mixing, sizes: tuple[Any, ...], steps: int, members: Members, epoch: jax.Array) -> StepDraw:
    """Draw for each member, and then each step, how its batch is mixed.

    Apart from the nets: a Beta variable takes longer to compile than a net, and is cheaper by the hundred.
    """

    def draw(seed: jax.Array, alpha: jax.Array, index: jax.Array) -> StepDraw:
        return draw_step(mixing, stream_key(seed, Stream.MIX, epoch, index), alpha, *sizes)

    by_step = jax.vmap(draw, in_axes=(None, None, 0))
    return jax.vmap(by_step, in_axes=(0, 0, None))(members.seed, members.alpha, jnp.arange(steps, dtype=jnp.int32))
