"""Temperature scaling fitted on held-out points, exact at every size: the rival of Mixup in the Gaussian model.

Not in the paper, whose Mixup estimator is nearly a temperature itself, 1/(1-t) (`limits`). A temperature T divides
the score; the fit minimizes the negative log likelihood of m held-out points, mean log(1 + exp(-2 y v / T)). Given
theta_hat, y v ~ N(m, w), so that y v / sqrt(w) = z + N(0, 1) with z = m / sqrt(w), and in b = sqrt(w) / T

    b = argmin over [0, inf] of sum_i log(1 + exp(-2 b u_i)),    u_i = z + noise_i,

the scaled score has the law N(b z, b^2), whose gap is b (b - z). A training set thus contributes z alone, or its
accuracy Phi(z): two classifiers of one accuracy are the same after temperature scaling. The population's best is b = z.

The derivative of the sum is concave in b >= 0: Newton's steps from any start go below the root and then rise to it.
Each pass draws the held-out points again, from their numbers: memory does not grow with m, and time is O(m).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from mixjax.gaussian.law import ScoreLaw, checked_law
from mixjax.gaussian.population import population_accuracy, population_ece
from mixjax.gaussian.training_sets import TrainingSets
from mixjax.numerics.arguments import aligned, checked
from mixjax.numerics.threefry import Source
from mixjax.random import normals
from mixjax.typing import ArrayLike

_PURPOSE = 16  # of the words that held-out points are made of


class TemperatureFit(NamedTuple):
    """The temperature of each training set and its score before and after; all arrays of one shape. A pytree.

    Attributes:
      before: the law of the score.
      temperature: T in [0, inf]: 0 where every held-out point is right, inf where they are wrong on average.
      after: the law of the score / T, NaN where T is 0 or inf (see `scaled_ece`).

    Example:
      >>> import jax
      >>> from mixjax.gaussian import sample_training_sets, scale_on_held_out
      >>> sets = sample_training_sets(jax.random.key(0), n=4, p=2, theta_norm=1.0, replicates=3)
      >>> scale_on_held_out(sets, sets.scores(0.0), n_held_out=20).temperature.shape
      (3,)
    """

    before: ScoreLaw
    temperature: Float[Array, "*batch"]
    after: ScoreLaw


def scaled_ece(fit: TemperatureFit) -> Float[Array, "*batch"]:
    """Compute the ECE after temperature scaling; its limits are 1 - accuracy at T = 0 and |accuracy - 1/2| at inf.

    Args:
      fit: of `scale_on_held_out`.

    Returns:
      ECE of the fit's shape; NaN where the temperature is.

    Example:
      >>> import jax.numpy as jnp
      >>> from mixjax.gaussian import ScoreLaw, TemperatureFit, scaled_ece
      >>> law = ScoreLaw.from_moments(1.0, 2.0)  # N(1, 2)
      >>> round(float(scaled_ece(TemperatureFit(law, jnp.array(2.0), ScoreLaw.from_moments(0.5, 0.5)))), 3)
      0.0
    """
    accuracy = population_accuracy(fit.before)
    at_end = jnp.where(fit.temperature == 0, 1.0 - accuracy, jnp.abs(accuracy - 0.5))
    inside = (fit.temperature > 0) & (fit.temperature < jnp.inf)
    return jnp.where(inside, population_ece(fit.after), jnp.where(jnp.isnan(fit.temperature), jnp.nan, at_end))


def at_best_temperature(law: ScoreLaw) -> ScoreLaw:
    """Return the law of the score divided by its best temperature, var / mean: N(z^2, z^2) with z^2 = mean^2 / var.

    Only z remains of a classifier, that is, its accuracy: this is temperature scaling on infinitely many held-out
    points.

    Args:
      law: of the score.

    Returns:
      Laws of its shape, calibrated. A score that is wrong on average, or has mean 0, is left without confidence (z is
      1e-6, since a law without variance has no NLL). NaN where the law is NaN.

    Example:
      >>> from mixjax.gaussian import ScoreLaw, at_best_temperature
      >>> scaled = at_best_temperature(ScoreLaw.from_moments(2.0, 8.0))
      >>> round(float(scaled.mean), 6), round(float(scaled.var), 6)
      (0.5, 0.5)
    """
    law = checked_law(law)
    square = jnp.maximum(law.mean / jnp.sqrt(law.var), 1e-6) ** 2
    return ScoreLaw(square, jnp.zeros_like(square))


def scale_on_held_out(sets: TrainingSets, law: ScoreLaw, *, n_held_out: ArrayLike) -> TemperatureFit:
    """Fit a temperature for each training set, on its own held-out points.

    The held-out points of a set are the same for every law and every n_held_out, the smaller the first of the larger.
    Only their noise along theta_hat is kept: each fit has the exact law, and differences between the laws of one set
    have the right mean, but not the right spread.

    Args:
      sets: training sets, shape [*cell, replicates].
      law: of their scores, at any weights; of a shape that broadcasts with [*cell, replicates].
      n_held_out: labeled points for the fit, beside the n that are trained on; whole numbers from 1 to 1e7, of a shape
        that broadcasts with [*cell]; data, so that changing it does not recompile.

    Returns:
      A fit of the broadcast shape, NaN where a law is.

    Accuracy (tests/gaussian/beyond/test_temperature.py): b within 1e-5 (float32) and 1e-11 (float64) of the minimum for
    its points, relative to the largest of itself, |z| and 0.01. Time: about five passes over the points, of some
    10 ns a point on a core (float32).

    Example:
      >>> import jax
      >>> from mixjax.gaussian import sample_training_sets, scale_on_held_out
      >>> sets = sample_training_sets(jax.random.key(0), n=4, p=2, theta_norm=1.0, replicates=3)
      >>> scale_on_held_out(sets, sets.scores(0.0), n_held_out=20).after.mean.shape
      (3,)
    """
    (points,) = checked(n_held_out=n_held_out)
    return _fit(sets, *aligned(*checked_law(law), points[..., None].astype(law.mean.dtype)))


@jax.jit
def _fit(sets: TrainingSets, mean: jax.Array, gap: jax.Array, n_held_out: jax.Array) -> TemperatureFit:
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
    """Sums over held-out points: of u s(-2bu), of u^2 s(2bu) s(-2bu) and of the noise; and the least noise."""

    slope: jax.Array
    curvature: jax.Array
    noise: jax.Array
    least: jax.Array


def _best_scale(source: Source, z: jax.Array, m: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return b - z and b, of the best b in [0, inf] for m points."""
    shape = jnp.broadcast_shapes(z.shape, m.shape, source.shape)
    z = jnp.broadcast_to(z, shape)
    least = -z  # of b - z
    # an error e becomes one of the order of e^2 with the next step, which is always taken
    enough = 3e-4 if z.dtype == jnp.float32 else 1e-6
    rounding = 4.0 * jnp.finfo(z.dtype).eps * jnp.maximum(jnp.abs(z), 1.0)  # a step can be as large, however small b is

    def unfinished(state: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        turn, _, open_ = state
        return jnp.any(open_) & (turn < _MAX_STEPS)

    def step(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        turn, excess, open_ = state
        sums = _sums(source, z, z + excess, m)
        change = jnp.where(open_, 0.5 * sums.slope / sums.curvature, 0.0)
        moved = jnp.maximum(excess + change, least)
        all_right, wrong_on_average = z + sums.least > 0, m * z + sums.noise <= 0
        moved = jnp.where(all_right, jnp.inf, jnp.where(wrong_on_average, least, moved))
        settled = jnp.abs(moved - excess) <= jnp.maximum(enough * (z + moved), rounding)
        settled = all_right | wrong_on_average | settled
        return turn + 1, moved, open_ & ~settled

    start = jnp.maximum(least, 0.0), ~jnp.isnan(z + m)
    _, excess, open_ = lax.while_loop(unfinished, step, (jnp.int32(0), *start))
    excess = jnp.where(open_ | jnp.isnan(z + m), jnp.nan, excess)
    return excess, jnp.where(excess == least, 0.0, z + excess)


_MAX_STEPS = 100


def _sums(source: Source, z: jax.Array, b: jax.Array, m: jax.Array) -> _Sums:
    """Pass over the held-out points once, two at a time, drawing the next two while the last two are summed.

    (Drawn where they are used, they would be drawn once for every use: a loop's state is computed once.)
    """
    noise_shape = jnp.broadcast_shapes(source.shape, m.shape)

    def next_two(turn: jax.Array, state: tuple[_Sums, Pair]) -> tuple[_Sums, Pair]:
        sums, two = state
        for number, noise in enumerate(two):
            index = (2 * turn - 2 + number).astype(z.dtype)
            sums = _add_point(sums, z, b, noise, (index >= 0) & (index < m))
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
