"""One learned h_hat of the generative study: learn it, estimate classifiers on its features, and measure both.

g, the rows and the training are in float64, since in float32 the last digits, which differ from one kind of CPU to
another, decide which network the training ends at (`mixjax.generative.learned`). The rest is in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mixjax.gaussian import class_mean, population_ece, sample_data, score_law, weighted_estimator
from mixjax.generative import (
    LeakyReluNetwork,
    density_error,
    learn_inverse,
    max_lipschitz_ratio,
    sample_coupling,
    sample_leaky_relu,
    sample_linear,
    simulate_scores,
    simulated_ece,
)
from mixjax.generative.simulation import Map

from ..engine.keys import key_of
from ..engine.program import HostArrays

# u of E|delta_u|: theta*, the mean over random ones, and the mean over the plain classifiers
DIRECTIONS = ("along theta*", "random", "of the classifiers")
CLASSIFIERS = ("plain", "mixup")
MAPS = ("g", "h_hat", "h_hat after g")


class Setting(NamedTuple):
    """What all learned h_hat share: training sets of the classifiers, the model, and how much is drawn."""

    sizes: tuple[int, ...]
    p: int
    d: int
    theta_norm: float
    weight: float
    sets: int
    steps: int
    draws: int
    seed: int


FAMILIES: dict[str, Callable[[jax.Array, int, int], Map]] = {
    "linear": lambda key, p, d: sample_linear(key, p=p, d=d),
    "leaky-ReLU": lambda key, p, d: sample_leaky_relu(key, widths=(p, (p + d) // 2, d)),
    "coupling": lambda key, p, _: sample_coupling(key, p=p),
}


def _key(setting: Setting, *parts: object) -> jax.Array:
    """Return a key that follows from what is drawn."""
    return key_of(setting.seed, repr(parts))


def streams_of(rows: Iterable[int], seeds: int, setting: Setting) -> set[str]:
    """Return the names of all that is drawn for h_hat of these rows and seeds."""
    names = {repr(("directions",))}
    for family, seed in product(FAMILIES, range(seeds)):
        names.add(repr(("generator", family, seed)))
        names |= {repr(("training sets", family, n, seed)) for n in setting.sizes}
        names |= {repr((what, family, m, seed)) for what in ("rows", "learning", "draws") for m in rows}
    return names


def measure(family: str, rows: int, seed: int, setting: Setting) -> HostArrays:
    """Learn one h_hat, and measure it and its classifiers."""
    generator, inverse, learned, z, y = _learned(family, rows, seed, setting)
    theta, target = class_mean(setting.p, setting.theta_norm), class_mean(setting.p, 1.0)
    x = generator(z)
    estimates = [
        _estimates(_key(setting, "training sets", family, n, seed), generator, (inverse, learned), theta,
                   setting.weight, n=n, sets=setting.sets)
        for n in setting.sizes
    ]  # fmt: skip
    own = [jnp.stack([weighted_estimator(h(x), y, t) for t in (0.0, setting.weight)]) for h in (inverse, learned)]
    exact, found = (jnp.concatenate([own[i], *(e[i].reshape(-1, setting.p) for e in estimates)]) for i in (0, 1))
    directions = jax.random.normal(_key(setting, "directions"), (8, setting.p), target.dtype)
    probes = jnp.concatenate([target[None], directions])  # theta*, and eight at random
    key = _key(setting, "draws", family, rows, seed)
    bins = simulate_scores(key, generator, learned, jnp.concatenate([found, probes]), theta, num_draws=setting.draws)
    ece = simulated_ece(bins)
    delta = density_error(bins, jnp.concatenate([found, probes]), target)
    shape = (len(setting.sizes), setting.sets, 2)
    exact_ece = population_ece(score_law(exact, theta))
    return {
        "ece": np.asarray(ece.value[2 : len(found)]).reshape(shape),
        "exact": np.asarray(exact_ece[2:]).reshape(shape),
        "own_ece": np.asarray(ece.value[:2]),
        "own_exact": np.asarray(exact_ece[:2]),
        "simulation_se": np.asarray(ece.standard_error[: len(found)]).max(),
        "delta": _by_direction(delta.absolute.value, len(found)),
        "delta_square": _by_direction(delta.square.value, len(found)),
        **_stretches(generator, learned, z[:2048]),
    }


def _learned(family: str, rows: int, seed: int, setting: Setting) -> tuple[Any, ...]:
    """Return g, its inverse, the learned h_hat, and the z and y that it was learned from: learned in float64."""
    with jax.enable_x64(True):
        theta, target = class_mean(setting.p, setting.theta_norm), class_mean(setting.p, 1.0)
        generator = FAMILIES[family](_key(setting, "generator", family, seed), setting.p, setting.d)
        z, y = sample_data(_key(setting, "rows", family, rows, seed), n=rows, theta=theta)
        key = _key(setting, "learning", family, rows, seed)
        learned = learn_inverse(key, generator(z), y, theta=target, num_steps=setting.steps)
        return jax.tree.map(_single, (generator, generator.inverse(), learned, z, y))


def _single(array: jax.Array) -> jax.Array:
    return array.astype(np.float32) if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(np.int32)


@partial(jax.jit, static_argnames=("n", "sets"))
def _estimates(
    key: jax.Array, generator: Map, inverses: tuple[Map, ...], theta: jax.Array, weight: float, *, n: int, sets: int
) -> tuple[jax.Array, ...]:
    """Estimate theta_hat of each training set, plain and with Mixup, on the features of each inverse: [sets, 2, p]."""

    def of_set(key: jax.Array) -> tuple[jax.Array, ...]:
        z, y = sample_data(key, n=n, theta=theta)
        x = generator(z)
        return tuple(jnp.stack([weighted_estimator(h(x), y, t) for t in (0.0, weight)]) for h in inverses)

    return jax.vmap(of_set)(jax.random.split(key, sets))


def _by_direction(values: jax.Array, classifiers: int) -> np.ndarray:
    """Return the larger of both classes: along theta*, mean over random directions, and over plain classifiers."""
    worst = np.asarray(values).max(axis=1)
    return np.array([worst[classifiers], worst[classifiers + 1 :].mean(), worst[2:classifiers:2].mean()])


def _stretches(generator: Map, learned: LeakyReluNetwork, z: jax.Array) -> HostArrays:
    """Measure the Lipschitz constants of g, h_hat and h_hat after g from below, and bound them if possible."""
    x = generator(z)
    maps = ((generator, z), (learned, x), (lambda row: learned(generator(row)), z))
    bounds = [m.lipschitz_bound() if isinstance(m, LeakyReluNetwork) else np.nan for m in (generator, learned)]
    return {
        "stretch": np.array([max_lipschitz_ratio(mapping, rows) for mapping, rows in maps]),
        "bound": np.array([*bounds, bounds[0] * bounds[1]]),
    }
