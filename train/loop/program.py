"""The steps of an epoch and the logits of all nets of a job, compiled.

What makes it fast. Nets of one shape are one array program (`vmap`), except convolutional ones. The steps of an epoch
follow each other in `lax.scan`, a few hundred at a time, except those of a convolutional net on a CPU, where XLA's
convolutions inside a loop are 16 to 43 times slower (jax-ml/jax#12868) and each step is a call. Parameters are
donated. What is random is drawn for a whole epoch at once, apart from the nets, as a function of (seed, epoch, step):
nothing is carried, and nothing of it is compiled again for another net.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Sharding
from jaxtyping import Array, Float, UInt8

from ..data.pipeline import Pixels, Scale, epoch_order, steps_per_epoch
from ..data.streams import Stream, stream_key
from .job import Recipe
from .members import Lanes
from .mixing import Mixing, StepDraw, draw_step
from .placement import fetched
from .step import Nets, Plan, StepFigures, logits_of, mixing_places, start, step

__all__ = ["Program"]

_STEPS_AT_ONCE = 250


class Program:
    """The functions of a recipe on a training set; leaves of nets and figures begin with the axis of the lanes.

    Args:
      recipe: of the nets.
      inputs: raw training images, on the device.
      scale: of their pixels.
      num_classes: K.
      batch_layout: over which devices the rows of a batch are spread, if they are.
    """

    def __init__(
        self,
        recipe: Recipe,
        inputs: UInt8[Array, "N H W C"],
        scale: Scale,
        num_classes: int,
        batch_layout: Sharding | None = None,
    ):
        height, width, channels = inputs.shape[1:]
        self.plan = Plan(recipe, (height, width, channels), num_classes, batch_layout)
        self.inputs, self.scale = inputs, scale
        slow_loops = not recipe.net.vectorized and jax.default_backend() == "cpu"
        self._steps_at_once = 1 if slow_loops else _STEPS_AT_ONCE

    def start(self, lanes: Lanes) -> Nets:
        """Nets before training; those of the same seed are the same."""
        seeds = fetched(lanes.seed)
        nets = {seed: start(self.plan, seed) for seed in np.unique(seeds)}
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *(nets[seed] for seed in seeds))

    def epoch(self, nets: Nets, lanes: Lanes, epoch: int, size: int) -> Iterator[tuple[Nets, StepFigures]]:
        """Train on the first `size` of the lanes' rows, once, in a new order; yields after a few hundred steps.

        The nets that are given are used up. Rows that do not fill a batch are left for another epoch's order. Figures
        have shape [lanes, steps].
        """
        number = np.uint32(epoch)
        steps = steps_per_epoch(size, self.plan.recipe.batch_size)
        orders, draws = _orders(lanes, number, size), _draws(self.plan, lanes, number, steps)
        for first in range(0, steps, self._steps_at_once):
            places = slice(first, min(first + self._steps_at_once, steps))
            now = (np.arange(steps, dtype=np.int32)[places], jax.tree.map(lambda leaf: leaf[places], draws))  # noqa: B023
            nets, figures = _steps(self.plan, self.inputs, self.scale, nets, lanes, orders, number, now)
            yield nets, figures

    def logits(self, nets: Nets, inputs: np.ndarray | Pixels) -> Float[Array, "lanes M K"]:
        """Of images [M, H, W, C] that are not normalised, by nets in evaluation mode."""
        return _logits(self.plan, self.scale, nets, inputs)


def _over_lanes(plan: Plan, function: Callable[..., Any], *arguments: Any) -> Any:
    """`function` of each lane: side by side, or of the one that there is."""
    if plan.recipe.net.vectorized:
        return jax.vmap(function)(*arguments)
    return jax.tree.map(lambda leaf: leaf[None], function(*jax.tree.map(lambda leaf: leaf[0], arguments)))


@partial(jax.jit, static_argnames="plan", donate_argnames="nets")
def _steps(
    plan: Plan,
    inputs: jax.Array,
    scale: Scale,
    nets: Nets,
    lanes: Lanes,
    orders: jax.Array,
    epoch: jax.Array,
    now: tuple[jax.Array, StepDraw],
) -> tuple[Nets, StepFigures]:
    def one_step(carried: Nets, now: tuple[jax.Array, StepDraw]) -> tuple[Nets, StepFigures]:
        place, draw = now
        of_lane = lambda net, lane, order, drawn: step(plan, inputs, scale, net, lane, order, drawn, epoch, place)  # noqa: E731
        return _over_lanes(plan, of_lane, carried, lanes, orders, draw)

    if len(now[0]) == 1:
        nets, figures = one_step(nets, jax.tree.map(lambda leaf: leaf[0], now))
        return nets, jax.tree.map(lambda leaf: leaf[:, None], figures)
    nets, figures = jax.lax.scan(one_step, nets, now)
    return nets, jax.tree.map(jnp.transpose, figures)


@partial(jax.jit, static_argnames="plan")
def _logits(plan: Plan, scale: Scale, nets: Nets, inputs: Pixels) -> jax.Array:
    return _over_lanes(plan, lambda net: logits_of(plan, scale, net, inputs), nets)


@partial(jax.jit, static_argnames="size")
def _orders(lanes: Lanes, epoch: jax.Array, size: int) -> jax.Array:
    """Of each lane: its first `size` rows in the order of the epoch."""
    return jax.vmap(lambda seed, rows: rows[epoch_order(seed, epoch, size)])(lanes.seed, lanes.rows)


def _draws(plan: Plan, lanes: Lanes, epoch: np.uint32, steps: int) -> StepDraw:
    """For each step, and then each lane: what is drawn to mix the batch."""
    sizes = (plan.recipe.batch_size, plan.image_shape[:2], mixing_places(plan))
    return _draws_of(plan.recipe.mixing, sizes, steps, lanes, epoch)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _draws_of(mixing: Mixing, sizes: tuple[Any, ...], steps: int, lanes: Lanes, epoch: jax.Array) -> StepDraw:
    """Apart from the nets: a Beta variable takes longer to compile than a net, and is cheaper by the hundred."""

    def draw(place: jax.Array, seed: jax.Array, alpha: jax.Array) -> StepDraw:
        return draw_step(mixing, stream_key(seed, Stream.MIX, epoch, place), alpha, *sizes)

    by_lane = jax.vmap(draw, in_axes=(None, 0, 0))
    return jax.vmap(by_lane, in_axes=(0, None, None))(jnp.arange(steps, dtype=jnp.int32), lanes.seed, lanes.alpha)
