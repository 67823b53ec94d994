r"""Mixup inference in training, decoupled in the last layer: MIT-L.

Each batch is mixed with two weights, and the net's two answers are solved for what it would answer to the rows and to
their partners, as if it were linear in between. The loss is the mean of both cross-entropies, with labels that are not
mixed:

.. math:: z_1 = \lambda_1 a + (1 - \lambda_1) b, \quad z_2 = \lambda_2 a + (1 - \lambda_2) b

D.-B. Wang, L. Li, P. Zhao, P.-A. Heng, M.-L. Zhang, "On the pitfall of Mixup for uncertainty calibration" (CVPR 2023).
As in its code, :math:`\lambda_1 \ge 1/2 \ge \lambda_2` are drawn anew until they are half apart. Unlike it, batch
normalization sees both mixed batches together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mixjax.mixing import MixupDraw, draw_mixup

__all__ = ["TwoMixes", "draw_two_mixes"]

_MARGIN = 0.5  # least lambda_1 - lambda_2


class TwoMixes(NamedTuple):
    """Two weights of the same pairs: each row has the larger share in the first, its partner in the second."""

    first: MixupDraw
    second: MixupDraw

    def mix(self, rows: Float[Array, "N ..."]) -> Float[Array, "M ..."]:
        """Return both mixed batches, one after the other: 2N rows."""
        return jnp.concatenate([self.first.mix(rows), self.second.mix(rows)])

    def targets(self, targets: Float[Array, "N K"]) -> Float[Array, "M K"]:
        """Return the targets of the rows, and then those of their partners."""
        return jnp.concatenate([targets, targets[self.first.partner]])

    def unmix(self, logits: Float[Array, "M K"]) -> Float[Array, "M K"]:
        """Solve the logits of both mixed batches for those of the rows, and then of their partners."""
        z1, z2 = jnp.split(logits, 2)
        l1, l2 = self.first.lam, self.second.lam
        return jnp.concatenate([(1 - l2) * z1 - (1 - l1) * z2, l1 * z2 - l2 * z1]) / (l1 - l2)


def draw_two_mixes(key: PRNGKeyArray, size: int, **options: Any) -> TwoMixes:
    """Draw the pairs and two weights of a batch; 1 and 0 where alpha is 0.

    Args:
      key: a single key.
      size: rows of the batch, static.
      **options: `alpha` and `pairing` of `draw_mixup`. The time grows with alpha: one pair of weights in 2 is half
        apart for alpha = 1, one in 32 for alpha = 5, and one in 290,000 for alpha = 20.
    """
    key_pairs, key_weights = jax.random.split(key)

    def weights(key: PRNGKeyArray) -> tuple[PRNGKeyArray, jax.Array, jax.Array]:
        key, *keys = jax.random.split(key, 3)
        first, second = (draw_mixup(each, size, fold=True, **options).lam for each in keys)
        return key, first, 1 - second

    close = lambda drawn: drawn[1] - drawn[2] < _MARGIN  # noqa: E731
    _, first, second = jax.lax.while_loop(close, lambda drawn: weights(drawn[0]), weights(key_weights))
    pairs = draw_mixup(key_pairs, size, **options)
    return TwoMixes(pairs._replace(lam=first), pairs._replace(lam=second))
