r"""Expectations over the mixing weight: a Gauss rule of Beta(alpha, beta) that holds both ends, 0 and 1.

Mixup of all pairs sees a function h of lambda as often as of 1 - lambda, so that h may be taken as symmetric, and

    E h(lambda) = h(1) + (t/2) E' [ (h(lambda') - h(1)) / (lambda' (1 - lambda')) ],    lambda' ~ Beta(alpha+1, beta+1),

with t the Mixup weight of `weights`. The ends are pairs of a row with itself: no Mixup. A Gauss rule of the right-hand
side (Gauss-Lobatto-Jacobi, exact for polynomials of degree 2 nodes + 1) has no singularity at alpha = 0, where t = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from mixjax.gaussian.rules import gauss_rule
from mixjax.numerics.arguments import BELOW_ONE, NOT_NEGATIVE, POSITIVE

_POSITIVE = (
    "positive (without one there is no fit where the classes are separable: from p/n = separable_ratio(theta_norm) on)"
)
RULES = {
    "beta": NOT_NEGATIVE,  # 0 with alpha = 0
    "penalty": POSITIVE._replace(words=_POSITIVE),
    "smoothing": BELOW_ONE,
}


class MixingRule(NamedTuple):
    """Nodes in (0, 1) and their weights; the rest of the weight, 1 - sum(weight), belongs to no Mixup."""

    lam: Float[Array, " nodes"]
    weight: Float[Array, " nodes"]


def mixing_rule(alpha: jax.Array, beta: jax.Array, count: int) -> MixingRule:
    """Return the rule of `count` inner nodes for one alpha >= 0 and beta >= 0."""
    k = np.arange(1, count, dtype=alpha.dtype)
    total = alpha + beta
    middle = 2.0 * k + total
    centers = jnp.concatenate(
        [((alpha - beta) / (total + 2.0))[None], (alpha - beta) * total / (middle * (middle + 2))]
    )
    squares = 4.0 * k * (k + alpha) * (k + beta) * (k + total) / (middle**2 * (middle + 1.0) * (middle - 1.0))
    x, chance = gauss_rule(centers, jnp.sqrt(squares))
    lam = 0.5 * (1.0 + x)
    return MixingRule(lam, 0.5 * _weight(alpha, beta) * chance / (lam * (1.0 - lam)))


def _weight(alpha: jax.Array, beta: jax.Array) -> jax.Array:
    """Return t = 2 alpha beta / ((alpha + beta)(alpha + beta + 1)), with its derivative along alpha = beta at 0."""
    total = alpha + beta
    product_by_sum = jnp.where(total > 0, alpha * beta / jnp.where(total > 0, total, 1.0), 0.25 * total)
    return 2.0 * product_by_sum / (total + 1.0)
