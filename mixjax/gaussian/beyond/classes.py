"""K classes of a Gaussian mixture: softmax scores of the averaging classifier, with Mixup, and their limit.

Not in the paper, which has two classes. y is uniform on K classes and x | y ~ N(mu_y, sigma^2 I_p), with means of one
length |theta| at equal distances (a regular simplex; theta and -theta if K = 2). With z_i the one-hot label of y_i,

    W_k(t) = (1 - t) mean_i (K z_ik - 1) x_i + t (K zbar_k - 1) xbar,    claim softmax(W x / sigma^2),

is the average of mixed inputs and mixed labels over all pairs and lambda; for K = 2, W = (theta_hat(t), -theta_hat(t)).
In the limit p/n -> c the truth is softmax(rho W x / sigma^2), with

    rho = |theta|^2 / ((1 - t) (|theta|^2 + (K - 1) c)):

Mixup is a temperature again, and K classes are over-confident as two are at (K - 1) p/n.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mixjax.numerics.arguments import aligned, check_scalars, checked
from mixjax.numerics.estimate import Estimate
from mixjax.numerics.options import check_size
from mixjax.numerics.threefry import single
from mixjax.random import normal
from mixjax.typing import ArrayLike


def class_means(num_classes: int, p: int, theta_norm: ArrayLike) -> Float[Array, "K p"]:
    """Return K means of length |theta| at equal distances, shape [K, p]; for K = 2, a vector and its negative.

    Args:
      num_classes: K >= 2; static.
      p: dimension, at least K; static.
      theta_norm: |theta| >= 0, one number.

    Example:
      >>> from mixjax.gaussian import class_means
      >>> means = class_means(3, 5, 2.0)
      >>> [round(float(means[0] @ other), 3) for other in means]
      [4.0, -2.0, -2.0]
    """
    check_size("num_classes", num_classes, least=2)
    check_size("p", p, least=num_classes)
    (theta_norm,) = checked(theta_norm=theta_norm)
    check_scalars(theta_norm=theta_norm)
    corners = jnp.eye(num_classes, p, dtype=theta_norm.dtype)
    centered = corners - jnp.mean(corners, axis=0, keepdims=True)
    return theta_norm * (num_classes / (num_classes - 1.0)) ** 0.5 * centered


def class_estimator(x: ArrayLike, labels: ArrayLike, t: ArrayLike, *, num_classes: int) -> Float[Array, "K p"]:
    """Compute W(t), the Mixup estimator of one weight, from data.

    Args:
      x: inputs, shape [n, p].
      labels: whole numbers from 0 to K - 1, shape [n].
      t: Mixup weight in [0, 1], one number.
      num_classes: K; static.

    Raises:
      ValueError: for shapes that do not fit.

    Example:
      >>> from mixjax.gaussian import class_estimator
      >>> class_estimator([[2.0], [-1.0]], [0, 1], 0.0, num_classes=2).tolist()
      [[1.5], [-1.5]]
    """
    check_size("num_classes", num_classes, least=2)
    x, t = checked(x=x, t=t)
    check_scalars(t=t)
    labels = jnp.asarray(labels)
    if x.ndim != 2 or labels.shape != x.shape[:1]:
        raise ValueError(f"x and labels must have shapes [n, p] and [n], got {x.shape} and {labels.shape}")
    centered = num_classes * jax.nn.one_hot(labels, num_classes, dtype=x.dtype) - 1.0
    plain = jnp.matmul(centered.T, x, precision="highest") / x.shape[0]
    return (1.0 - t) * plain + t * jnp.mean(centered, axis=0)[:, None] * jnp.mean(x, axis=0)[None, :]


def best_class_weight(ratio: ArrayLike, theta_norm: ArrayLike, *, num_classes: int) -> Float[Array, "*batch"]:
    """Return t* = (K - 1) c / (|theta|^2 + (K - 1) c), which calibrates in the limit.

    Args:
      ratio, theta_norm: c >= 0 and |theta| >= 0.
      num_classes: K; static.

    Returns:
      Weights of the broadcast shape, below 1/2 where c < |theta|^2 / (K - 1); NaN where both arguments are 0.

    Example:
      >>> from mixjax.gaussian import best_class_weight
      >>> round(float(best_class_weight(0.5, 1.0, num_classes=3)), 3)
      0.5
    """
    check_size("num_classes", num_classes, least=2)
    ratio, theta_norm = aligned(*checked(ratio=ratio, theta_norm=theta_norm))
    excess = (num_classes - 1.0) * ratio
    return excess / (theta_norm**2 + excess)


def limit_class_ece(
    key: PRNGKeyArray,
    ratio: ArrayLike,
    theta_norm: ArrayLike,
    t: ArrayLike,
    *,
    num_classes: int,
    num_draws: int = 100_000,
) -> Estimate:
    """Estimate the top-label ECE as p/n -> `ratio`, for sigma = 1, from draws of K logits: no data and no bins.

    The truth, max softmax(rho z), is on one side of the claim, max softmax(z), for every z: the ECE is the mean of
    their distance. All entries share the draws.

    Args:
      key: used once.
      ratio, theta_norm: c >= 0 and |theta| >= 0.
      t: Mixup weight in [0, 1); at 1 the claim is 1 / K, and the result NaN.
      num_classes: K; static.
      num_draws: draws of the logits, at least 2; static.

    Returns:
      ECE of the broadcast shape with its standard error; 0 where rho = 1.

    Example:
      >>> import jax
      >>> from mixjax.gaussian import limit_class_ece
      >>> found = limit_class_ece(jax.random.key(0), 1.0, 1.0, 0.0, num_classes=3, num_draws=1000)
      >>> round(float(found.value), 2)
      0.23
    """
    check_size("num_classes", num_classes, least=2)
    check_size("num_draws", num_draws, least=2)
    arrays = jnp.broadcast_arrays(*aligned(*checked(ratio=ratio, theta_norm=theta_norm, t=t)))
    noise = normal(single(key), (num_draws, num_classes), arrays[0].dtype)
    flat = _limit_class_ece(noise, *(array.reshape(-1) for array in arrays))
    return jax.tree.map(lambda part: part.reshape(arrays[0].shape), flat)


@jax.jit
def _limit_class_ece(noise: jax.Array, ratio: jax.Array, theta_norm: jax.Array, t: jax.Array) -> Estimate:
    return jax.lax.map(lambda cell: _cell_ece(noise, *cell), (ratio, theta_norm, t))


def _cell_ece(noise: jax.Array, ratio: jax.Array, theta_norm: jax.Array, t: jax.Array) -> Estimate:
    """Estimate the ECE of a cell; the right class comes first, and a constant common to all logits cancels."""
    num_draws, num_classes = noise.shape
    square, keep = theta_norm**2, jnp.where(t < 1, 1.0 - t, jnp.nan)
    total = square + (num_classes - 1.0) * ratio
    scale = num_classes / (num_classes - 1.0)
    logits = keep * (jnp.sqrt(scale * total) * noise).at[:, 0].add(scale * square)
    rho = jnp.where(total > 0, square / (keep * total), jnp.nan)
    top = partial(jnp.max, axis=-1)
    distance = top(jax.nn.softmax(logits)) - top(jax.nn.softmax(rho * logits))
    distance = jnp.where(jnp.isnan(rho), jnp.nan, distance)  # XLA of jax 0.12 loses it in a maximum
    return Estimate(jnp.abs(jnp.mean(distance)), jnp.std(distance) / num_draws**0.5)
