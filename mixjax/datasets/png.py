"""PNG images of a size that is known beforehand, encoded and decoded by Pillow."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import UInt8

from mixjax.datasets.packages import import_optional

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOR_TYPES = {1: 0, 3: 2}  # channels: gray or red, green, blue; 8 bits each
_WHAT = "a PNG image"


def decode_pngs(encoded: Sequence[bytes], shape: tuple[int, int, int]) -> UInt8[np.ndarray, "N H W C"]:
    """Decode images of one shape (height, width, channels).

    The size within each header is compared before anything is unpacked.
    """
    pillow = import_optional("PIL.Image", _WHAT)
    height, width, channels = shape
    header = struct.pack(">II2B", width, height, 8, _COLOR_TYPES[channels])
    pixels = np.empty((len(encoded), *shape), np.uint8)
    for row, content in enumerate(encoded):
        if content[:8] != _SIGNATURE or content[16:26] != header:
            raise ValueError(f"image {row} is not a PNG file of {height}x{width} pixels with {channels} channels")
        try:
            with pillow.open(io.BytesIO(content), formats=("PNG",)) as image:
                pixels[row] = np.asarray(image).reshape(shape)
        except (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error) as error:
            raise ValueError(f"image {row} cannot be decoded: {error}") from None
    return pixels


def encode_png(image: UInt8[np.ndarray, "H W C"]) -> bytes:
    """Encode an image of one or three channels."""
    buffer = io.BytesIO()
    import_optional("PIL.Image", _WHAT).fromarray(image[..., 0] if image.shape[-1] == 1 else image).save(buffer, "PNG")
    return buffer.getvalue()
