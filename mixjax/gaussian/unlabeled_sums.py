r"""Sums over unlabeled points with pseudo-labels, given b = <u, theta_u>, which determine the classifier.

Paper: Algorithm 1 (`pseudo_label` says how the sums enter). For m ~ N(b, 1) and an independent fair sign y', the
pseudo-label, four sums matter:

    sum |m|,    sum y' |m|,    sum sgn m,    sum y' sgn m,    beside    sum y'.

|m| has the mean b (1 - 2q) + 2 phi(b) and the second moment 1 + b^2; m < 0 has probability q = Phi(-b), and there the
mean of |m| is phi(b) - b q (times q). Sums are of |m| minus its mean, so that float32 keeps their digits.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.stats import norm
from jaxtyping import Array, Float

from mixjax.gaussian.samplers import standard_normals
from mixjax.numerics.threefry import Source
from mixjax.random import normals, rademacher_mean_from

SumsLaw = Literal["exact", "gaussian"]

_SIGNS, _POINTS, _GAUSSIAN = range(16, 19)  # what the words of a source are spent on
_PAIRS = 4  # of normals that a turn of the loop draws


class UnlabeledSums(NamedTuple):
    """Sums over the points of |m|, y' |m|, sgn m, y' sgn m = y, and y', each of the shape of b."""

    size: Float[Array, "..."]
    signed_size: Float[Array, "..."]
    sign: Float[Array, "..."]
    label: Float[Array, "..."]
    pseudo_label: Float[Array, "..."]


class _Part(NamedTuple):
    """The sum of |m| minus its mean, and the number of negative m, over the points of one pseudo-label."""

    excess: jax.Array
    negative: jax.Array


def unlabeled_sums(source: Source, b: jax.Array, count: jax.Array, law: SumsLaw) -> UnlabeledSums:
    """Draw the sums over `count` points: one by one, or from the normal law of the same means and covariances.

    "exact" costs as much for each as for the largest count, which may be 2^24; the cost of "gaussian" does not grow.
    """
    count = jnp.broadcast_to(count, b.shape)
    fair = rademacher_mean_from(source.fold_in(_SIGNS), jnp.maximum(count, 1.0))
    total = jnp.rint(fair * count)
    positive = 0.5 * (count + total)
    plus, minus = (_exact_parts if law == "exact" else _gaussian_parts)(source, b, count, positive)
    mean = _mean_size(b)
    return UnlabeledSums(
        size=count * mean + plus.excess + minus.excess,
        signed_size=total * mean + plus.excess - minus.excess,
        sign=count - 2.0 * (plus.negative + minus.negative),
        label=total - 2.0 * (plus.negative - minus.negative),
        pseudo_label=total,
    )


def _mean_size(b: jax.Array) -> jax.Array:
    """Return E |m|."""
    return b * (1.0 - 2.0 * norm.cdf(-b)) + 2.0 * norm.pdf(b)


def _exact_parts(source: Source, b: jax.Array, count: jax.Array, positive: jax.Array) -> tuple[_Part, _Part]:
    """Sum point by point, in two groups, one for each pseudo-label, which is independent of m."""
    size = jnp.stack([positive, count - positive])
    position = jnp.stack([2 * source.position, 2 * source.position + 1])
    draws = source._replace(position=position).fold_in(_POINTS)
    mean, largest = _mean_size(b), jnp.max(jnp.where(size > 0, size, 0.0))

    def terms(z: jax.Array, index: jax.Array) -> jax.Array:
        """Return both terms as one complex number, since XLA would draw the points once for each of two."""
        m, counts = b[None] + z, index < size
        negative = jnp.where(m < 0, 1.0, 0.0).astype(b.dtype)
        return lax.complex(jnp.where(counts, jnp.abs(m) - mean[None], 0.0), jnp.where(counts, negative, 0.0))

    def turn(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        k, total = state
        for pair in range(_PAIRS):
            stream = _PAIRS * k + pair
            for half, z in enumerate(normals(draws, stream, b.dtype)):
                total += terms(z, (2 * stream + half).astype(b.dtype))
        return k + 1, total

    def unfinished(state: tuple[jax.Array, jax.Array]) -> jax.Array:
        return (2 * _PAIRS * state[0]).astype(b.dtype) < largest

    zeros = jnp.zeros(jnp.broadcast_shapes(size.shape, draws.shape), lax.complex(b, b).dtype)
    total = lax.while_loop(unfinished, turn, (jnp.int32(0), zeros))[1]
    return _Part(total.real[0], total.imag[0]), _Part(total.real[1], total.imag[1])


def _gaussian_parts(source: Source, b: jax.Array, count: jax.Array, positive: jax.Array) -> tuple[_Part, _Part]:
    """Draw normal sums of the same means and covariances."""
    q = norm.cdf(-b)
    mean = _mean_size(b)
    var_size, var_negative = 1.0 + (b - mean) * (b + mean), q * (1.0 - q)
    covariance = norm.pdf(b) - (b + mean) * q
    slope = jnp.where(var_negative > 0, covariance / jnp.where(var_negative > 0, var_negative, 1.0), 0.0)
    left = jnp.sqrt(jnp.maximum(var_size - slope * covariance, 0.0))

    def part(size: jax.Array, first: jax.Array, second: jax.Array) -> _Part:
        deviation = jnp.sqrt(size * var_negative) * first
        return _Part(slope * deviation + jnp.sqrt(size) * left * second, size * q + deviation)

    z = standard_normals(source.fold_in(_GAUSSIAN), 4, count + 1.0)
    return part(positive, z[0], z[1]), part(count - positive, z[2], z[3])
