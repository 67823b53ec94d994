"""The law of a linear classifier's score, which alone decides its calibration.

Paper: Definition 3.1 and the plug-in confidence of Section 3.1. Given an estimate theta_hat, the
score of a test point is v = theta_hat' x / sigma^2, and the confidence that y = +1 is
s(2v) = 1 / (1 + exp(-2v)). Under the model, y v ~ N(m, w), so that two numbers decide everything,
whatever the dimension:

    m = <theta_hat, theta> / sigma^2,    w = |theta_hat|^2 / sigma^2,    P(y = +1 | v) = s(2 rho v),    rho = m / w.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mixjax.numerics.arguments import aligned, as_floats, checked
from mixjax.typing import ArrayLike

Function = TypeVar("Function", bound=Callable[..., Any])


class ScoreLaw(NamedTuple):
    """The law of a score, y v ~ N(mean, mean + gap); a pytree of two arrays of one shape.

    `gap` = var - mean decides every calibration error. It is stored because the subtraction would lose its digits. The
    classifier is calibrated where gap = 0, over-confident where gap > 0, and under-confident where gap < 0.

    Example:
      >>> from mixjax.gaussian import ScoreLaw
      >>> law = ScoreLaw.from_moments(mean=1.0, var=1.25)
      >>> float(law.gap), round(float(law.slope), 3)
      (0.25, 0.8)
    """

    mean: Float[Array, "*batch"]
    gap: Float[Array, "*batch"]

    @classmethod
    def from_moments(cls, mean: ArrayLike, var: ArrayLike) -> ScoreLaw:
        """Build the law from mean and variance; near calibration the subtraction costs digits of `gap`."""
        mean, var = as_floats(mean=mean, var=var)
        mean, var = jnp.broadcast_arrays(*aligned(mean, var))
        return cls(mean, var - mean)

    @property
    def var(self) -> Float[Array, "*batch"]:
        """The variance w = mean + gap."""
        return self.mean + self.gap

    @property
    def slope(self) -> Float[Array, "*batch"]:
        """rho = mean / var in P(y = +1 | v) = s(2 rho v): 1 is calibrated, below 1 over-confident."""
        return self.mean / self.var


def score_law(theta_hat: ArrayLike, theta: ArrayLike, *, sigma: ArrayLike = 1.0) -> ScoreLaw:
    r"""Return the law of the score of an estimate, with a gap that does not cancel.

    Args:
      theta_hat: estimates, shape [..., p].
      theta: mean of the test data given y = +1, shape [p] or [..., p].
      sigma: standard deviation of a coordinate given y, > 0.

    Returns:
      Laws of the batch shape: :math:`m = \langle\hat\theta,\theta\rangle/\sigma^2` and its gap.

    Raises:
      ValueError: if the last axes differ, or sigma is not positive (NaN under `jit`).

    Example:
      >>> from mixjax.gaussian import score_law
      >>> law = score_law([1.0, 0.5], [1.0, 0.0])
      >>> float(law.mean), float(law.gap)
      (1.0, 0.25)
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
    """Return the law in one floating dtype and one shape, or raise TypeError unless it is a `ScoreLaw` of numbers."""
    if not isinstance(law, ScoreLaw):
        raise TypeError(f"law must be a ScoreLaw, got {type(law).__name__}")
    mean, gap = aligned(*as_floats(mean=law.mean, gap=law.gap))
    return ScoreLaw(mean, gap) if mean.shape == gap.shape else ScoreLaw(*jnp.broadcast_arrays(mean, gap))


def of_law(function: Function) -> Function:
    """Compile a function of a law, for all that `checked_law` takes."""
    compiled = jax.jit(function)

    @wraps(function)
    def call(law: ScoreLaw) -> Any:
        return compiled(checked_law(law))

    return cast("Function", call)


@jax.jit
def masked_law(mean: jax.Array, gap: jax.Array) -> ScoreLaw:
    """Broadcast mean and gap, and make the mean NaN where the gap, which depends on more of the arguments, is."""
    mean, gap = jnp.broadcast_arrays(mean, gap)
    return ScoreLaw(jnp.where(jnp.isnan(gap), gap, mean), gap)
