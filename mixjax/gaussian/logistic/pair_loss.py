r"""The loss of all pairs, and how it pulls at the logit of a training row.

Penalized logistic regression with Mixup and label smoothing eps minimizes, over w, with u = X w,

    E_{i,j,lambda} l(lambda u_i + (1 - lambda) u_j; (1 - eps)(lambda y_i + (1 - lambda) y_j)) + (mu/2) |w|^2,
    l(u; s) = log(1 + e^u) - (1 + s) u / 2,    l'(u; s) = (tanh(u/2) - s) / 2.

In the limit the partner j of a row is one of all rows: with v = y u of a row, whose law is that of v(g), g ~ N(0, 1),
the pull on a row is the derivative of the loss in its v,

    f(v) = 2 E_{lambda, e, g'} [ lambda l'(lambda v + (1 - lambda) e v(g'); (1 - eps)(lambda + (1 - lambda) e)) ],

where e = +1 or -1, with equal chances, says whether the partner is of the same class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mixjax.gaussian.logistic.mixing import MixingRule


class Pull(NamedTuple):
    """f(v_k) at the nodes, and its derivatives: in v_k itself (`own`), and in every v_l through the partner."""

    value: Float[Array, " G"]
    own: Float[Array, " G"]
    partner: Float[Array, "G G"]


# A loss of pairs: (v [G], the chances of its nodes [G], rule, smoothing) -> its pull.
PairLoss = Callable[[jax.Array, jax.Array, MixingRule, jax.Array], Pull]


def logistic_pull(v: jax.Array, chance: jax.Array, rule: MixingRule, smoothing: jax.Array) -> Pull:
    r"""Return the pull of the logistic loss.

    The two e share one quotient: with x = tanh(lambda v_k / 2), X = 1 - x^2, and y, Y of the partner with 1 - lambda,

        tanh(a + b) + tanh(a - b) = 2 x Y / Q,    Q = X + Y - X Y = 1 - x^2 y^2,

    which cancels nowhere, and likewise the derivatives.
    """
    share = jnp.stack([rule.lam, 1.0 - rule.lam])[..., None]  # [2, J, 1]: a row has lambda or 1 - lambda
    weight = rule.weight[None, :, None]
    x, square = _tanh_and_complement(0.5 * share * v[None, None])
    y, partner_square = x[::-1, :, ::2], square[::-1, :, ::2]  # every other node is enough for an average
    chances = partner_square * (chance[::2] / jnp.sum(chance[::2]))[None, None]
    quotient = square[..., :, None] + partner_square[..., None, :] * (1.0 - square)[..., :, None]
    inverse = 1.0 / jnp.maximum(quotient, jnp.finfo(v.dtype).tiny)
    once = jnp.einsum("ajkl,ajl->ajk", inverse, chances)
    twice = jnp.einsum("ajkl,ajl->ajk", inverse**2, chances)
    label = 1.0 - smoothing
    mixed = 0.5 * jnp.sum(weight * share * (x * once - share * label), axis=(0, 1))
    own = 0.25 * jnp.sum(weight * share**2 * square * (2.0 * twice - once), axis=(0, 1))
    coupled = -0.5 * jnp.einsum("ajk,ajkl,ajl->kl", weight * share * share[::-1] * square * x, inverse**2, chances * y)
    wrong = jax.nn.sigmoid(-v)
    pull = jnp.where(jnp.abs(v) < 1.0, 0.5 * (jnp.tanh(0.5 * v) - label), 0.5 * smoothing - wrong)
    alone = 1.0 - jnp.sum(rule.weight)
    partner = jnp.zeros((len(v), len(v)), v.dtype).at[:, ::2].set(coupled)
    return Pull(alone * pull + mixed, alone * wrong * (1.0 - wrong) + own, partner)


def _tanh_and_complement(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return tanh(x) and 1 - tanh(x)^2, to full relative precision."""
    small = jnp.exp(-2.0 * jnp.abs(x))
    return jnp.tanh(x), 4.0 * small / (1.0 + small) ** 2
