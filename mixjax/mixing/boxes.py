"""CutMix of a batch, and the law of its boxes."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mixjax.mixing.batches import batch_size, soft_targets
from mixjax.mixing.convex import MixupDraw, Pairing, Weight, draw_mixup
from mixjax.numerics.meshes import keeping_rows
from mixjax.numerics.threefry import single
from mixjax.typing import ArrayLike


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
    soft = soft_targets(targets, num_classes, images)
    size = batch_size("images", images, soft)
    if np.ndim(images) != 4:
        raise ValueError(f"images must have shape [N, H, W, C], got {np.shape(images)}")
    images = jnp.asarray(images)
    height, width = images.shape[1:3]
    draw = draw_cutmix(key, size, (height, width), alpha=alpha, beta=beta, weight=weight, pairing=pairing)
    return draw.paste(images), draw.area.mix(soft)


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
def _pasted(images: jax.Array | np.ndarray, draw: CutMixDraw) -> jax.Array:
    inside = draw.inside.reshape((1,) * (3 - draw.inside.ndim) + (*draw.inside.shape, 1))
    return jnp.where(inside, images[draw.area.partner], images)


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
    return _boxed(key_box, draw, shape)


@partial(jax.jit, static_argnums=2)
def _boxed(key: jax.Array, draw: MixupDraw, shape: tuple[int, int]) -> CutMixDraw:
    """Draw boxes of the area 1 - lambda, and return the share that each leaves."""
    inside = _box(key, draw.lam, shape)
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
