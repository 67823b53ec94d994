"""Mixup and RegMixup of a batch, and the law of lambda and of the partners."""

from __future__ import annotations

from functools import partial
from typing import Literal, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mixjax.mixing.batches import batch_size, soft_targets
from mixjax.numerics.arguments import checked, float_dtype
from mixjax.numerics.meshes import keeping_rows
from mixjax.numerics.options import check_option
from mixjax.numerics.threefry import single
from mixjax.typing import ArrayLike

Inputs = TypeVar("Inputs")
Weight = Literal["batch", "sample"]
Pairing = Literal["permutation", "reverse", "roll"]


def mixup(
    key: PRNGKeyArray,
    inputs: Inputs,
    targets: ArrayLike,
    *,
    alpha: ArrayLike,
    beta: ArrayLike | None = None,
    num_classes: int | None = None,
    weight: Weight = "batch",
    pairing: Pairing = "permutation",
    fold: bool = False,
) -> tuple[Inputs, Float[Array, "N ..."]]:
    r"""Mix a batch: lambda * rows + (1 - lambda) * partners, of the inputs and of their targets.

    Args:
      key: a single key, for lambda and for the pairing.
      inputs: an array or a pytree of arrays, floating, with leading axis N.
      targets: soft targets, floating, leading axis N; with `num_classes`, labels.
      alpha: first parameter of the Beta law, >= 0; 0 is no Mixup and returns rows to the last bit.
      beta: second parameter of the Beta law, > 0; `alpha` by default.
      num_classes: K, for targets that are labels in [0, K), shape [N]; they are mixed as rows of the unit matrix, in
        the dtype of the inputs (float32 at least). Static.
      weight: "batch" for one lambda per batch, "sample" for one per row; static.
      pairing: "permutation" for random partners, "reverse" for the batch in reverse, "roll" for the next row; static.
      fold: True to use max(lambda, 1 - lambda), so that a row keeps at least half; static.

    Returns:
      (inputs, targets) of the same shapes and dtypes, of labels [N, K]. Under `jit` NaN for an alpha or beta out of
      range, and for a label that is not a class. alpha and beta are data: changing them does not recompile.

    Raises:
      ValueError: for alpha < 0, beta <= 0, unknown options, labels that are not a class, or leading axes that differ.
      TypeError: for integer inputs, for integer targets without `num_classes`, and for other targets with it.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from mixjax import mixup
      >>> rows, targets = mixup(jax.random.key(0), jnp.eye(4), jnp.eye(4), alpha=1.0)
      >>> print(targets.sum(axis=1).round(3))
      [1. 1. 1. 1.]
    """
    soft = soft_targets(targets, num_classes, inputs)
    size = batch_size("inputs", inputs, soft)
    draw = draw_mixup(key, size, alpha=alpha, beta=beta, weight=weight, pairing=pairing, fold=fold)
    return jax.tree.map(lambda leaf: draw.mix(jnp.asarray(leaf)), (inputs, soft))


def regmixup(
    key: PRNGKeyArray,
    inputs: Inputs,
    targets: ArrayLike,
    *,
    alpha: ArrayLike,
    beta: ArrayLike | None = None,
    num_classes: int | None = None,
    weight: Weight = "batch",
    pairing: Pairing = "permutation",
    fold: bool = False,
) -> tuple[Inputs, Float[Array, "M ..."]]:
    """Append the mixed batch to the batch: 2N rows, whose mean loss is half the clean and half the mixed one.

    Arguments and errors are those of `mixup`; the authors use alpha = 20 or 10.

    Returns:
      (inputs, targets) with leading axis 2N; the unmixed rows come first.

    Reference: F. Pinto, H. Yang, S.-N. Lim, P. H. S. Torr, P. K. Dokania, "RegMixup" (NeurIPS 2022).

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from mixjax.mixing import regmixup
      >>> regmixup(jax.random.key(0), jnp.eye(4), jnp.eye(4), alpha=1.0)[0].shape
      (8, 4)
    """
    soft = soft_targets(targets, num_classes, inputs)
    mixed = mixup(key, inputs, soft, alpha=alpha, beta=beta, weight=weight, pairing=pairing, fold=fold)
    return jax.tree.map(lambda clean, other: jnp.concatenate([clean, other]), (inputs, soft), mixed)


class MixupDraw(NamedTuple):
    """The random part of `mixup`. It can be drawn ahead, for many batches at once (`jax.vmap`).

    Attributes:
      lam: share of a row itself in [0, 1], shape [] or [N].
      partner: index of the row that it is mixed with, shape [N].

    Example:
      >>> import jax.numpy as jnp
      >>> from mixjax.mixing import MixupDraw
      >>> print(MixupDraw(lam=jnp.array(0.75), partner=jnp.array([1, 0])).mix(jnp.array([0.0, 1.0])))
      [0.25 0.75]
    """

    lam: Float[Array, "..."]
    partner: Int[Array, " N"]

    def mix(self, rows: Float[Array | np.ndarray, "N ..."]) -> Float[Array, "N ..."]:
        """Return lambda * rows + (1 - lambda) * partners in the dtype of the rows; rows to the last bit if lambda is 1.

        float16 and bfloat16 are computed in float32 and rounded once, so that their lambda is that of the targets.
        """
        return _mixed(rows, self)


@keeping_rows
def _mixed(rows: jax.Array | np.ndarray, draw: MixupDraw) -> jax.Array:
    wide = rows.astype(float_dtype(rows=rows))
    share = draw.lam.reshape(draw.lam.shape + (1,) * (wide.ndim - draw.lam.ndim)).astype(wide.dtype)
    return jnp.where(share == 1, wide, share * wide + (1 - share) * wide[draw.partner]).astype(rows.dtype)


def draw_mixup(
    key: PRNGKeyArray,
    size: int,
    *,
    alpha: ArrayLike,
    beta: ArrayLike | None = None,
    weight: Weight = "batch",
    pairing: Pairing = "permutation",
    fold: bool = False,
) -> MixupDraw:
    """Draw lambda and the partners of `mixup`.

    Args:
      size: rows of the batch, static.
      key, alpha, beta, weight, pairing, fold: as for `mixup`, with its errors.

    Example:
      >>> import jax
      >>> from mixjax.mixing import draw_mixup
      >>> print(draw_mixup(jax.random.key(0), 4, alpha=1.0, pairing="roll").partner)
      [1 2 3 0]
    """
    a, b = checked(alpha=alpha) * 2 if beta is None else checked(alpha=alpha, beta=beta)
    check_option("weight", weight, Weight)
    check_option("pairing", pairing, Pairing)
    return _drawn(single(key), a, b, size, weight, pairing, fold)


@partial(jax.jit, static_argnums=(3, 4, 5, 6))
def _drawn(key: jax.Array, a: jax.Array, b: jax.Array, size: int, weight: str, pairing: str, fold: bool) -> MixupDraw:
    """Draw a batch's lambda and partners: one program, outside of `jit` too."""
    key_weight, key_pairing = jax.random.split(key)
    lam = _draw_weight(key_weight, a, b, (size,) if weight == "sample" else (), fold)
    return MixupDraw(lam, _partners(key_pairing, size, pairing))


def _draw_weight(key: jax.Array, a: jax.Array, b: jax.Array, shape: tuple[int, ...], fold: bool) -> jax.Array:
    """Draw lambda ~ Beta(a, b); 1 where a = 0, NaN where a or b is."""
    usual = (a > 0) & (b > 0)
    # in the dtype of a, not in JAX's default one: the draw depends on no setting of JAX
    lam = jax.random.beta(key, jnp.where(usual, a, 1.0), jnp.where(usual, b, 1.0), shape, a.dtype)
    lam = jnp.maximum(lam, 1.0 - lam) if fold else lam
    return jnp.where(a == 0, 1.0, jnp.where(usual, lam, jnp.nan))


def _partners(key: jax.Array, size: int, pairing: str) -> jax.Array:
    if pairing == "permutation":
        return jax.random.permutation(key, size)
    index = jnp.arange(size)
    return index[::-1] if pairing == "reverse" else jnp.roll(index, -1)
