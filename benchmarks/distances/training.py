"""h_hat learned by any criterion: the training of `mixjax.generative.learn_inverse`, and an opponent's beside it."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from benchmarks.distances.criteria import Criterion
from mixjax.gaussian import class_mean, sample_data
from mixjax.generative import LeakyReluNetwork, density_error, simulate_scores
from mixjax.generative.simulation import Map
from mixjax.generative.start import affine_network, affine_start
from mixjax.sims.studies.learned_inverse import FAMILIES

BATCH = 256


class Problem(NamedTuple):
    """A generator, rows x = g(z) sorted by their label, how many of them are of class -1, theta*, and a start."""

    generator: Map
    rows: jax.Array
    lower: jax.Array
    theta: jax.Array
    start: LeakyReluNetwork


def problem(key: jax.Array, family: str, *, rows: int, p: int, d: int) -> Problem:
    """One to learn from; `learn_inverse` starts from the same network."""
    key_generator, key_rows, key_start = jax.random.split(key, 3)
    theta, generator = class_mean(p, 1.0), FAMILIES[family](key_generator, p, d)
    z, y = sample_data(key_rows, n=rows, theta=theta)
    x, labels = np.asarray(generator(z)), np.asarray(y)
    start = affine_network(key_start, affine_start(x, labels, np.asarray(theta)), width=64, num_hidden=2, slope=0.3)
    by_class = jnp.asarray(x[np.argsort(labels, kind="stable")], np.float32)
    return Problem(generator, by_class, jnp.int32((labels < 0).sum()), jnp.asarray(theta, np.float32), start)


@partial(jax.jit, static_argnames="criterion")
def train(
    key: jax.Array, given: Problem, rate: jax.Array, steps: jax.Array, *, criterion: Criterion
) -> LeakyReluNetwork:
    """So many steps of Adam with a cosine schedule from `rate`; neither number recompiles."""
    adam, means = optax.scale_by_adam(b1=criterion.momentum), jnp.stack([-given.theta, given.theta])

    def samples(key: jax.Array, weights: Any) -> jax.Array:
        key_lower, key_upper = jax.random.split(key)
        first = jax.random.randint(key_lower, (BATCH,), 0, given.lower)
        second = jax.random.randint(key_upper, (BATCH,), given.lower, len(given.rows))
        outputs = LeakyReluNetwork(*weights, given.start.slope)(given.rows[jnp.concatenate([first, second])])
        return outputs.reshape(2, BATCH, -1)

    def loss(weights: Any, key: jax.Array, opponent: Any) -> jax.Array:
        key_samples, key_distance = jax.random.split(key)
        return jnp.max(criterion.distances(key_distance, opponent, samples(key_samples, weights), means))

    def step(number: jax.Array, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        weights, moments, opponent = state
        last, *turns = jax.random.split(jax.random.fold_in(key, number), criterion.turns + 1)
        for key_samples, key_turn in map(jax.random.split, turns):
            opponent = criterion.improve(key_turn, opponent, samples(key_samples, weights), means)
        updates, moments = adam.update(jax.grad(loss)(weights, last, opponent), moments)
        speed = rate * (1 + jnp.cos(np.pi * (number / steps).astype(rate.dtype))) / 2
        return jax.tree.map(lambda old, update: old - speed * update, weights, updates), moments, opponent

    weights = (given.start.matrices, given.start.biases)
    opponent = criterion.opponent(jax.random.fold_in(key, steps), len(given.theta))
    learned, *_ = lax.fori_loop(0, steps, step, (weights, adam.init(weights), opponent))
    return LeakyReluNetwork(*learned, given.start.slope)


def quality(key: jax.Array, given: Problem, learned: LeakyReluNetwork, draws: int) -> tuple[float, float, float]:
    """E|delta_u| along theta* and on average in eight random directions, and the variance of a class along theta*."""
    key_directions, key_draws, key_rows = jax.random.split(key, 3)
    random = jax.random.normal(key_directions, (8, len(given.theta)), np.float32)
    directions = jnp.concatenate([given.theta[None], random])
    bins = simulate_scores(key_draws, given.generator, learned, directions, given.theta, num_draws=draws)
    worst = np.asarray(density_error(bins, directions, given.theta).absolute.value).max(axis=1)
    z, y = sample_data(key_rows, n=1 << 16, theta=given.theta)
    along = np.asarray(learned(given.generator(z)) @ given.theta)
    variance = np.mean([along[np.asarray(y) == label].var() for label in (-1, 1)])
    return float(worst[0]), float(worst[1:].mean()), float(variance)
