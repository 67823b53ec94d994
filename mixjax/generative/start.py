"""The affine map that gives both classes the right means and, on average, the right covariance.

Learning h_hat starts here: at the minimizer of the criterion over affine maps as far as two moments go (for two
Gaussians of one covariance, W_2 depends on these alone). Like Section 3.4, it leaves the remaining rotation open.

`gaussian.fit_whitening` is the compiled, shrunk whitening of rows in their own units. This one is in double precision
on the host and does not shrink: it has to detect directions in which the rows do not vary, and to keep their moments.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import PRNGKeyArray

from mixjax.generative.network import LeakyReluNetwork
from mixjax.random import normal
from mixjax.typing import Real

_SMALLEST = 1e-8  # variance of a direction in which x is taken to vary, as a part of the largest


class AffineStart(NamedTuple):
    """The map x -> matrix (x - center), with matrix of shape [p, d]."""

    matrix: np.ndarray
    center: np.ndarray


def affine_start(x: np.ndarray, y: np.ndarray, theta: np.ndarray) -> AffineStart:
    """Whiten x within its classes, and rotate the difference of their means into the direction of theta.

    Args:
      x: rows, shape [m, d], two of a class or more.
      y: labels -1 and +1, shape [m].
      theta: target mean of class +1, shape [p].

    Returns:
      The map: along theta the best linear discriminant, across it the p - 1 other directions of most variance.

    Raises:
      ValueError: if x varies in fewer than p directions within its classes.
    """
    x, y, theta = (np.asarray(a, np.float64) for a in (x, y, theta))
    upper, lower = x[y > 0].mean(axis=0), x[y < 0].mean(axis=0)
    within = x - np.where(y[:, None] > 0, upper, lower)
    variances, directions = np.linalg.eigh(within.T @ within / (len(x) - 2))
    kept = variances > _SMALLEST * variances[-1]
    whiten = (directions[:, kept] / np.sqrt(variances[kept])).T[::-1]  # most variance first
    if len(whiten) < len(theta):
        raise ValueError(
            f"x must vary in at least p = {len(theta)} directions within its classes, got {len(whiten)} "
            f"from {len(x)} rows: learn from more rows"
        )
    discriminant = whiten @ (upper - lower)
    turn = _frame(theta, len(theta)) @ _frame(discriminant, len(theta)).T
    return AffineStart(turn @ whiten, (upper + lower) / 2)


def _frame(first: np.ndarray, count: int) -> np.ndarray:
    """Return orthonormal columns, the first along a vector (an axis if it is 0), the others near the first axes."""
    size = len(first)
    first = first if first.any() else np.eye(size)[0]
    frame, corner = np.linalg.qr(np.column_stack([first, np.eye(size)]))
    return frame[:, :count] * np.sign(corner[0, 0]) ** (np.arange(count) == 0)


def affine_network(
    key: PRNGKeyArray, affine: AffineStart, *, width: int, num_hidden: int, slope: Real, dtype: DTypeLike = np.float32
) -> LeakyReluNetwork:
    """Build a network equal to an affine map: units come in pairs of opposite sign, s(u) - s(-u) = (1 + slope) u.

    Reference: D. Balduzzi et al., "The shattered gradients problem" (ICML 2017).
    """
    half, (matrix, center) = width // 2, affine
    keys = jax.random.split(key, num_hidden)
    frames = [np.asarray(jnp.linalg.qr(normal(k, (half, half), dtype))[0], np.float64) for k in keys]
    so_far = frames[0][:, : len(matrix)]
    matrices = [_paired_out(so_far @ matrix)]
    for frame in frames[1:]:
        matrices.append(_paired_out(_paired_in(frame)) / (1 + slope))
        so_far = frame @ so_far
    matrices.append(_paired_in(so_far.T) / (1 + slope))
    biases = [-matrices[0] @ center, *(np.zeros(len(m)) for m in matrices[1:])]
    first, second = (tuple(jnp.asarray(a, dtype) for a in part) for part in (matrices, biases))
    return LeakyReluNetwork(first, second, jnp.asarray(slope, dtype))


def _paired_out(matrix: np.ndarray) -> np.ndarray:
    return np.concatenate([matrix, -matrix])


def _paired_in(matrix: np.ndarray) -> np.ndarray:
    return np.concatenate([matrix, -matrix], axis=1)
