r"""RankMixup with M-NDCG: a net is to be less confident of mixed rows, the more they are mixed.

Each batch is mixed M times. The cross-entropy is of the rows alone; the mixed ones, whose labels are not learned, add a
penalty on confidences c that are not in the order of the weights:

.. math:: \ell_i = \mathrm{CE}_i + w \Bigl(1 - \frac{\min(D_i, I_i)}{\max(D_i, I_i)}\Bigr), \quad
          D_i = \sum_{m=0}^M \frac{c_{im}}{\log_2(m + 2)}, \quad I_i = \sum_{m=0}^M \frac{r_{im}}{\log_2(m + 2)}

Row i itself comes first, with :math:`r_{i0} = 1`, and then its mixes by falling :math:`r_{im}`, the larger share of a
class in the mixed label.

J. Noh, H. Park, J. Lee, B. Ham, "RankMixup: ranking-based Mixup training for network calibration" (ICCV 2023), whose
code takes M = 3 and w = 0.1. Unlike it, batch normalization sees rows and mixes together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mixjax.mixing import MixupDraw, draw_mixup
from mixjax.numerics.arguments import float_dtype

from .loss import cross_entropy

__all__ = ["RankedMixes", "draw_ranked_mixes"]

_MIXES = 3
_WEIGHT = 0.1


class RankedMixes(NamedTuple):
    """The mixes of a batch, and whether it is mixed at all."""

    mixes: tuple[MixupDraw, ...]
    mixed: Bool[Array, ""]

    def mix(self, rows: Float[Array, "N ..."]) -> Float[Array, "M ..."]:
        """Return the rows, and then each of their mixes: (M + 1) N rows; also of targets."""
        return jnp.concatenate([rows, *(each.mix(rows) for each in self.mixes)])

    def loss(self, logits: Float[Array, "M K"], targets: Float[Array, "M K"]) -> Float[Array, ""]:
        """Return the mean loss of a batch, from logits and targets in the order of `mix`."""
        dtype = float_dtype(logits=logits)
        logits, targets = (part.astype(dtype).reshape(_MIXES + 1, -1, part.shape[-1]) for part in (logits, targets))
        confidence = jax.nn.softmax(logits, axis=-1).max(-1)
        relevance = targets.max(-1).at[0].set(1.0)
        order = 1 + jnp.argsort(-relevance[1:], axis=0)
        discount = jnp.asarray(1 / np.log2(np.arange(2, _MIXES + 3)), dtype)
        ranked = (part.at[1:].set(jnp.take_along_axis(part, order, 0)) for part in (confidence, relevance))
        gain, ideal = (discount @ part for part in ranked)
        penalty = 1 - jnp.minimum(gain, ideal) / jnp.maximum(gain, ideal)
        return (cross_entropy(logits[0], targets[0]) + jnp.where(self.mixed, _WEIGHT * penalty, 0.0)).mean()


def draw_ranked_mixes(key: PRNGKeyArray, size: int, *, alpha: Any, **options: Any) -> RankedMixes:
    """Draw the mixes of a batch; for alpha = 0 the loss is the cross-entropy of its rows.

    Args:
      key: a single key.
      size: rows of the batch, static.
      alpha: of the weights.
      **options: `weight`, `pairing` and `fold` of `draw_mixup`.
    """
    keys = jax.random.split(key, _MIXES)
    return RankedMixes(tuple(draw_mixup(each, size, alpha=alpha, **options) for each in keys), jnp.asarray(alpha) > 0)
