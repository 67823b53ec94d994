r"""Mixup of a batch: convex combinations of rows and of their targets.

Paper: Section 2, the definition of Mixup: :math:`\tilde x = \lambda x_i + (1 - \lambda) x_j` and the same of the
targets, :math:`\lambda \sim \mathrm{Beta}(\alpha, \beta)`. By default as in the reference code of H. Zhang,
M. Cisse, Y. N. Dauphin, D. Lopez-Paz, "mixup: beyond empirical risk minimization" (ICLR 2018): one lambda a batch, not
folded, partners by a random permutation. (The theory's estimator is the expectation over all pairs:
`gaussian.mixup_estimator`.)
"""

from __future__ import annotations

from typing import Literal, TypeVar, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, PRNGKeyArray

from mixjax._arguments import checked
from mixjax._threefry import single

__all__ = ["mixup"]

Inputs = TypeVar("Inputs")
Weight = Literal["batch", "sample"]
Pairing = Literal["permutation", "reverse", "roll"]


def mixup(
    key: PRNGKeyArray,
    inputs: Inputs,
    targets: Float[Array, "N ..."],
    *,
    alpha: ArrayLike,
    beta: ArrayLike | None = None,
    weight: Weight = "batch",
    pairing: Pairing = "permutation",
    fold: bool = False,
) -> tuple[Inputs, Float[Array, "N ..."]]:
    r"""lambda * rows + (1 - lambda) * partners, of the inputs and of their targets.

    Args:
      key: spent on lambda and on the pairing.
      inputs: an array or a pytree of arrays, floating, of leading axis N.
      targets: soft targets, floating, leading axis N: `jax.nn.one_hot(labels, num_classes)`.
      alpha: of the Beta law, >= 0; 0 is no Mixup: rows are returned as they are, to the last bit.
      beta: of the Beta law, > 0; `alpha` by default.
      weight: one lambda a "batch", or one a "sample"; static.
      pairing: partners by a random "permutation", the batch in "reverse", or the next row ("roll"); static.
      fold: use max(lambda, 1 - lambda), so that a row keeps at least half; static.

    Returns:
      (inputs, targets) of the same shapes and dtypes. Under `jit` NaN for an alpha or beta out of range.

    Raises:
      ValueError: for alpha < 0, beta <= 0, unknown options, or leading axes that differ.
      TypeError: for integer inputs or targets.

    alpha and beta are data: changing them does not recompile.
    """
    a, b = checked(alpha=alpha) * 2 if beta is None else checked(alpha=alpha, beta=beta)
    for name, value, options in (("weight", weight, Weight), ("pairing", pairing, Pairing)):
        if value not in get_args(options):
            raise ValueError(f"{name} must be one of {get_args(options)}, got {value!r}")
    size = _batch_size(inputs, targets)
    key_weight, key_pairing = jax.random.split(single(key))
    lam = _draw_weight(key_weight, a, b, (size,) if weight == "sample" else (), fold)
    partner = _partners(key_pairing, size, pairing)

    def mixed(rows: jax.Array) -> jax.Array:
        share = lam.reshape(lam.shape + (1,) * (rows.ndim - lam.ndim)).astype(rows.dtype)
        return jnp.where(share == 1, rows, share * rows + (1 - share) * rows[partner])

    return jax.tree.map(lambda leaf: mixed(jnp.asarray(leaf)), (inputs, targets))


def _batch_size(inputs: object, targets: jax.Array) -> int:
    for name, leaf in (("targets", targets), *(("inputs", leaf) for leaf in jax.tree.leaves(inputs))):
        if not jnp.issubdtype(jnp.asarray(leaf).dtype, np.floating):
            advice = "jax.nn.one_hot(labels, num_classes)" if name == "targets" else "inputs.astype(float)"
            raise TypeError(f"{name} must be floating, got {jnp.asarray(leaf).dtype}; use {advice}")
    sizes = {np.shape(leaf)[:1] for leaf in (targets, *jax.tree.leaves(inputs))}
    if len(sizes) != 1 or sizes == {()}:
        raise ValueError(f"inputs and targets must have one leading axis in common, got {sorted(sizes)}")
    return int(next(iter(sizes))[0])


def _draw_weight(key: jax.Array, a: jax.Array, b: jax.Array, shape: tuple[int, ...], fold: bool) -> jax.Array:
    """lambda ~ Beta(a, b), 1 where a = 0, NaN where a or b is."""
    usual = (a > 0) & (b > 0)
    lam = jax.random.beta(key, jnp.where(usual, a, 1.0), jnp.where(usual, b, 1.0), shape)
    lam = jnp.maximum(lam, 1.0 - lam) if fold else lam
    return jnp.where(a == 0, 1.0, jnp.where(usual, lam, jnp.nan))


def _partners(key: jax.Array, size: int, pairing: Pairing) -> jax.Array:
    if pairing == "permutation":
        return jax.random.permutation(key, size)
    index = jnp.arange(size)
    return index[::-1] if pairing == "reverse" else jnp.roll(index, -1)
