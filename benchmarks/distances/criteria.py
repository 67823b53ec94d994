"""Distances of the law of h(x) given y to N(y theta*, I), each as a criterion that h_hat can be learned by.

Samples are a batch of each class, shape [2, N, p], first that of y = -1; means are those of the targets, shape [2, p].
Some distances are a maximum themselves, over what is here an opponent and is trained along with h_hat.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from mixjax.generative.wasserstein import class_distances, sliced_distances
from mixjax.random import normal


class Criterion(NamedTuple):
    """A distance for each class, and who it is learned against.

    Attributes:
      distances: (key, opponent, samples, means) -> those of the two classes.
      opponent: (key, p) -> where it starts.
      improve: (key, opponent, samples, means) -> a better one, called `turns` times a step.
      momentum, rates: of the Adam that trains h_hat; which learning rates are tried.
    """

    distances: Callable[..., jax.Array]
    opponent: Callable[[jax.Array, int], Any] = lambda key, p: ()
    improve: Callable[..., Any] = lambda key, opponent, samples, means: opponent
    turns: int = 0
    momentum: float = 0.9
    rates: tuple[float, ...] = (1e-3, 3e-3)


def criteria() -> dict[str, Criterion]:
    """By name, that of `learn_inverse` first; without the Sinkhorn divergence where OTT is not installed."""
    found = {
        "sliced, a fifth along theta*": Criterion(_as_learned),
        "sliced": Criterion(_sliced),
        "max-sliced": Criterion(_max_sliced, _directions, _turned, turns=1),
        "critic with a gradient penalty": Criterion(
            _critic_gap, _critics, _trained, turns=5, momentum=0.5, rates=(3e-4, 1e-3)
        ),
    }
    if importlib.util.find_spec("ott") is not None:
        found["Sinkhorn divergence (OTT)"] = Criterion(_sinkhorn, rates=(3e-3, 1e-2))
    return found


def _frame(key: jax.Array, p: int) -> jax.Array:
    """p orthonormal slices."""
    return jnp.linalg.qr(normal(key, (p, p), np.float32))[0].T


def _as_learned(key: jax.Array, _: Any, samples: jax.Array, means: jax.Array) -> jax.Array:
    return class_distances(samples[0], samples[1], means[1], _frame(key, means.shape[1]))


def _sliced(key: jax.Array, _: Any, samples: jax.Array, means: jax.Array) -> jax.Array:
    return jnp.mean(jax.vmap(sliced_distances, (0, 0, None))(samples, means, _frame(key, means.shape[1])), axis=1)


# --- the largest of four slices, which are turned towards where the laws differ most ---------------------


def _directions(key: jax.Array, p: int) -> jax.Array:
    return _unit(normal(key, (2, 4, p), np.float32).at[:, 0].set(1.0))  # one at theta*


def _unit(vectors: jax.Array) -> jax.Array:
    return vectors / jnp.maximum(jnp.linalg.norm(vectors, axis=-1, keepdims=True), np.float32(1e-9))


def _max_sliced(_: jax.Array, directions: jax.Array, samples: jax.Array, means: jax.Array) -> jax.Array:
    return jnp.max(jax.vmap(sliced_distances)(samples, means, directions), axis=1)


def _turned(_: jax.Array, directions: jax.Array, samples: jax.Array, means: jax.Array) -> jax.Array:
    """Each by 0.1 along its gradient."""
    ascent = jax.grad(lambda chosen: jnp.sum(jax.vmap(sliced_distances)(samples, means, _unit(chosen))))(directions)
    return _unit(directions + np.float32(0.1) * _unit(ascent))


# --- W_1 by a critic of each class, as in WGAN-GP (I. Gulrajani et al., NeurIPS 2017) --------------------

_WIDTH, _PENALTY = 64, np.float32(10)


def _adam() -> Any:
    return optax.adam(1e-3, b1=0.5, b2=0.9)


def _critics(key: jax.Array, p: int) -> Any:
    """Weights of both, and the state of their Adam."""
    sizes = (p, _WIDTH, _WIDTH, 1)
    shapes = list(pairwise(sizes))
    keys = jax.random.split(key, len(shapes))
    weights = [normal(k, (2, *shape), np.float32) * np.float32((2 / shape[0]) ** 0.5)
               for k, shape in zip(keys, shapes, strict=True)]  # fmt: skip
    start = (weights, [jnp.zeros((2, 1, out), np.float32) for _, out in shapes])
    return start, _adam().init(start)


def _value(weights: Any, samples: jax.Array) -> jax.Array:
    """Of each sample by its class's critic, shape [2, N]."""
    for number, (matrix, bias) in enumerate(zip(*weights, strict=True)):
        samples = jnp.matmul(jax.nn.leaky_relu(samples) if number else samples, matrix) + bias
    return samples[..., 0]


def _targets(key: jax.Array, samples: jax.Array, means: jax.Array) -> jax.Array:
    return means[:, None] + normal(key, samples.shape, np.float32)


def _critic_gap(key: jax.Array, opponent: Any, samples: jax.Array, means: jax.Array) -> jax.Array:
    weights, _ = opponent
    return jnp.mean(_value(weights, _targets(key, samples, means)) - _value(weights, samples), axis=1)


def _trained(key: jax.Array, opponent: Any, samples: jax.Array, means: jax.Array) -> Any:
    """One step of Adam on the gap, less the penalty for slopes between samples and targets that are not 1."""
    (weights, moments), (key_targets, key_between) = opponent, jax.random.split(key)
    targets = _targets(key_targets, samples, means)
    share = jax.random.uniform(key_between, (*samples.shape[:2], 1), np.float32)
    between = share * samples + (1 - share) * targets

    def loss(weights: Any) -> jax.Array:
        slopes = jnp.linalg.norm(jax.grad(lambda where: jnp.sum(_value(weights, where)))(between), axis=-1)
        gap = jnp.mean(_value(weights, targets) - _value(weights, samples), axis=1)
        return jnp.sum(_PENALTY * jnp.mean((slopes - 1) ** 2, axis=1) - gap)

    updates, moments = _adam().update(jax.grad(loss)(weights), moments)
    return jax.tree.map(jnp.add, weights, updates), moments


# --- entropic transport to as many draws of the target, in its debiased form -----------------------------


def _sinkhorn(key: jax.Array, _: Any, samples: jax.Array, means: jax.Array) -> jax.Array:
    from ott.tools.sinkhorn_divergence import sinkdiv

    targets, solve = _targets(key, samples, means), {"max_iterations": 30, "threshold": 1e-2}
    return jnp.stack([sinkdiv(a, b, static_b=True, solve_kwargs=solve)[0]
                      for a, b in zip(samples, targets, strict=True)])  # fmt: skip
