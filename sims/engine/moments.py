"""Means and spreads of replicates, merged from parts.

A part stores three arrays a value: `value.count`, `value.mean` and `value.m2` (sum of squared deviations, in double
precision; shards of before have it in single precision).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

_ROWS = 8 if jax.__version_info__ >= (0, 11) else 1  # what XLA for CPUs adds at a time, and fewer in another order


@dataclass(frozen=True)
class Moments:
    """The count, mean and sum of squared deviations of a value, in float64, with a leading axis of cells."""

    count: np.ndarray
    mean: np.ndarray
    m2: np.ndarray

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both samples together (Chan, Golub and LeVeque 1979)."""
        count = self.count + other.count
        part = np.divide(other.count, count, out=np.zeros_like(self.mean), where=count > 0)
        delta = other.mean - self.mean
        return Moments(count, self.mean + delta * part, self.m2 + other.m2 + delta**2 * self.count * part)

    @property
    def standard_deviation(self) -> np.ndarray:
        return np.sqrt(np.divide(self.m2, self.count - 1, out=np.full_like(self.m2, np.nan), where=self.count > 1))

    @property
    def standard_error(self) -> np.ndarray:
        return self.standard_deviation / np.sqrt(np.maximum(self.count, 1))


def merged(blocks: Iterable[Iterable[Mapping[str, np.ndarray]]]) -> dict[str, Moments]:
    """Return the moments of every value over all blocks, merged in order in float64.

    Each block comes as its parts, cells in order.

    Raises:
      ValueError, KeyError: for parts that are not those of one experiment.
    """
    total: dict[str, Moments] = {}
    names: set[str] = set()
    for block in blocks:
        parts = list(block)
        names = names or set(parts[0])
        if any(set(part) != names for part in parts):
            raise ValueError("the parts hold different values")
        for name in (key.removesuffix(".mean") for key in parts[0] if key.endswith(".mean")):
            columns = [np.concatenate([part[f"{name}.{kind}"] for part in parts]) for kind in ("count", "mean", "m2")]
            moments = Moments(*(column.astype(np.float64) for column in columns))
            if len({moments.mean.shape, *(each.shape for each in (*columns, total.get(name, moments).mean))}) > 1:
                raise ValueError(f"the parts of {name} differ in their shape")
            total[name] = total[name].merge(moments) if name in total else moments
    return total


def moments_of(name: str, values: jax.Array, wanted: jax.Array) -> dict[str, jax.Array]:
    """Return the moments along the last axis, under `jit`, for `stored_form`; NaN is left out and not counted.

    The squares of deviations of 1e-21 have no single precision: deviations are divided by a power of two first, which
    rounds nothing, so that the largest value is from 1/2 to 1. A deviation is not far smaller than the largest value:
    it is 0 or above rounding.
    """
    *shape, replicates = values.shape
    size = math.prod(shape)
    rows = values.reshape(size, replicates)
    if spare := -size % _ROWS:
        rows = jnp.pad(lax.optimization_barrier(rows), ((0, spare), (0, 0)))  # made as without padding
    keep = jnp.isfinite(rows) & wanted[None, :]
    count = jnp.sum(keep, axis=-1, dtype=jnp.int32)
    mean = jnp.sum(jnp.where(keep, rows, 0.0), axis=-1) / jnp.maximum(count, 1).astype(rows.dtype)
    _, exponent = jnp.frexp(mean)
    exponent = jnp.clip(exponent, -126, 126)  # 2^exponent and its inverse are normal numbers
    scale = jnp.ldexp(jnp.ones((), rows.dtype), -exponent)
    m2 = jnp.sum((jnp.where(keep, rows - mean[:, None], 0.0) * scale[:, None]) ** 2, axis=-1)
    moments = {"count": count, "mean": mean, "m2": m2, "exponent": exponent}
    return {f"{name}.{kind}": moment[:size].reshape(shape) for kind, moment in moments.items()}


def stored_form(moments: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of a shard: the sums of squares in double precision, at their own scale."""
    stored = {name: array for name, array in moments.items() if not name.endswith(".exponent")}
    for name in (name for name in stored if name.endswith(".m2")):
        exponent = moments[name.removesuffix("m2") + "exponent"]
        stored[name] = np.ldexp(stored[name].astype(np.float64), 2 * exponent)
    return stored
