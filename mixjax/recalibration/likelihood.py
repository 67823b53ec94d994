r"""The likelihood of the labels, and its derivatives, without cancellation.

With margins :math:`d_k` of the classes over the label (whose own is 0), everything follows from the log odds against
the label, :math:`o = \log \sum_{k \ne y} e^{d_k}`:

    loss = log(1 + e^o),    p_k = e^{d_k} / (1 + e^o),    1 - p_y = s(o).

So small losses and residuals have all their digits, of which a softmax close to 1 has none in float32.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class Likelihood(NamedTuple):
    """The negative log likelihood of each row, probabilities of the classes, and probabilities minus the outcome."""

    loss: Float[Array, " N"]
    probs: Float[Array, "N K"]
    residual: Float[Array, "N K"]


def likelihood(margins: Float[Array, "N K"], is_label: Bool[Array, "N K"], possible: Bool[Array, "N K"]) -> Likelihood:
    """Return the likelihood of labels under softmax(margins) of the possible classes; the margin of the label is 0."""
    others = jnp.where(is_label | ~possible, -jnp.inf, margins)
    highest = jax.lax.stop_gradient(jnp.max(others, axis=-1, keepdims=True))
    highest = jnp.where(highest > -jnp.inf, highest, 0.0)  # where only the label is possible
    odds = jnp.exp(others - highest)
    sum_of_odds = jnp.sum(odds, axis=-1, keepdims=True)
    against = highest + jnp.log(sum_of_odds)
    wrong, right = jax.nn.sigmoid(against), jax.nn.sigmoid(-against)
    others = odds * (wrong / jnp.where(sum_of_odds > 0, sum_of_odds, 1.0))
    probs, residual = jnp.where(is_label, right, others), jnp.where(is_label, -wrong, others)
    return Likelihood(jax.nn.softplus(against)[:, 0], probs, residual)


def softmax(scores: Float[Array, "*batch K"]) -> Float[Array, "*batch K"]:
    """Return the probabilities of classes, NaN where a score is: XLA's exp may lose a NaN that is a known constant."""
    wrong = jnp.any(jnp.isnan(scores), axis=-1, keepdims=True)
    return jnp.where(wrong, jnp.nan * scores, jax.nn.softmax(scores, axis=-1))  # the product has derivatives of NaN


def one_hot(labels: jax.Array, num_classes: int) -> Bool[Array, "N K"]:
    """Return True where a class is the label."""
    return labels[:, None] == jnp.arange(num_classes, dtype=labels.dtype)[None]


def margins_over_label(logits: jax.Array, is_label: jax.Array) -> Float[Array, "N K"]:
    """Subtract the logit of the label, whose margin is exactly 0."""
    return logits - jnp.sum(jnp.where(is_label, logits, 0.0), axis=-1, keepdims=True)
