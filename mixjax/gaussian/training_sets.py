r"""Training sets of which everything is known that a classifier's calibration depends on, whatever the Mixup weight.

Paper: Section 3.1; the law is that of `samplers`, without a weight: a training set is its six numbers, from which the
score's law follows for every weight, one for all or one for each set. `sample_scores` is both steps in one.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float, PRNGKeyArray, UInt32

from mixjax.gaussian.law import ScoreLaw
from mixjax.gaussian.samplers import Noise, cell_source, draw_noise, score_law_of
from mixjax.numerics.arguments import aligned, check_size, checked
from mixjax.numerics.threefry import Source, Words, single

__all__ = ["TrainingSets", "sample_training_sets"]


class TrainingSets(NamedTuple):
    """Independent training sets, shape [*cell, replicates]; a pytree.

    noise: the six numbers of each. n, p, theta: sample size, dimension and |theta| / sigma, shape [*cell, 1].
    words, position: of what else is drawn for each set.
    """

    noise: Noise
    n: Float[Array, "*cell 1"]
    p: Float[Array, "*cell 1"]
    theta: Float[Array, "*cell 1"]
    words: Words
    position: UInt32[Array, "..."]

    def scores(self, t: ArrayLike) -> ScoreLaw:
        """The score's law of each set at Mixup weight t.

        Args:
          t: in [0, 1], of a shape that broadcasts with [*cell, replicates]; a last axis of 1 is one weight for all.

        Raises:
          ValueError: for a weight out of its range (NaN under `jit`).
        """
        (weight,) = checked(t=t)
        n, p, theta, weight, *noise = aligned(self.n, self.p, self.theta, weight.astype(self.n.dtype), *self.noise)
        return score_law_of(Noise(*noise), n, p, theta, weight)

    def estimated_weights(self) -> Float[Array, "*cell replicates"]:
        """`estimated_weight` of each set: min(p sigma^2 / (n |theta_hat(0)|^2), 1/2)."""
        return jnp.minimum(self.p / self.n / self.scores(jnp.zeros_like(self.n)).var, 0.5)

    def source(self, purpose: int, like: jax.Array) -> Source:
        """Words for one more purpose (from 16 on: the six numbers have others), to broadcast with an array."""
        _, first, second, position = aligned(like, *self.words, self.position)
        return Source((first, second), position, purpose)


def sample_training_sets(
    key: PRNGKeyArray,
    *,
    n: ArrayLike,
    p: ArrayLike,
    theta_norm: ArrayLike,
    sigma: ArrayLike = 1.0,
    replicates: int,
) -> TrainingSets:
    """Independent training sets, exact at every n and p; with the same key those of `sample_scores`.

    Args:
      key: spent.
      n, p, theta_norm, sigma, replicates: as for `sample_scores`.

    Returns:
      Sets of shape broadcast(n, p, theta_norm, sigma) + (replicates,).

    Raises:
      ValueError: for a value out of its range (NaN under `jit`).
    """
    arrays = aligned(*checked(n=n, p=p, theta_norm=theta_norm, sigma=sigma))
    check_size("replicates", replicates)
    return _sample_training_sets(single(key), *arrays, replicates=replicates)


@partial(jax.jit, static_argnames="replicates")
def _sample_training_sets(
    key: PRNGKeyArray, n: jax.Array, p: jax.Array, theta_norm: jax.Array, sigma: jax.Array, *, replicates: int
) -> TrainingSets:
    wrong = jnp.isnan(p) | jnp.isnan(theta_norm) | jnp.isnan(sigma)  # what does not depend on them is NaN too
    cell = jnp.broadcast_arrays(jnp.where(wrong, jnp.nan, n), p, theta_norm, sigma)
    source = cell_source(key, cell, replicates)
    n, p, theta_norm, sigma = (value[..., None] for value in cell)
    return TrainingSets(draw_noise(source, n, p), n, p, theta_norm / sigma, source.key, source.position)
