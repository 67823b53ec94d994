"""Classes of unequal size, P(y = +1) = pi: the exact law of the score over training sets, and its limit.

Not in the paper, whose classes are balanced. x | y ~ N(y theta, sigma^2 I) as before, and theta_hat(0) = mean y_i x_i
has the same law for every pi. Given the labels everything in `samplers` holds; only the law of ybar changes, to
2 Bin(n, pi) / n - 1. In theta_hat(t) = kappa theta_hat(0) + t ybar D the shrinkage is that of the labels' variance,
kappa = 1 - t (1 - ybar^2), and the noise D no longer vanishes: as p/n -> c, with delta = 2 pi - 1,

    kappa = 1 - t (1 - delta^2) = 1 - 4 pi (1 - pi) t,
    mean = kappa |theta|^2,    var = kappa^2 (|theta|^2 + c) + t^2 delta^2 (1 - delta^2) c.

So Mixup is weaker the less balanced the classes are, and costs some accuracy. Its calibration: `imbalanced_ece`.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from mixjax.gaussian.law import ScoreLaw, masked_law
from mixjax.gaussian.samplers import Noise, count_words
from mixjax.gaussian.training_sets import TrainingSets
from mixjax.numerics.arguments import POINTS, aligned, checked
from mixjax.typing import ArrayLike

_PURPOSE = 17  # of the words that labels are made of


def with_positive_rate(sets: TrainingSets, positive_rate: ArrayLike) -> TrainingSets:
    """Redraw the labels of training sets with P(y = +1) = `positive_rate` and keep their noise; exact at every n and p.

    Args:
      sets: training sets of n up to 1e7.
      positive_rate: pi in (0, 1), of a shape that broadcasts with the sets' [*cell]; data, so that changing it does not
        recompile. Labels that are +1 at one rate are +1 at every larger one.

    Returns:
      Sets of the broadcast shape [*cell, replicates].

    Time: O(n).

    Example:
      >>> import jax
      >>> from mixjax.gaussian import sample_training_sets, with_positive_rate
      >>> sets = sample_training_sets(jax.random.key(0), n=4, p=2, theta_norm=1.0, replicates=3)
      >>> with_positive_rate(sets, 0.9).noise.mean_label.tolist()
      [0.5, 1.0, 1.0]
    """
    n, rate = checked({"n": POINTS}, n=sets.n, positive_rate=positive_rate)
    return _with_positive_rate(sets, n, rate[..., None].astype(n.dtype))


@jax.jit
def _with_positive_rate(sets: TrainingSets, n: jax.Array, rate: jax.Array) -> TrainingSets:
    n, rate, *noise = aligned(n, rate, *sets.noise)
    source = sets.source(_PURPOSE, noise[0])
    threshold = jnp.floor(rate * 2.0**32).astype(np.uint32)  # the rate to 32 binary digits
    shape = jnp.broadcast_shapes(source.shape, n.shape, rate.shape)
    count = count_words(source, n, lambda word: word < threshold, shape)
    mean_label = jnp.clip(2.0 * count / n - 1.0, -1.0, 1.0)  # XLA may divide by way of a rounded 1/n
    wrong = jnp.isnan(n + rate + noise[0])
    noise[0] = jnp.where(wrong, jnp.nan, mean_label)
    return sets._replace(noise=Noise(*jnp.broadcast_arrays(*noise)))


def limit_imbalanced_scores(
    ratio: ArrayLike, theta_norm: ArrayLike, t: ArrayLike, *, positive_rate: ArrayLike
) -> ScoreLaw:
    """Return the law of the score as p/n -> `ratio` at Mixup weight t, for sigma = 1.

    Args:
      ratio, theta_norm: c >= 0 and |theta| >= 0.
      t: Mixup weight in [0, 1].
      positive_rate: pi in (0, 1); 1/2 gives `limit_scores`.

    Returns:
      Laws of the broadcast shape.

    Example:
      >>> from mixjax.gaussian import limit_imbalanced_scores
      >>> round(float(limit_imbalanced_scores(0.5, 1.0, 0.3, positive_rate=0.9).mean), 3)
      0.892
    """
    ratio, theta_norm, t, rate = aligned(*checked(ratio=ratio, theta_norm=theta_norm, t=t, positive_rate=positive_rate))
    square, spread = theta_norm**2, 4.0 * rate * (1.0 - rate)
    lost = t * spread
    keep, added = 1.0 - lost, t**2 * (1.0 - spread) * spread * ratio
    return masked_law(keep * square, keep * (keep * ratio - lost * square) + added)
