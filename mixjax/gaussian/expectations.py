r"""Noise-free finite-(n, p) expectations of the calibration errors: quadrature instead of sampling.

The exact law of `samplers` for a single weight t needs three of its six numbers. Given the mean label,
theta_hat(t) ~ N(kappa theta, tau^2 I) with tau^2 = (kappa^2 + t^2 ybar^2 (1 - ybar^2)) / n, hence

    m = |theta| u,    gap = u (u - |theta|) + tau^2 chi^2_{p-1},    u = kappa |theta| + tau Z.

* ybar enters through its square alone. The Gauss rule of its own law (Krawtchouk polynomials) is exact for
  polynomials at every n, and is the whole law as soon as n < 2 * nodes.
* Z: Gauss-Legendre between the points where the errors are not smooth: u = 0 (an uninformative classifier;
  the MCE jumps there) and the two roots of gap = 0 (a calibrated one; every error has a kink there).
* chi^2_{p-1}: Gauss-Legendre in its root, split where those two roots meet and cease to be.
"""

from __future__ import annotations

import math
from functools import partial

import jax
import jax.numpy as jnp

from mixjax.gaussian.law import ScoreLaw
from mixjax.gaussian.population import CalibrationErrors, population_errors
from mixjax.gaussian.rules import LARGEST_NORMAL, chi_rule, gauss_rule, panels
from mixjax.numerics.arguments import aligned, checked
from mixjax.numerics.options import check_size
from mixjax.typing import ArrayLike


def expected_errors(
    *,
    n: ArrayLike,
    p: ArrayLike,
    theta_norm: ArrayLike,
    t: ArrayLike,
    sigma: ArrayLike = 1.0,
    num_nodes: int = 12,
) -> CalibrationErrors:
    """Return the expected errors over training sets of size n in dimension p, without sampling.

    Args:
      n, p, theta_norm, t, sigma: as for `sample_scores`; they broadcast, and changing them does not recompile.
      num_nodes: of each one-dimensional rule (half as many for the labels), at least 4; static.

    Returns:
      E ECE, E ECE_2 (of the root) and E MCE, of the broadcast shape. Their differences between two t are those of
      paired experiments.

    Accuracy, float64, 12 nodes: absolute 5e-6 for p >= 10 and 1e-4 below, relative 5e-4; the error falls
    geometrically with num_nodes (tests/gaussian/test_expectations.py). Cost: 6 * 36 * 60 laws an entry.

    Example:
      >>> from mixjax.gaussian import expected_errors
      >>> round(float(expected_errors(n=100, p=100, theta_norm=2.0, t=0.0, num_nodes=4).ece), 3)
      0.009
    """
    check_size("num_nodes", num_nodes, least=4)
    n, p, theta_norm, t, sigma = aligned(*checked(n=n, p=p, theta_norm=theta_norm, t=t, sigma=sigma))
    arrays = jnp.broadcast_arrays(n, p, theta_norm / sigma, t)
    flat = [a.reshape(-1) for a in arrays]
    return jax.tree.map(lambda e: e.reshape(arrays[0].shape), _expected_errors(*flat, num_nodes=num_nodes))


@partial(jax.jit, static_argnames="num_nodes")
def _expected_errors(
    n: jax.Array, p: jax.Array, theta: jax.Array, t: jax.Array, *, num_nodes: int
) -> CalibrationErrors:
    return jax.lax.map(lambda cell: _expected_errors_of_cell(*cell, num_nodes=num_nodes), (n, p, theta, t))


def _expected_errors_of_cell(
    n: jax.Array, p: jax.Array, theta: jax.Array, t: jax.Array, *, num_nodes: int
) -> CalibrationErrors:
    square, label_weights = _mean_label_square_rule(n, num_nodes // 2)  # of ybar^2
    square = jnp.where(label_weights > 1e-15, square, 1.0)  # spare nodes: where no estimate can be 0
    spread = 1.0 - square
    kappa = 1.0 - t * spread
    tau = jnp.sqrt((kappa**2 + t**2 * square * spread) / n)
    across, across_weights = chi_rule(p - 1.0, 0.5 * theta / tau, num_nodes)  # length = theta^2 / 4: one root

    # axes: labels, across, along
    kappa, spread, tau = (a[:, None, None] for a in (kappa, spread, tau))
    length = (tau * across[:, :, None]) ** 2
    z, along_weights = _along_rule(kappa * theta, tau, length, theta, num_nodes)
    u = kappa * theta + tau * z
    law = ScoreLaw(theta * u, u * (tau * z - t * spread * theta) + length)
    weights = label_weights[:, None, None] * across_weights[:, :, None] * along_weights
    impossible = law.var <= 0  # var = 0 only where p = 1 and u = 0, in a panel of no width
    return jax.tree.map(lambda error: jnp.sum(jnp.where(impossible, 0.0, error) * weights), population_errors(law))


def _along_rule(
    center: jax.Array, tau: jax.Array, length: jax.Array, theta: jax.Array, num_nodes: int
) -> tuple[jax.Array, jax.Array]:
    """Return nodes and weights for Z, in panels that meet at 0 and where u = 0 or u (u - theta) + length = 0."""
    reach = LARGEST_NORMAL[center.dtype]
    root = jnp.sqrt(jnp.maximum(theta**2 - 4.0 * length, 0.0))
    larger = 0.5 * (theta + root)  # without real roots, any point will do
    smaller = jnp.minimum(larger, length / jnp.maximum(larger, jnp.finfo(larger.dtype).tiny))
    breaks = [(u - center) / tau for u in (jnp.zeros_like(root), smaller, larger)]
    z, dz = panels([*breaks, jnp.zeros_like(root)], -reach, reach, num_nodes)
    return z, dz * jnp.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)


def _mean_label_square_rule(n: jax.Array, num_nodes: int) -> tuple[jax.Array, jax.Array]:
    """Return the Gauss rule of ybar^2 for n fair signs; the law itself if n < 2 num_nodes (spare nodes: weight 0)."""
    k = jnp.arange(2 * num_nodes, dtype=n.dtype)
    b = jnp.maximum(k * (n - k + 1.0), 0.0) / n**2  # squared off-diagonal of ybar's own Jacobi matrix; b[0] = 0
    even, odd = b[0::2], b[1::2]
    return gauss_rule(even + odd, jnp.sqrt(odd[:-1] * even[1:]))
