"""Cross-entropy in float32, whatever the dtype of the logits."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from mixjax.numerics.arguments import float_dtype

__all__ = ["cross_entropy"]


def cross_entropy(logits: Float[Array, "N K"], targets: Float[Array, "N K"] | Int[Array, " N"]) -> Float[Array, " N"]:
    r"""Return :math:`-\sum_k y_k \log \mathrm{softmax}(z)_k` of each row, in nats.

    Args:
      logits: [N, K]; promoted to float32 at least.
      targets: soft targets [N, K], or labels [N], which count as their one-hot vectors. Mixup's soft targets give the
        two-term loss of the reference code, lambda * CE(own label) + (1 - lambda) * CE(label of the partner).

    Raises:
      ValueError: for targets of another shape.
    """
    logits = logits.astype(float_dtype(logits=logits))
    if jnp.issubdtype(targets.dtype, jnp.integer) and targets.ndim == 1:
        targets = jax.nn.one_hot(targets, logits.shape[-1], dtype=logits.dtype)
    if logits.ndim != 2 or targets.shape != logits.shape:
        raise ValueError(
            f"targets must be labels [N] or have the shape of the logits, {logits.shape}, got {targets.shape}"
        )
    return -jnp.sum(targets.astype(logits.dtype) * jax.nn.log_softmax(logits, axis=-1), axis=-1)
