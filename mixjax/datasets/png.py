"""PNG images of a size that is known beforehand, decoded by Pillow."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import UInt8

from mixjax.datasets.files import LIMIT
from mixjax.runs import RunError

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPES = {1: 0, 3: 2}  # channels: grey or red, green, blue; 8 bits each


def decode_pngs(encoded: Sequence[bytes], shape: tuple[int, int, int]) -> UInt8[np.ndarray, "N H W C"]:
    """The pixels of images of one shape (height, width, channels).

    The size within each header is compared before anything is unpacked.

    Raises:
      RunError: if Pillow is not installed.
      ValueError: for what is no such image; the message has its row.
    """
    try:
        from PIL import Image
    except ImportError:
        raise RunError("images need Pillow: pip install 'mixjax[datasets]'") from None
    height, width, channels = shape
    header = struct.pack(">II2B", width, height, 8, _COLOUR_TYPES[channels])
    if len(encoded) * height * width * channels > LIMIT:
        raise ValueError(f"{len(encoded)} images, more than memory is set aside for")
    pixels = np.empty((len(encoded), height, width, channels), np.uint8)
    for row, content in enumerate(encoded):
        if content[:8] != _SIGNATURE or content[16:26] != header:
            raise ValueError(f"image {row} is not a PNG file of {height}x{width} pixels with {channels} channels")
        try:
            with Image.open(io.BytesIO(content), formats=("PNG",)) as image:
                pixels[row] = np.asarray(image).reshape(shape)
        except (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error) as error:
            raise ValueError(f"image {row} cannot be decoded: {error}") from None
    return pixels
