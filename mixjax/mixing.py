r"""Mixup of a batch: convex combinations of rows and of their targets.

Paper: Section 2, the definition of Mixup: :math:`\tilde x = \lambda x_i + (1 - \lambda) x_j` and the same of the
targets, :math:`\lambda \sim \mathrm{Beta}(\alpha, \beta)`. The defaults are those of the reference code of H. Zhang,
M. Cisse, Y. N. Dauphin, D. Lopez-Paz, "mixup: beyond empirical risk minimization" (ICLR 2018): one lambda a batch, not
folded, partners by a random permutation. (The theory's estimator is the expectation over all pairs:
`gaussian.mixup_estimator`.)

CutMix and RegMixup are two relatives that the paper leaves to future work. (Manifold Mixup is `mixup` of hidden values,
which the nets of `train` support.)
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeVar, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mixjax.calibration.rows.clean import refuse
from mixjax.calibration.rows.predictions import as_labels
from mixjax.numerics.arguments import as_array, check_size, checked, float_dtype, known
from mixjax.numerics.meshes import keeping_rows
from mixjax.numerics.threefry import single
from mixjax.typing import ArrayLike

__all__ = ["CutMixDraw", "MixupDraw", "cutmix", "draw_cutmix", "draw_mixup", "mixup", "regmixup"]

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
    soft = _soft(targets, num_classes, inputs)
    size = _batch_size("inputs", inputs, soft)
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
    soft = _soft(targets, num_classes, inputs)
    mixed = mixup(key, inputs, soft, alpha=alpha, beta=beta, weight=weight, pairing=pairing, fold=fold)
    return jax.tree.map(lambda clean, other: jnp.concatenate([clean, other]), (inputs, soft), mixed)


def cutmix(
    key: PRNGKeyArray,
    images: Float[Array | np.ndarray, "N H W C"],
    targets: ArrayLike,
    *,
    alpha: ArrayLike,
    beta: ArrayLike | None = None,
    num_classes: int | None = None,
    weight: Weight = "batch",
    pairing: Pairing = "permutation",
) -> tuple[Float[Array, "N H W C"], Float[Array, "N ..."]]:
    r"""Paste a box of the partner's pixels into each image, and mix targets in proportion to the areas.

    The box has sides :math:`\lfloor H \sqrt{1 - \lambda} \rfloor` and :math:`\lfloor W \sqrt{1 - \lambda} \rfloor`
    around a random pixel, cut off at the borders; a row's share of its target is the rest of the area, not lambda.

    The paper's sides are not rounded: :math:`H \sqrt{1 - \lambda}`, equation (2). Its authors' code, torchvision and
    timm round down to an even number of pixels. The box here lies between the two. The mean share that is pasted at
    alpha = 1:

    ==================  =====  =====  =====
    images              8x8    32x32  224x224
    ==================  =====  =====  =====
    paper               .321   .321   .321
    here                .280   .310   .319
    its authors' code   .233   .299   .318
    ==================  =====  =====  =====

    Args:
      images: floating, shape [N, H, W, C].
      key, targets, alpha, beta, num_classes, weight, pairing: as for `mixup`, with its errors.

    Returns:
      (images, targets) of the same shapes and dtypes; alpha = 0 returns the batch.

    Reference: S. Yun, D. Han, S. J. Oh, S. Chun, J. Choe, Y. Yoo, "CutMix" (ICCV 2019).

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from mixjax.mixing import cutmix
      >>> images, targets = cutmix(jax.random.key(0), jnp.ones((4, 3, 3, 1)), jnp.eye(4), alpha=1.0)
      >>> images.shape, targets.shape
      ((4, 3, 3, 1), (4, 4))
    """
    soft = _soft(targets, num_classes, images)
    size = _batch_size("images", images, soft)
    if np.ndim(images) != 4:
        raise ValueError(f"images must have shape [N, H, W, C], got {np.shape(images)}")
    images = jnp.asarray(images)
    height, width = images.shape[1:3]
    draw = draw_cutmix(key, size, (height, width), alpha=alpha, beta=beta, weight=weight, pairing=pairing)
    return draw.paste(images), draw.area.mix(soft)


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


class CutMixDraw(NamedTuple):
    """The random part of `cutmix`.

    Attributes:
      inside: True for the partner's pixels, shape [H, W] or [N, H, W].
      area: the draw that mixes the targets: the share of the area that a row keeps, and its partner.

    Example:
      >>> import jax
      >>> from mixjax.mixing import draw_cutmix
      >>> draw_cutmix(jax.random.key(0), 4, (3, 3), alpha=1.0).inside.shape
      (3, 3)
    """

    inside: Bool[Array, "... H W"]
    area: MixupDraw

    def paste(self, images: Float[Array | np.ndarray, "N H W C"]) -> Float[Array, "N H W C"]:
        """Return images with the partners' pixels inside the box."""
        return _pasted(images, self)


@keeping_rows
def _mixed(rows: jax.Array | np.ndarray, draw: MixupDraw) -> jax.Array:
    wide = rows.astype(float_dtype(rows=rows))
    share = draw.lam.reshape(draw.lam.shape + (1,) * (wide.ndim - draw.lam.ndim)).astype(wide.dtype)
    return jnp.where(share == 1, wide, share * wide + (1 - share) * wide[draw.partner]).astype(rows.dtype)


@keeping_rows
def _pasted(images: jax.Array | np.ndarray, draw: CutMixDraw) -> jax.Array:
    inside = draw.inside.reshape((1,) * (3 - draw.inside.ndim) + (*draw.inside.shape, 1))
    return jnp.where(inside, images[draw.area.partner], images)


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
    """Draw the box and the partners of `cutmix`.

    Args:
      size: images of the batch, static.
      shape: (H, W) of an image, static.
      key, alpha, beta, weight, pairing: as for `mixup`, with its errors.

    Example:
      >>> import jax
      >>> from mixjax.mixing import draw_cutmix
      >>> print(draw_cutmix(jax.random.key(0), 4, (3, 3), alpha=1.0, pairing="roll").area.partner)
      [1 2 3 0]
    """
    key_draw, key_box = jax.random.split(single(key))
    draw = draw_mixup(key_draw, size, alpha=alpha, beta=beta, weight=weight, pairing=pairing)
    inside = _box(key_box, draw.lam, shape)
    kept = 1 - inside.mean((-2, -1), dtype=np.float32)
    return CutMixDraw(inside, MixupDraw(jnp.where(jnp.isnan(draw.lam), jnp.nan, kept), draw.partner))


def _box(key: jax.Array, lam: jax.Array, shape: tuple[int, int]) -> jax.Array:
    """Return True for the partner's pixels, shape [..., H, W]."""
    insides = []
    for side_key, length in zip(jax.random.split(key), shape, strict=True):
        center = jax.random.randint(side_key, lam.shape, 0, length, np.int32)
        side = jnp.floor(length * jnp.sqrt(1 - lam)).astype(np.int32)
        first, pixel = center - side // 2, jnp.arange(length, dtype=np.int32).reshape((1,) * lam.ndim + (-1,))
        insides.append((pixel >= first[..., None]) & (pixel < (first + side)[..., None]))
    rows, columns = insides
    return rows[..., :, None] & columns[..., None, :]


def _soft(targets: ArrayLike, num_classes: int | None, inputs: object) -> jax.Array:
    """Return soft targets, of labels the rows of the unit matrix."""
    if num_classes is None:
        return jnp.asarray(as_array("targets", targets))
    num_classes = check_size("num_classes", num_classes)
    hint = " (num_classes= is for labels; leave it out for soft targets)"
    if (labels := as_labels(targets, name="targets", hint=hint)).ndim != 1:
        raise ValueError(f"targets must be labels of shape [N] with num_classes, got {labels.shape}")
    if (host := known(labels)) is not None:
        hint = "; leave rows without a label out of the batch" if (host < 0).any() else ""
        refuse("targets", host, (host >= 0) & (host < num_classes), f"in [0, {num_classes})", None, hint)
    soft = jax.nn.one_hot(labels, num_classes, dtype=float_dtype(inputs=jax.tree.leaves(inputs)[0]))
    return jnp.where(((labels >= 0) & (labels < num_classes))[:, None], soft, jnp.nan)


def _batch_size(given: str, inputs: object, targets: jax.Array) -> int:
    """Return N; messages name the inputs as they were given."""
    for name, leaf in (("targets", targets), *((given, leaf) for leaf in jax.tree.leaves(inputs))):
        if not jnp.issubdtype(jnp.asarray(leaf).dtype, np.floating):
            advice = "num_classes= for labels" if name == "targets" else f"{name}.astype(float)"
            raise TypeError(f"{name} must be floating, got {jnp.asarray(leaf).dtype}; use {advice}")
    sizes = {np.shape(leaf)[:1] for leaf in (targets, *jax.tree.leaves(inputs))}
    if len(sizes) != 1 or sizes == {()}:
        raise ValueError(f"{given} and targets must have one leading axis in common, got {sorted(sizes)}")
    return int(next(iter(sizes))[0])


def _draw_weight(key: jax.Array, a: jax.Array, b: jax.Array, shape: tuple[int, ...], fold: bool) -> jax.Array:
    """Draw lambda ~ Beta(a, b); 1 where a = 0, NaN where a or b is."""
    usual = (a > 0) & (b > 0)
    # in the dtype of a, not in JAX's default one: the draw depends on no setting of JAX
    lam = jax.random.beta(key, jnp.where(usual, a, 1.0), jnp.where(usual, b, 1.0), shape, a.dtype)
    lam = jnp.maximum(lam, 1.0 - lam) if fold else lam
    return jnp.where(a == 0, 1.0, jnp.where(usual, lam, jnp.nan))


def _partners(key: jax.Array, size: int, pairing: Pairing) -> jax.Array:
    if pairing == "permutation":
        return jax.random.permutation(key, size)
    index = jnp.arange(size)
    return index[::-1] if pairing == "reverse" else jnp.roll(index, -1)
