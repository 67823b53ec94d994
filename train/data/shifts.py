"""Shifts of test images: rotation, noise and loss of contrast, by severity."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, UInt8

from .streams import Stream, stream_key

__all__ = ["SHIFTS", "Shift"]

Images = UInt8[np.ndarray, "N H W C"]
Shifted = Float32[Array, "N H W C"]


class Shift(NamedTuple):
    """A shift and its severities, from none on.

    `apply` maps images, severity and max_pixel to images in units of a pixel, in [0, max_pixel], not rounded.
    """

    apply: Callable[[Images, float, int], Shifted]
    severities: tuple[float, ...]
    axis: str  # their name and unit, for figures


def rotated(images: Images, degrees: float, max_pixel: int) -> Shifted:
    """Rotate counter-clockwise about the center, by bilinear interpolation, with 0 beyond the border."""
    height, width = images.shape[1:3]
    angle = np.deg2rad(degrees)
    y, x = np.mgrid[:height, :width].astype(np.float32)
    y, x = y - np.float32((height - 1) / 2), x - np.float32((width - 1) / 2)
    coordinates = [
        np.float32(np.cos(angle)) * y + np.float32(np.sin(angle)) * x + np.float32((height - 1) / 2),
        np.float32(np.cos(angle)) * x - np.float32(np.sin(angle)) * y + np.float32((width - 1) / 2),
    ]
    turn = partial(jax.scipy.ndimage.map_coordinates, coordinates=coordinates, order=1)
    values = jnp.asarray(images, jnp.float32)
    return jnp.clip(jax.vmap(jax.vmap(turn, -1, -1))(values), 0, max_pixel)


def noisy(images: Images, sd: float, max_pixel: int) -> Shifted:
    """Add normal noise of standard deviation `sd` max_pixel, always the same, and clip to [0, max_pixel]."""
    noise = jax.random.normal(stream_key(0, Stream.SHIFT), images.shape, jnp.float32)
    return jnp.clip(jnp.asarray(images, jnp.float32) + np.float32(sd * max_pixel) * noise, 0, max_pixel)


def pale(images: Images, lost: float, max_pixel: int) -> Shifted:
    """Draw each image towards its mean pixel: the share `lost` of its contrast goes."""
    values = jnp.asarray(images, jnp.float32)
    mean = values.mean((1, 2, 3), keepdims=True)
    return jnp.clip(mean + np.float32(1 - lost) * (values - mean), 0, max_pixel)


SHIFTS = {
    "rotation": Shift(rotated, (0.0, 10.0, 20.0, 30.0, 45.0, 60.0), "rotation\n(degrees)"),
    "noise": Shift(noisy, (0.0, 0.1, 0.2, 0.3, 0.4, 0.5), "noise\n(s.d.)"),
    "contrast": Shift(pale, (0.0, 0.25, 0.5, 0.7, 0.8, 0.9), "contrast lost\n(share)"),
}
