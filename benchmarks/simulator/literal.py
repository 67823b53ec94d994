"""The simulation that the exact sampler replaces: draw the n x p data, estimate, look up the score's law.

Both versions do the least work that is still literal. Each data set is drawn once and serves the plain and the Mixup
estimator; ECE and MCE come from the two laws by `mixjax.gaussian.population_ece` and `population_mce`, for all
replicates of a call at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mixjax.gaussian import (
    ScoreLaw,
    mean_estimator,
    population_ece,
    population_mce,
    sample_data,
    score_law,
    weighted_estimator,
)


def errors(law: ScoreLaw) -> jax.Array:
    """ECE and MCE of laws of shape [replicates, 2], as [replicates, 4]."""
    return jnp.concatenate([population_ece(law), population_mce(law)], axis=-1)


_errors = jax.jit(errors)


class NumpyReplicates:
    """Literal replicates in NumPy, one for each of `theta_norms`; n = p = size.

    Data sets are written over and over in the same memory. There are no matrix products, so that one thread is one
    core (the threads of a BLAS wait for each other where cores are shared). With several threads, each has a share of
    the replicates and a generator of its own: NumPy draws outside of Python's lock.
    """

    def __init__(self, size: int, theta_norms: np.ndarray, t: float, dtype: str, threads: int = 1):
        self.size, self.t, self.dtype = size, t, np.dtype(dtype)
        self.shares = [share for share in np.array_split(theta_norms, threads) if len(share)]
        self.rngs = np.random.default_rng(1).spawn(len(self.shares))
        self.buffers = [np.empty((2, size, size), dtype) for _ in self.shares]
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def __call__(self) -> jax.Array:
        mapped = map if self.pool is None else self.pool.map
        laws = np.concatenate(list(mapped(self._laws, self.rngs, self.buffers, self.shares)))
        return _errors(ScoreLaw(*np.moveaxis(laws.astype(np.float32), -1, 0)))

    def _laws(self, rng: np.random.Generator, buffers: np.ndarray, theta_norms: np.ndarray) -> np.ndarray:
        return np.array([self._law(rng, *buffers, theta_norm) for theta_norm in theta_norms])

    def _law(self, rng: np.random.Generator, x: np.ndarray, product: np.ndarray, theta_norm: float) -> np.ndarray:
        """(mean, gap) of both estimators."""
        theta = np.full(self.size, theta_norm / np.sqrt(self.size), self.dtype)
        y = rng.choice(np.array([-1, 1], self.dtype), self.size)
        rng.standard_normal(dtype=self.dtype, out=x)
        x += np.multiply(y[:, None], theta, out=product)
        plain, xbar = np.multiply(y[:, None], x, out=product).mean(axis=0), x.mean(axis=0)
        theta_hat = np.stack([plain, (1 - self.t) * plain + self.t * y.mean() * xbar])
        return np.stack([np.sum(theta_hat * theta, axis=-1), np.sum(theta_hat * (theta_hat - theta), axis=-1)], axis=-1)


def jax_replicates(size: int, theta_norms: np.ndarray, t: float, batch: int) -> Callable[[], jax.Array]:
    """Literal replicates in jitted JAX, one for each of `theta_norms`, `batch` at a time."""
    weight = np.float32(t)

    def law(key: jax.Array, theta_norm: jax.Array) -> ScoreLaw:
        theta = jnp.full(size, theta_norm / math.sqrt(size))
        x, y = sample_data(key, n=size, theta=theta)
        return score_law(jnp.stack([mean_estimator(x, y), weighted_estimator(x, y, weight)]), theta)

    @jax.jit
    def compiled(keys: jax.Array, theta_norms: jax.Array) -> jax.Array:
        return errors(lax.map(lambda pair: law(*pair), (keys, theta_norms), batch_size=batch))

    keys = jax.random.split(jax.random.key(2, impl="threefry2x32"), len(theta_norms))
    return lambda: compiled(keys, jnp.asarray(theta_norms, jnp.float32))
