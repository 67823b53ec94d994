"""Training sets for all files of this folder, of one shape, so that one program draws them; and the literal ones."""

from __future__ import annotations

import jax
import numpy as np

from mixjax.gaussian import sample_training_sets

CELLS, REPLICATES = 5, 10_000
scores = jax.jit(lambda sets, t: sets.scores(t))
estimated_weights = jax.jit(lambda sets: sets.estimated_weights())


def training_sets(key, n, p, theta_norm, sigma=1.0):
    """`sample_training_sets` of five cells in float32."""
    cells = (np.broadcast_to(np.asarray(value, np.float32), CELLS) for value in (n, p, theta_norm, sigma))
    names = ("n", "p", "theta_norm", "sigma")
    return sample_training_sets(key, **dict(zip(names, cells, strict=True)), replicates=REPLICATES)


def literal_means(rng, n, p, theta_norm, sigma, rate=0.5, replicates=REPLICATES):
    """(theta, mean of y x, mean of x, mean of y) of training sets by NumPy from the definition; theta has shape [p]."""
    theta = np.zeros(p)
    theta[0] = theta_norm
    y = np.where(rng.random((replicates, n, 1)) < rate, 1.0, -1.0)
    x = y * theta + sigma * rng.standard_normal((replicates, n, p))
    return theta, np.mean(x * y, axis=1), np.mean(x, axis=1), np.mean(y, axis=1)
