r"""Mixup of a batch: convex combinations of rows and of their targets.

Paper: Section 2, the definition of Mixup: :math:`\tilde x = \lambda x_i + (1 - \lambda) x_j` and the same of the
targets, :math:`\lambda \sim \mathrm{Beta}(\alpha, \beta)`. By default as in the reference code of H. Zhang,
M. Cisse, Y. N. Dauphin, D. Lopez-Paz, "mixup: beyond empirical risk minimization" (ICLR 2018): one lambda a batch, not
folded, partners by a random permutation. (The theory's estimator is the expectation over all pairs:
`gaussian.mixup_estimator`.)

Beside it two relatives that the paper leaves to future work: CutMix and RegMixup. (Manifold Mixup is `mixup` of hidden
values; the nets of `train` have a place for it.)
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeVar, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mixjax.numerics.arguments import checked, float_dtype
from mixjax.numerics.threefry import single

__all__ = ["CutMixDraw", "MixupDraw", "Pairing", "Weight", "cutmix", "draw_cutmix", "draw_mixup", "mixup", "regmixup"]

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
    size = _batch_size(inputs, targets)
    draw = draw_mixup(key, size, alpha=alpha, beta=beta, weight=weight, pairing=pairing, fold=fold)
    return jax.tree.map(lambda leaf: draw.mix(jnp.asarray(leaf)), (inputs, targets))


def regmixup(
    key: PRNGKeyArray,
    inputs: Inputs,
    targets: Float[Array, "N ..."],
    *,
    alpha: ArrayLike,
    beta: ArrayLike | None = None,
    weight: Weight = "batch",
    pairing: Pairing = "permutation",
    fold: bool = False,
) -> tuple[Inputs, Float[Array, "2N ..."]]:
    """The batch, and after it the batch mixed: 2N rows, whose mean loss is half the clean and half the mixed one.

    F. Pinto, H. Yang, S.-N. Lim, P. H. S. Torr, P. K. Dokania, "RegMixup: Mixup as a regularizer can surprisingly
    improve accuracy and out-distribution robustness" (NeurIPS 2022), who use alpha = 20 or 10. Arguments and errors as
    `mixup`.
    """
    mixed = mixup(key, inputs, targets, alpha=alpha, beta=beta, weight=weight, pairing=pairing, fold=fold)
    return jax.tree.map(lambda clean, other: jnp.concatenate([clean, other]), (inputs, targets), mixed)


def cutmix(
    key: PRNGKeyArray,
    images: Float[Array, "N H W C"],
    targets: Float[Array, "N ..."],
    *,
    alpha: ArrayLike,
    beta: ArrayLike | None = None,
    weight: Weight = "batch",
    pairing: Pairing = "permutation",
) -> tuple[Float[Array, "N H W C"], Float[Array, "N ..."]]:
    r"""A box of the partner's pixels in each image, and targets in the proportion of the areas.

    S. Yun, D. Han, S. J. Oh, S. Chun, J. Choe, Y. Yoo, "CutMix" (ICCV 2019): sides
    :math:`\lfloor H \sqrt{1 - \lambda} \rfloor` and :math:`\lfloor W \sqrt{1 - \lambda} \rfloor` around a pixel chosen
    at random, cut off at the borders; the share of the targets is what is left of the area, not lambda. Arguments and
    errors as `mixup`, and ValueError for images of another rank; alpha = 0 leaves the batch as it is.
    """
    size = _batch_size(images, targets)
    if np.ndim(images) != 4:
        raise ValueError(f"images must have shape [N, H, W, C], got {np.shape(images)}")
    images, targets = jnp.asarray(images), jnp.asarray(targets)
    height, width = images.shape[1:3]
    draw = draw_cutmix(key, size, (height, width), alpha=alpha, beta=beta, weight=weight, pairing=pairing)
    return draw.paste(images), draw.area.mix(targets)


class MixupDraw(NamedTuple):
    """The random part of `mixup`, which may be drawn ahead, for many batches at once (`jax.vmap`).

    Attributes:
      lam: the share of a row itself, one or one a row.
      partner: the row that it is mixed with.
    """

    lam: Float[Array, "..."]
    partner: Int[Array, " N"]

    def mix(self, rows: Float[Array, "N ..."]) -> Float[Array, "N ..."]:
        """lambda * rows + (1 - lambda) * partners; the rows themselves where lambda is 1.

        In the dtype of the rows; float16 and bfloat16 are computed in float32 and rounded once, so that their lambda
        is that of the targets.
        """
        wide = rows.astype(float_dtype(rows=rows))
        share = self.lam.reshape(self.lam.shape + (1,) * (wide.ndim - self.lam.ndim)).astype(wide.dtype)
        return jnp.where(share == 1, wide, share * wide + (1 - share) * wide[self.partner]).astype(rows.dtype)


class CutMixDraw(NamedTuple):
    """The random part of `cutmix`.

    Attributes:
      inside: which pixels are the partner's, of one image or of each.
      area: what mixes the targets: the share of the area that a row keeps, and its partner.
    """

    inside: Bool[Array, "... H W"]
    area: MixupDraw

    def paste(self, images: Float[Array, "N H W C"]) -> Float[Array, "N H W C"]:
        """Images with the partners' pixels inside the box."""
        inside = self.inside.reshape((1,) * (3 - self.inside.ndim) + (*self.inside.shape, 1))
        return jnp.where(inside, images[self.area.partner], images)


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
    """What `mixup` draws for a batch of `size` rows; arguments and errors as there."""
    a, b = checked(alpha=alpha) * 2 if beta is None else checked(alpha=alpha, beta=beta)
    for name, value, options in (("weight", weight, Weight), ("pairing", pairing, Pairing)):
        if value not in get_args(options):
            raise ValueError(f"{name} must be one of {get_args(options)}, got {value!r}")
    key_weight, key_pairing = jax.random.split(single(key))
    lam = _draw_weight(key_weight, a, b, (size,) if weight == "sample" else (), fold)
    return MixupDraw(lam, _partners(key_pairing, size, pairing))


def draw_cutmix(
    key: PRNGKeyArray,
    size: int,
    shape: tuple[int, int],
    *,
    alpha: ArrayLike,
    beta: ArrayLike | None = None,
    weight: Weight = "batch",
    pairing: Pairing = "permutation",
) -> CutMixDraw:
    """What `cutmix` draws for `size` images of `shape` (H, W); arguments and errors as there."""
    key_draw, key_box = jax.random.split(single(key))
    draw = draw_mixup(key_draw, size, alpha=alpha, beta=beta, weight=weight, pairing=pairing)
    inside = _box(key_box, draw.lam, shape)
    kept = 1 - inside.mean((-2, -1), dtype=np.float32)
    return CutMixDraw(inside, MixupDraw(jnp.where(jnp.isnan(draw.lam), jnp.nan, kept), draw.partner))


def _box(key: jax.Array, lam: jax.Array, shape: tuple[int, int]) -> jax.Array:
    """Which pixels [..., H, W] are the partner's."""
    insides = []
    for side_key, length in zip(jax.random.split(key), shape, strict=True):
        center = jax.random.randint(side_key, lam.shape, 0, length, np.int32)
        side = jnp.floor(length * jnp.sqrt(1 - lam)).astype(np.int32)
        first, pixel = center - side // 2, jnp.arange(length, dtype=np.int32).reshape((1,) * lam.ndim + (-1,))
        insides.append((pixel >= first[..., None]) & (pixel < (first + side)[..., None]))
    rows, columns = insides
    return rows[..., :, None] & columns[..., None, :]


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
    # in the dtype of a, not in JAX's default one: what is drawn depends on no setting of JAX
    lam = jax.random.beta(key, jnp.where(usual, a, 1.0), jnp.where(usual, b, 1.0), shape, a.dtype)
    lam = jnp.maximum(lam, 1.0 - lam) if fold else lam
    return jnp.where(a == 0, 1.0, jnp.where(usual, lam, jnp.nan))


def _partners(key: jax.Array, size: int, pairing: Pairing) -> jax.Array:
    if pairing == "permutation":
        return jax.random.permutation(key, size)
    index = jnp.arange(size)
    return index[::-1] if pairing == "reverse" else jnp.roll(index, -1)
