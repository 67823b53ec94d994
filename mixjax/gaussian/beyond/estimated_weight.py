"""The Mixup weight that calibrates, estimated from the training set alone.

Not in the paper, which shows that some Beta law helps (Theorem 3.1). In the limit p/n -> c the weight
t* = c / (|theta|^2 + c) calibrates (`limits.best_weight`), and the plain estimate has |theta_hat(0)|^2 -> |theta|^2 + c
in units of sigma, so that

    t_hat = min(p sigma^2 / (n |theta_hat(0)|^2), 1/2)

tends to t*, or to 1/2, the supremum for Beta laws. (This is James and Stein's shrinkage of a normal mean, as Mixup.)
`TrainingSets.estimated_weights` has its exact law.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from mixjax.numerics.arguments import aligned, checked
from mixjax.typing import ArrayLike


def estimated_weight(theta_hat: ArrayLike, *, n: ArrayLike, sigma: ArrayLike = 1.0) -> Float[Array, "*batch"]:
    """Estimate the calibrating weight of plain estimates, min(p sigma^2 / (n |theta_hat|^2), 1/2).

    Args:
      theta_hat: `mean_estimator` of each training set, shape [*batch, p].
      n: training sample size.
      sigma: standard deviation of a coordinate given the label, > 0.

    Returns:
      Weights in (0, 1/2] for `weighted_estimator`, shape [*batch].

    Raises:
      ValueError: for a theta_hat without a last axis.

    Example:
      >>> from mixjax.gaussian import estimated_weight
      >>> round(float(estimated_weight([0.6, 0.8], n=10)), 3)
      0.2
    """
    theta_hat, n, sigma = checked(theta_hat=theta_hat, n=n, sigma=sigma)
    if theta_hat.ndim == 0:
        raise ValueError("theta_hat must have shape [..., p], got ()")
    square, n, sigma = aligned(jnp.sum(theta_hat**2, axis=-1), n, sigma)
    return jnp.minimum(theta_hat.shape[-1] * sigma**2 / (n * square), 0.5)
