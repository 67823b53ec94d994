"""The Gaussian model and its literal data, the reference for every dimension-free law.

Paper: Definition 3.1. y is uniform on {-1, +1} and x | y ~ N(y theta, sigma^2 I_p).
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mixjax.numerics.arguments import check_scalars, checked
from mixjax.numerics.options import check_size
from mixjax.numerics.threefry import single
from mixjax.random import normal
from mixjax.typing import ArrayLike


def class_mean(p: int, theta_norm: ArrayLike) -> Float[Array, "p"]:
    """Return the paper's mean of class +1, theta_norm 1_p / sqrt(p).

    Args:
      p: dimension, >= 1; static.
      theta_norm: its length |theta| >= 0, one number.

    Returns:
      theta of shape [p].

    Example:
      >>> from mixjax.gaussian import class_mean
      >>> class_mean(4, 1.0).tolist()
      [0.5, 0.5, 0.5, 0.5]
    """
    check_size("p", p)
    (theta_norm,) = checked(theta_norm=theta_norm)
    check_scalars(theta_norm=theta_norm)
    return jnp.broadcast_to(theta_norm / math.sqrt(p), (p,))


def sample_data(
    key: PRNGKeyArray, *, n: int, theta: ArrayLike, sigma: ArrayLike = 1.0
) -> tuple[Float[Array, "n p"], Float[Array, " n"]]:
    """Draw n independent pairs (x, y) of the model.

    Args:
      key: spent.
      n: sample size, >= 1; static.
      theta: mean given y = +1, shape [p].
      sigma: standard deviation of a coordinate given y, > 0, one number.

    Returns:
      x of shape [n, p] and y of shape [n] with entries -1 and +1, of one floating dtype.

    Raises:
      ValueError: if n < 1, theta is not a vector, or sigma is not one positive number (x is NaN under `jit`).

    Example:
      >>> import jax
      >>> from mixjax.gaussian import class_mean, sample_data
      >>> x, y = sample_data(jax.random.key(0), n=3, theta=class_mean(4, 1.0))
      >>> x.shape, y.shape
      ((3, 4), (3,))
    """
    check_size("n", n)
    theta, sigma = checked(theta=theta, sigma=sigma)
    if theta.ndim != 1:
        raise ValueError(f"theta must have shape [p], got {theta.shape}")
    check_scalars(sigma=sigma)
    key_labels, key_noise = jax.random.split(single(key))
    y = jax.random.rademacher(key_labels, (n,), theta.dtype)
    noise = normal(key_noise, (n, theta.shape[0]), theta.dtype)
    return y[:, None] * theta[None, :] + sigma * noise, y
