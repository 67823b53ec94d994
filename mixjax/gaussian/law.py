"""The law of a linear classifier's score, which is all that calibration depends on.

Paper: Definition 3.1 and the plug-in confidence of Section 3.1. Given an estimate theta_hat, the
score of a test point is v = theta_hat' x / sigma^2, and the confidence that y = +1 is
s(2v) = 1 / (1 + exp(-2v)). Under the model, y v ~ N(m, w), so that two numbers say everything,
whatever the dimension:

    m = <theta_hat, theta> / sigma^2,    w = |theta_hat|^2 / sigma^2,    P(y = +1 | v) = s(2 rho v),    rho = m / w.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from mixjax.numerics.arguments import aligned, as_floats, checked


class ScoreLaw(NamedTuple):
    """y v ~ N(mean, mean + gap): the law of a score, with the distance from calibration kept exact.

    `gap` = var - mean is carried because it, not its sign's loss in a subtraction, decides every
    calibration error: the classifier is calibrated where gap = 0, over-confident where gap > 0, and
    under-confident where gap < 0. A pytree; the two arrays have one shape.
    """

    mean: Float[Array, "*batch"]
    gap: Float[Array, "*batch"]

    @classmethod
    def from_moments(cls, mean: ArrayLike, var: ArrayLike) -> ScoreLaw:
        """From mean and variance; near calibration the subtraction costs digits of `gap`."""
        mean, var = as_floats(mean=mean, var=var)
        mean, var = jnp.broadcast_arrays(*aligned(mean, var))
        return cls(mean, var - mean)

    @property
    def var(self) -> Float[Array, "*batch"]:
        """The variance w = mean + gap."""
        return self.mean + self.gap

    @property
    def slope(self) -> Float[Array, "*batch"]:
        """rho = mean / var: P(y = +1 | v) = s(2 rho v). 1 is calibrated, below 1 over-confident."""
        return self.mean / self.var


def score_law(theta_hat: ArrayLike, theta: ArrayLike, *, sigma: ArrayLike = 1.0) -> ScoreLaw:
    r"""The law of the score of an estimate, :math:`m = \langle\hat\theta,\theta\rangle/\sigma^2`, and its exact gap.

    Args:
      theta_hat: estimates, shape [..., p].
      theta: mean of the test data given y = +1, shape [p] or [..., p].
      sigma: standard deviation of a coordinate given y, > 0.

    Returns:
      Laws of the batch shape.

    Raises:
      ValueError: if the last axes differ, or sigma is not positive (NaN under `jit`).
    """
    theta_hat, theta, sigma = checked(theta_hat=theta_hat, theta=theta, sigma=sigma)
    if theta_hat.ndim == 0 or theta.ndim == 0 or theta_hat.shape[-1] != theta.shape[-1]:
        raise ValueError(f"theta_hat and theta must end in the same p, got {theta_hat.shape} and {theta.shape}")
    theta_hat, theta = aligned(theta_hat, theta)
    mean = jnp.sum(theta_hat * theta, axis=-1)
    gap = jnp.sum(theta_hat * (theta_hat - theta), axis=-1)
    mean, gap, sigma = aligned(mean, gap, sigma)
    return ScoreLaw(mean / sigma**2, gap / sigma**2)


def checked_law(law: ScoreLaw) -> ScoreLaw:
    """The law in one floating dtype and one shape.

    Raises:
      TypeError: for what is not a `ScoreLaw` of real numbers.
    """
    if not isinstance(law, ScoreLaw):
        raise TypeError(f"law must be a ScoreLaw, got {type(law).__name__}")
    return ScoreLaw(*jnp.broadcast_arrays(*aligned(*as_floats(mean=law.mean, gap=law.gap))))
