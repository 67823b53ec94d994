"""Calibration from simulated scores: the population ECE of a classifier, and the error of Assumption 3.1.

Paper: the ECE as in the proof of Theorem 3.5, E |P(y = +1 | v) - s(2v)|; Assumption 3.1, that given y = k the density
p_1 of v'h_hat(x) is p_2 (1 + delta_u), with p_2 that of N(k v'theta, |v|^2) and E|delta_u| small under p_1 (its proof
assumes this of |delta_u|^2).

Both are sums over bins of a number times its own sign, and noise makes the plug-in sums too large. Here the sign, and
every other factor, comes from the other batches of draws: an error of 0 has an estimate of mean 0.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr

from mixjax.generative.simulation import ScoreBins
from mixjax.numerics.arguments import as_floats
from mixjax.numerics.estimate import Estimate
from mixjax.typing import ArrayLike


def simulated_ece(bins: ScoreBins) -> Estimate:
    """Estimate E |P(y = +1 | v) - s(2v)| of each classifier.

    Bins are exact as long as P(y = +1 | v) - s(2v) keeps its sign within each; it changes at v = 0, which is an edge.

    Args:
      bins: of `simulate_scores`.

    Returns:
      ECE and its standard error, shape [classifiers]; slightly negative values are noise.

    Accuracy where h_hat(g(z)) is affine and the value known: tests/generative/test_simulation.py.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from mixjax.generative import linear_generator, simulate_scores, simulated_ece
      >>> g, theta = linear_generator([[2.0]]), jnp.ones(1)
      >>> bins = simulate_scores(jax.random.key(0), g, g.inverse(), theta[None], theta, num_draws=1)
      >>> abs(float(simulated_ece(bins).value[0])) < 1e-6
      True
    """
    return _simulated_ece(bins)


@jax.jit
def _simulated_ece(bins: ScoreBins) -> Estimate:
    others = jnp.sum(bins.residual, axis=0)[None] - bins.residual
    return _mean_over_batches(jnp.sum(jnp.sign(others) * bins.residual, axis=-1) / jnp.sum(bins.draws, axis=-1))


class DensityError(NamedTuple):
    """E|delta_u| and E|delta_u|^2 under p_1, each of shape [classifiers, 2]: given y = -1, and given y = +1.

    Example:
      >>> from mixjax.generative import DensityError
      >>> DensityError._fields
      ('absolute', 'square')
    """

    absolute: Estimate
    square: Estimate


def density_error(bins: ScoreBins, classifiers: ArrayLike, theta: ArrayLike) -> DensityError:
    """Measure the error of Assumption 3.1 in the direction v of each classifier.

    Args:
      bins: of `simulate_scores`, with the same classifiers and theta.
      classifiers: theta_hat of each, shape [classifiers, p].
      theta: mean of z given y = +1, shape [p].

    Returns:
      delta_u = p_1/p_2 - 1 averaged over each bin: tails beyond the outermost edges count as one bin. Without that, the
      expectations are infinite as soon as the variance of v'h_hat(x) far out is 2 |v|^2 and 1.5 |v|^2.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from mixjax.generative import density_error, linear_generator, simulate_scores
      >>> g, theta = linear_generator([[2.0]]), jnp.ones(1)
      >>> bins = simulate_scores(jax.random.key(0), g, g.inverse(), theta[None], theta, num_draws=1)
      >>> density_error(bins, theta[None], theta).absolute.value.shape
      (1, 2)
    """
    return _density_error(bins, *as_floats(classifiers=classifiers, theta=theta))


@jax.jit
def _density_error(bins: ScoreBins, classifiers: jax.Array, theta: jax.Array) -> DensityError:
    center = classifiers @ theta / jnp.linalg.norm(classifiers, axis=1)
    labels = jnp.asarray([-1.0, 1.0], theta.dtype)
    expected = _normal_masses(bins.edges[None, None] - (center[:, None] * labels[None])[..., None])
    found = jnp.stack([bins.draws - bins.posterior, bins.posterior], axis=2)  # of each class
    total = jnp.sum(found, axis=-1, keepdims=True)

    def relative_error(part: jax.Array, size: jax.Array) -> jax.Array:
        return part / size / expected[None] - 1.0

    delta = relative_error(found, total)
    others = relative_error(jnp.sum(found, axis=0)[None] - found, jnp.sum(total, axis=0)[None] - total)
    weighted = expected[None] * (1.0 + others) * delta
    absolute = jnp.sum(weighted * jnp.sign(others), axis=-1)
    return DensityError(_mean_over_batches(absolute), _mean_over_batches(jnp.sum(weighted * others, axis=-1)))


def _normal_masses(edges: jax.Array) -> jax.Array:
    """Return the mass of N(0, 1) between neighboring edges, without cancellation in the upper tail."""
    low, high = edges[..., :-1], edges[..., 1:]
    return jnp.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))


def _mean_over_batches(values: jax.Array) -> Estimate:
    return Estimate(jnp.mean(values, axis=0), jnp.std(values, axis=0, ddof=1) / len(values) ** 0.5)
