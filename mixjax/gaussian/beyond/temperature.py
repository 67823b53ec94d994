r"""Temperature scaling fitted on held-out points, exact at every size: the rival of Mixup in the Gaussian model.

Not in the paper, whose Mixup estimator is nearly a temperature itself, 1/(1-t) (`limits`). A temperature T divides
the score; fitted, it minimises the negative log likelihood of m held-out points, mean log(1 + exp(-2 y v / T)). Given
theta_hat, y v ~ N(m, w), so that y v / sqrt(w) = z + N(0, 1) with z = m / sqrt(w), and in b = sqrt(w) / T

    b = argmin over [0, inf] of sum_i log(1 + exp(-2 b u_i)),    u_i = z + noise_i,

the scaled score has the law N(b z, b^2), whose gap is b (b - z). So what a training set contributes is z alone, or its
accuracy Phi(z): two classifiers of one accuracy are the same after temperature scaling. The population's best is b = z.

The derivative of the sum is concave in b >= 0: Newton's steps from any start go below the root and then rise to it.
Held-out points are drawn again in every pass, from their numbers: memory does not grow with m, and time is O(m).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from mixjax.gaussian.law import ScoreLaw, checked_law
from mixjax.gaussian.population import population_accuracy, population_ece
from mixjax.gaussian.training_sets import TrainingSets
from mixjax.numerics.arguments import aligned, checked
from mixjax.numerics.threefry import Source
from mixjax.random import normals

__all__ = ["TemperatureFit", "scale_on_held_out", "scaled_ece"]

_PURPOSE = 16  # of the words that held-out points are made of


class TemperatureFit(NamedTuple):
    """What temperature scaling does to the score of each training set; all arrays of one shape.

    before: the law of the score. temperature: T of the fit, in [0, inf]: 0 where every held-out point is right, inf
    where they are wrong on average. after: the law of the score / T, NaN where T is 0 or inf (see `scaled_ece`).
    """

    before: ScoreLaw
    temperature: Float[Array, "*batch"]
    after: ScoreLaw


def scaled_ece(fit: TemperatureFit) -> Float[Array, "*batch"]:
    """ECE after temperature scaling, with its limits at the ends: 1 - accuracy at T = 0, |accuracy - 1/2| at inf."""
    accuracy = population_accuracy(fit.before)
    at_end = jnp.where(fit.temperature == 0, 1.0 - accuracy, jnp.abs(accuracy - 0.5))
    inside = (fit.temperature > 0) & (fit.temperature < jnp.inf)
    return jnp.where(inside, population_ece(fit.after), jnp.where(jnp.isnan(fit.temperature), jnp.nan, at_end))


def scale_on_held_out(sets: TrainingSets, law: ScoreLaw, *, n_held_out: ArrayLike) -> TemperatureFit:
    r"""A temperature for each training set, fitted on held-out points of its own.

    The held-out points of a set are the same for every law and every n_held_out, the smaller the first of the larger;
    that is, their noise along theta_hat is: each fit has the exact law, and differences between the laws of one set
    have the right mean, but not the right spread.

    Args:
      sets: training sets, shape [*cell, replicates].
      law: of their scores, at any weights; of a shape that broadcasts with [*cell, replicates].
      n_held_out: labelled points for the fit, beside the n that are trained on; whole numbers from 1 to 1e7, of a shape
        that broadcasts with [*cell].

    Returns:
      A fit of the broadcast shape, NaN where a law is.

    Raises:
      ValueError: for an n_held_out out of its range (NaN under `jit`).

    Accuracy (tests/gaussian/beyond/test_temperature.py): b within 1e-5 (float32) and 1e-11 (float64) of the minimum for
    its points, relative to the largest of itself, |z| and 0.01. Time: about five passes over the points, of some
    10 ns a point on a core (float32). n_held_out is data: changing it does not recompile.
    """
    (points,) = checked(n_held_out=n_held_out)
    return _fitted(sets, *aligned(*checked_law(law), points[..., None].astype(law.mean.dtype)))


@jax.jit
def _fitted(sets: TrainingSets, mean: jax.Array, gap: jax.Array, n_held_out: jax.Array) -> TemperatureFit:
    law = ScoreLaw(mean, gap)
    deviation = jnp.sqrt(law.var)
    z = mean / deviation
    excess, best = _best_scale(sets.source(_PURPOSE, z), z, n_held_out)
    after = ScoreLaw(*(jnp.where((best > 0) & (best < jnp.inf), part, jnp.nan) for part in (best * z, best * excess)))
    temperature = deviation / best
    before = ScoreLaw(*(jnp.where(jnp.isnan(temperature), jnp.nan, part) for part in law))
    return TemperatureFit(before, temperature, after)


Pair = tuple[jax.Array, jax.Array]


class _Sums(NamedTuple):
    """Over held-out points: of u s(-2bu) and of u^2 s(2bu) s(-2bu), and of the noise its sum and least value."""

    slope: jax.Array
    curvature: jax.Array
    noise: jax.Array
    least: jax.Array


def _best_scale(source: Source, z: jax.Array, m: jax.Array) -> tuple[jax.Array, jax.Array]:
    """b - z and b, of the best b in [0, inf] for m points."""
    shape = jnp.broadcast_shapes(z.shape, m.shape, source.shape)
    z = jnp.broadcast_to(z, shape)
    least = -z  # of b - z
    # an error e becomes one of the order of e^2 with the next step, which is always taken
    enough = 3e-4 if z.dtype == jnp.float32 else 1e-6

    def again(state: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        turn, _, open_ = state
        return jnp.any(open_) & (turn < _MOST_TURNS)

    def step(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        turn, excess, open_ = state
        sums = _sums(source, z, z + excess, m)
        change = jnp.where(open_, 0.5 * sums.slope / sums.curvature, 0.0)
        moved = jnp.maximum(excess + change, least)
        all_right, wrong_on_average = z + sums.least > 0, m * z + sums.noise <= 0
        moved = jnp.where(all_right, jnp.inf, jnp.where(wrong_on_average, least, moved))
        settled = all_right | wrong_on_average | (jnp.abs(moved - excess) <= enough * (z + moved))
        return turn + 1, moved, open_ & ~settled

    start = jnp.maximum(least, 0.0), ~jnp.isnan(z + m)
    _, excess, open_ = lax.while_loop(again, step, (jnp.int32(0), *start))
    excess = jnp.where(open_ | jnp.isnan(z + m), jnp.nan, excess)
    return excess, jnp.where(excess == least, 0.0, z + excess)


_MOST_TURNS = 100


def _sums(source: Source, z: jax.Array, b: jax.Array, m: jax.Array) -> _Sums:
    """One pass over the held-out points, two at a time, which are drawn while the two before are summed.

    (Drawn where they are used, they would be drawn once for every use: a loop's state is computed once.)
    """
    noise_shape = jnp.broadcast_shapes(source.shape, m.shape)

    def next_two(turn: jax.Array, state: tuple[_Sums, Pair]) -> tuple[_Sums, Pair]:
        sums, two = state
        for number, noise in enumerate(two):
            place = (2 * turn - 2 + number).astype(z.dtype)
            sums = _add_point(sums, z, b, noise, (place >= 0) & (place < m))
        return sums, normals(source, turn, z.dtype)

    zero, none, undrawn = (jnp.zeros(shape, z.dtype) for shape in (z.shape, noise_shape, source.shape))
    turns = jnp.ceil(0.5 * jnp.max(jnp.nan_to_num(m))).astype(np.int32)
    start = _Sums(zero, zero, none, none + jnp.inf), (undrawn, undrawn)
    return lax.fori_loop(jnp.int32(0), turns + 1, next_two, start)[0]


def _add_point(sums: _Sums, z: jax.Array, b: jax.Array, noise: jax.Array, counts: jax.Array) -> _Sums:
    u = z + noise
    wrong = 1.0 / (1.0 + jnp.exp(2.0 * b * u))  # s(-2bu)
    return _Sums(
        sums.slope + jnp.where(counts, u * wrong, 0.0),
        sums.curvature + jnp.where(counts, u * u * wrong * (1.0 - wrong), 0.0),
        sums.noise + jnp.where(counts, noise, 0.0),
        jnp.where(counts, jnp.minimum(sums.least, noise), sums.least),
    )
