"""The squared loss in place of the logistic one: the limit then has a closed form."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from mixjax.gaussian.logistic.mixing import MixingRule
from mixjax.gaussian.logistic.pair_loss import Pull


def squared_pull(v: jax.Array, chance: jax.Array, rule: MixingRule, smoothing: jax.Array) -> Pull:
    """Return the pull of the squared loss l'(u; s) = u - s, whose limit has a closed form; partners cancel in it."""
    same = 1.0 - jnp.sum(rule.weight) + jnp.sum(rule.weight * (rule.lam**2 + (1.0 - rule.lam) ** 2))
    return Pull(same * (v - (1.0 - smoothing)), jnp.broadcast_to(same, v.shape), jnp.zeros((len(v), len(v)), v.dtype))
