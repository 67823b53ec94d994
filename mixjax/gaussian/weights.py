r"""The Mixup weight t: what a Beta(alpha, beta) mixing law does to the estimator.

Paper: Section 3.1 and Appendix A. Averaging the mixed estimate over lambda gives

    theta_mix = (1 - t) theta_hat(0) + t xbar ybar,
    t = E 2 lambda (1 - lambda) = 2 alpha beta / ((alpha + beta)(alpha + beta + 1)),

so t is in [0, 1/2). (The paper writes (0, 1]; t = 1/2 needs lambda = 1/2 always.)
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from mixjax.numerics.arguments import Rule, aligned, checked
from mixjax.typing import ArrayLike

_UP_TO_HALF = Rule("in [0, 1/2]", lambda t: (t >= 0) & (t <= 0.5))


def mixup_weight(alpha: ArrayLike, beta: ArrayLike) -> Float[Array, "*batch"]:
    """Return the Mixup weight t = 2 alpha beta / ((alpha + beta)(alpha + beta + 1)) of lambda ~ Beta(alpha, beta).

    Args:
      alpha: >= 0; 0 is no Mixup (the paper's Beta(0, beta), a point mass at 0).
      beta: > 0. dt/dalpha at alpha = 0 is 2 / (beta + 1).

    Returns:
      t in [0, 1/2), of the broadcast shape.

    Example:
      >>> from mixjax.gaussian import mixup_weight
      >>> round(float(mixup_weight(1.0, 1.0)), 4)
      0.3333
    """
    alpha, beta = aligned(*checked(alpha=alpha, beta=beta))
    total = alpha + beta
    return 2.0 * (alpha / total) * (beta / (total + 1.0))


def symmetric_alpha(t: ArrayLike) -> Float[Array, "*batch"]:
    """Return the alpha = beta whose Mixup weight is t, which is t / (1 - 2t).

    Args:
      t: in [0, 1/2].

    Returns:
      alpha >= 0 of the shape of t; inf at t = 1/2.

    Example:
      >>> from mixjax.gaussian import symmetric_alpha
      >>> symmetric_alpha([0.0, 0.25, 0.5]).tolist()
      [0.0, 0.5, inf]
    """
    (t,) = checked({"t": _UP_TO_HALF}, t=t)
    return t / jnp.maximum(1.0 - 2.0 * t, 0.0)
