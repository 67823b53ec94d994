"""Cross-entropy in float32, whatever the dtype of the logits."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from mixjax.numerics.arguments import float_dtype

__all__ = ["cross_entropy", "smooth"]


def smooth(targets: Float[Array, "N K"], smoothing: float) -> Float[Array, "N K"]:
    r"""Return :math:`(1 - \epsilon) y + \epsilon / K`: label smoothing.

    C. Szegedy, V. Vanhoucke, S. Ioffe, J. Shlens, Z. Wojna, "Rethinking the Inception architecture" (CVPR 2016),
    Section 7. It commutes with Mixup. For K = 2 it is the (1 - epsilon) y of `limit_logistic_scores`, whose labels are
    -1 and +1.

    Args:
      targets: rows that sum to 1.
      smoothing: epsilon in [0, 1); 0 returns the targets to the last bit. Static.
    """
    return (1 - smoothing) * targets + smoothing / targets.shape[-1] if smoothing else targets


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
