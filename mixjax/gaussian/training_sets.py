r"""Training sets reduced to the numbers on which a classifier's calibration depends, whatever the Mixup weight.

Paper: Section 3.1; the law is that of `samplers`: a training set is its six numbers, from which the score's law follows
for every weight, one for all or one for each set. `sample_scores` does both steps at once.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, UInt32

from mixjax.gaussian.law import ScoreLaw
from mixjax.gaussian.samplers import Noise, draw_noise, score_law_of, training_cells
from mixjax.numerics.arguments import aligned, checked
from mixjax.numerics.options import check_size
from mixjax.numerics.threefry import Source, Words, single
from mixjax.typing import ArrayLike


class TrainingSets(NamedTuple):
    """Independent training sets, shape [*cell, replicates]; a pytree.

    Attributes:
      noise: the six numbers of each.
      n, p, theta: sample size, dimension and |theta| / sigma, shape [*cell, 1].
      words, position: key and counter of what else is drawn for each set.

    Example:
      >>> import jax
      >>> from mixjax.gaussian import sample_training_sets
      >>> sets = sample_training_sets(jax.random.key(0), n=20, p=4, theta_norm=1.0, replicates=3)
      >>> sets.scores(0.3).mean.shape, sets.estimated_weights().shape
      ((3,), (3,))
    """

    noise: Noise
    n: Float[Array, "*cell 1"]
    p: Float[Array, "*cell 1"]
    theta: Float[Array, "*cell 1"]
    words: Words
    position: UInt32[Array, "..."]

    def scores(self, t: ArrayLike) -> ScoreLaw:
        """Return the score's law of each set at Mixup weight t.

        Args:
          t: in [0, 1], of a shape that broadcasts with [*cell, replicates]; a last axis of 1 is one weight for all.
        """
        (weight,) = checked(t=t)
        n, p, theta, weight, *noise = aligned(self.n, self.p, self.theta, weight.astype(self.n.dtype), *self.noise)
        return score_law_of(Noise(*noise), n, p, theta, weight)

    def estimated_weights(self) -> Float[Array, "*cell replicates"]:
        """Return the `estimated_weight` of each set, min(p sigma^2 / (n |theta_hat(0)|^2), 1/2)."""
        return jnp.minimum(self.p / self.n / self.scores(jnp.zeros_like(self.n)).var, 0.5)

    def source(self, purpose: int, like: jax.Array) -> Source:
        """Return the source of one more purpose (16 or more; the six numbers have others), to broadcast with `like`."""
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
    """Sample independent training sets, exact at every n and p; the same key gives those of `sample_scores`.

    Args:
      key: spent.
      n, p, theta_norm, sigma, replicates: as for `sample_scores`.

    Returns:
      Sets of shape broadcast(n, p, theta_norm, sigma) + (replicates,).

    Example:
      >>> import jax
      >>> from mixjax.gaussian import sample_training_sets
      >>> sets = sample_training_sets(jax.random.key(0), n=20, p=4, theta_norm=1.0, replicates=3)
      >>> bool((abs(sets.noise.mean_label) <= 1).all())
      True
    """
    arrays = aligned(*checked(n=n, p=p, theta_norm=theta_norm, sigma=sigma))
    check_size("replicates", replicates)
    return _sample_training_sets(single(key), *arrays, replicates=replicates)


@partial(jax.jit, static_argnames="replicates")
def _sample_training_sets(key: PRNGKeyArray, *values: jax.Array, replicates: int) -> TrainingSets:
    n, p, theta_norm, sigma = values
    source, n, p, theta = training_cells(key, n, p, theta_norm, sigma, replicates)
    return TrainingSets(draw_noise(source, n, p), n, p, theta, source.key, source.position)
