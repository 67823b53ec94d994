r"""The Mixup weight that calibrates, estimated from the training set alone: no held-out points, no unknown numbers.

Not in the paper, which says that some Beta law helps (Theorem 3.1) and not which. In the limit p/n -> c the weight
t* = c / (|theta|^2 + c) calibrates (`limits.best_weight`), and the plain estimate has |theta_hat(0)|^2 -> |theta|^2 + c
in units of sigma, so that

    t_hat = min(p sigma^2 / (n |theta_hat(0)|^2), 1/2)

tends to it, or to 1/2, which Beta laws do not pass. (James and Stein's shrinkage of a normal mean, as Mixup.) Of a
whole training set's law it is `TrainingSets.estimated_weights`.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from mixjax.numerics.arguments import aligned, checked

__all__ = ["estimated_weight"]


def estimated_weight(
    theta_hat: Float[Array, "*batch p"], *, n: ArrayLike, sigma: ArrayLike = 1.0
) -> Float[Array, "*batch"]:
    """min(p sigma^2 / (n |theta_hat|^2), 1/2) of plain estimates, for `weighted_estimator`.

    Args:
      theta_hat: `mean_estimator` of each training set, shape [..., p].
      n: training sample size.
      sigma: standard deviation of a coordinate given the label, > 0.

    Returns:
      Weights in (0, 1/2], of the batch shape.

    Raises:
      ValueError: for a value out of its range (NaN under `jit`), or theta_hat without a last axis.
    """
    theta_hat, n, sigma = checked(theta_hat=theta_hat, n=n, sigma=sigma)
    if theta_hat.ndim == 0:
        raise ValueError("theta_hat must have shape [..., p], got ()")
    square, n, sigma = aligned(jnp.sum(theta_hat**2, axis=-1), n, sigma)
    return jnp.minimum(theta_hat.shape[-1] * sigma**2 / (n * square), 0.5)
