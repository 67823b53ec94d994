r"""One division of the rows of two classes: a third for the whitening, a third to draw training sets from, and a test.

The whitening h_hat (`mixjax.gaussian.fit_whitening`) is fitted on the first third, which is used for nothing else. A
training set of n whitened rows has labels from a fair coin, as in Definition 3.1, and of each class as many rows of the
second third as the coin gives, none twice; the next larger set contains it. The estimator of Section 3.1,

    theta_hat(t) = (1 - t) mean(x y) + t xbar ybar,

then scores the last third, v = theta_hat'z, and claims s(2 |v|) (sigma = 1, which whitening should ensure). The same is
done with *Gaussian rows*: as many draws from N(mean, covariance) of each class of the last two thirds, whitened. What
they and the data have in common is due to two moments; where they differ, the data are not Gaussian.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mixjax.calibration import debiased_ece2, ece
from mixjax.gaussian import fit_whitening

BINS = 15
HISTOGRAM = np.linspace(-8.0, 8.0, 65)  # edges of the score along theta


class Scores(NamedTuple):
    """Means over training sets, [kinds of rows, sizes, weights]: errors in 15 bins of equal mass, and accuracy.

    Attributes:
      ece: plug-in.
      square: ECE_2 squared, debiased.
    """

    ece: jax.Array
    square: jax.Array
    accuracy: jax.Array


class Shape(NamedTuple):
    """Moments of whitened rows; Definition 3.1 has |theta|^2, 1, 1, 0, (1, 1), (0, 0), (0, 0).

    Attributes:
      theta_square: |theta|^2, half the distance of the class means squared, without the bias of their noise.
      trace, trace_square: tr(C)/p and tr(C^2)/p of the covariance within classes.
      offset: distance of the middle of the classes from 0, along theta.
      variance, skewness, kurtosis: of y theta'z/|theta| in each class; the kurtosis is the excess.
      histogram: density of theta'z/|theta| in each class, between the edges of `HISTOGRAM`.
    """

    theta_square: jax.Array
    trace: jax.Array
    trace_square: jax.Array
    offset: jax.Array
    variance: jax.Array
    skewness: jax.Array
    kurtosis: jax.Array
    histogram: jax.Array


class Division(NamedTuple):
    """Whitened rows [2 kinds, 2 classes, M, p], the data and Gaussian rows, which the whitening has not seen.

    Attributes:
      shape, shrinkage: of the data, and of the covariance of the whitening.
    """

    rows: jax.Array
    shape: Shape
    shrinkage: jax.Array


@partial(jax.jit, static_argnames="p")
def divided(key: jax.Array, rows: jax.Array, *, p: int) -> Division:
    """Shuffle rows [2 classes, N, d], fit the whitening on a third of each class, and whiten the others."""
    key_rows, key_gaussian = jax.random.split(key)
    third = rows.shape[1] // 3
    rows = _shuffled(key_rows, rows)
    labels = jnp.repeat(jnp.array([1.0, -1.0], rows.dtype), third)
    whitening = fit_whitening(rows[:, :third].reshape(2 * third, -1), labels, p=p)
    z = whitening(rows[:, third:].reshape(-1, rows.shape[2])).reshape(2, -1, p)
    return Division(jnp.stack([z, gaussian_rows(key_gaussian, z)]), _shape_of(z), whitening.shrinkage)


@partial(jax.jit, static_argnames=("replicates", "longest"))
def scored(
    key: jax.Array, rows: jax.Array, sizes: jax.Array, weights: jax.Array, *, replicates: int, longest: int
) -> Scores:
    """Measure the mean errors of training sets of every size and weight, for both kinds of rows of a division.

    Args:
      rows: [kinds, 2 classes, M, p]; training sets are drawn from the first half, and tested on the second.
      sizes: whole numbers from 1 to `longest`, which is at most `longest_for(M // 2)`.
      weights: t, in [0, 1].
      replicates, longest: static.
    """
    half = rows.shape[2] // 2

    def of_rows(z: jax.Array) -> Scores:
        test = jnp.concatenate([z[0, half:], -z[1, half:]])

        def of_training_set(key: jax.Array) -> Scores:
            estimates = estimated(key, z[:, :half], sizes, weights, longest)
            found = jax.vmap(_errors)(estimates @ test.T)
            return Scores(*(value.reshape(len(sizes), len(weights)) for value in found))

        found = lax.map(of_training_set, jax.random.split(key, replicates))
        return jax.tree.map(lambda value: jnp.mean(value, axis=0), found)

    return lax.map(of_rows, rows)


def longest_for(rows: int) -> int:
    """Return the largest training set for which so many rows of a class are enough, in all but one of 10^6 draws.

    A class gets more than n/2 + 2.5 sqrt(n) rows, five standard deviations, in one of 1.7 10^6.
    """
    return max(1, int((np.sqrt(25.0 + 8.0 * rows) - 5.0) ** 2 / 4.0))


def gaussian_rows(key: jax.Array, z: jax.Array) -> jax.Array:
    """Draw rows of the shape of z [2 classes, M, p], with the means and covariances of its classes."""
    mean, covariance = _moments(z)
    noise = jax.random.normal(key, z.shape, z.dtype)
    return mean[:, None] + jnp.einsum("kni,kji->knj", noise, jnp.linalg.cholesky(covariance))


def estimated(key: jax.Array, pool: jax.Array, sizes: jax.Array, weights: jax.Array, longest: int) -> jax.Array:
    """Estimate theta_hat(t), [sizes * weights, p], from nested training sets of a pool [2 classes, M, p]."""
    key_coin, key_rows = jax.random.split(key)
    pool = _shuffled(key_rows, pool)
    plus = jax.random.bernoulli(key_coin, 0.5, (longest,))
    rank = jnp.where(plus, jnp.cumsum(plus), jnp.cumsum(~plus)) - 1
    x = pool[jnp.where(plus, 0, 1), jnp.minimum(rank, pool.shape[1] - 1)]
    y = jnp.where(plus, 1.0, -1.0).astype(x.dtype)[:, None]
    sums = (jnp.cumsum(values, axis=0)[sizes - 1] for values in (x * y, x, y))
    plain, mean_x, mean_y = (total[:, None] / sizes[:, None, None].astype(x.dtype) for total in sums)
    t = weights[None, :, None]
    return ((1.0 - t) * plain + t * mean_x * mean_y).reshape(-1, pool.shape[2])


def _shuffled(key: jax.Array, rows: jax.Array) -> jax.Array:
    """Shuffle each class by itself."""
    return jax.vmap(lambda key, part: part[jax.random.permutation(key, len(part))])(jax.random.split(key), rows)


def _errors(margins: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return ECE, squared ECE_2 and accuracy of the margins y v of test rows."""
    confidence, correct = jax.nn.sigmoid(2.0 * jnp.abs(margins)), (margins > 0).astype(margins.dtype)
    squared = debiased_ece2(confidence, correct, num_bins=BINS, binning="equal-mass").squared
    return ece(confidence, correct, num_bins=BINS, binning="equal-mass"), squared, jnp.mean(correct)


def _moments(z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the mean [2, p] and covariance [2, p, p] of each class."""
    mean = jnp.mean(z, axis=1)
    centered = z - mean[:, None]
    return mean, jnp.einsum("kni,knj->kij", centered, centered) / (z.shape[1] - 1)


def _shape_of(z: jax.Array) -> Shape:
    count, p = z.shape[1:]
    means, covariances = _moments(z)
    theta, within = 0.5 * (means[0] - means[1]), jnp.mean(covariances, axis=0)
    along = z @ (theta / jnp.linalg.norm(theta))
    outwards = (along - jnp.mean(along, axis=1, keepdims=True)) * jnp.array([[1.0], [-1.0]], z.dtype)
    variance = jnp.mean(outwards**2, axis=1)
    counts = jax.vmap(lambda values: jnp.histogram(values, jnp.asarray(HISTOGRAM, z.dtype))[0])(along)
    return Shape(
        theta_square=jnp.sum(theta**2) - jnp.trace(within) / (2 * count),
        trace=jnp.trace(within) / p,
        trace_square=jnp.sum(within**2) / p,
        offset=jnp.abs(jnp.mean(along)),
        variance=variance,
        skewness=jnp.mean(outwards**3, axis=1) / variance**1.5,
        kurtosis=jnp.mean(outwards**4, axis=1) / variance**2 - 3.0,
        histogram=counts / (count * np.diff(HISTOGRAM)[0]).astype(z.dtype),
    )
