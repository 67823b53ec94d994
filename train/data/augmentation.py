"""Random crops and horizontal flips of a batch of images, each image with draws of its own.

Conventions, torchvision's: an image is padded with zeros before it is normalized (black, not the mean), cropped back
to its size at an offset that is uniform on 0..2 padding in either direction, and mirrored left to right with
probability 1/2.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, PRNGKeyArray, Shaped

from mixjax.numerics.threefry import Source

Images = Shaped[Array, "B H W C"]


def augment(key: PRNGKeyArray, images: Images, *, crop_padding: int = 4, flip: bool = True) -> Images:
    """Crop and flip images at random, in their shape and dtype.

    Args:
      key: `stream_key(seed, Stream.AUGMENT, epoch, step)`. The draws of an image depend on the key and on its
        row only, not on the size of the batch.
      images: [B, H, W, C], raw.
      crop_padding: zeros added on each side before the crop; 0 is no crop; static.
      flip: whether to flip; static.

    Offsets are 32-bit words modulo 2 padding + 1: uniform to 4e-9 for a padding of 4.
    """
    if images.ndim != 4:
        raise ValueError(f"images must be [B, H, W, C], got {images.shape}")
    source = Source.of(key, images.shape[:1])
    if crop_padding:
        images = _crop(images, source.words(0), crop_padding)
    if flip:
        mirrored = source.words(1)[0] >= np.uint32(2**31)
        images = jnp.where(mirrored[:, None, None, None], images[:, :, ::-1], images)
    return images


def _crop(images: jax.Array, words: tuple[jax.Array, jax.Array], padding: int) -> jax.Array:
    padded = jnp.pad(images, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    top, left = ((word % np.uint32(2 * padding + 1)).astype(np.int32) for word in words)

    def cropped(image: jax.Array, y: jax.Array, x: jax.Array) -> jax.Array:
        return lax.dynamic_slice(image, (y, x, jnp.zeros_like(x)), images.shape[1:])

    return jax.vmap(cropped)(padded, top, left)
