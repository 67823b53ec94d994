"""Pixels of other dtypes as bytes, by a scale that the caller names: nothing is guessed from the values."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import UInt8

from mixjax.numerics.options import check_option

__all__ = ["Pixels", "as_bytes"]

Pixels = Literal["stored", "bytes", "unit", "sixteen-bit"]
_WHITE = {"unit": 1, "sixteen-bit": 65535}  # as it is stored; of "bytes" it is max_pixel


def as_bytes(inputs: np.ndarray, pixels: Pixels, max_pixel: int = 255) -> UInt8[np.ndarray, "..."]:
    r"""Return pixels as whole numbers in [0, max_pixel]: round(max_pixel x / white), half to even.

    Args:
      inputs: of any dtype of numbers.
      pixels: "bytes" for whole numbers up to max_pixel, of any dtype, which are kept; "unit" for 0 to 1, white being 1;
        "sixteen-bit" for 0 to 65535, white being 65535; "stored" for uint8, which is returned as it is.
      max_pixel: what white becomes.

    Returns:
      An array of the same shape; the error of rounding is at most half a step, 0.002 of white for max_pixel 255.

    Raises:
      ValueError: for pixels that are out of their range or NaN, and for "bytes" that are not whole.
      TypeError: for pixels that are no numbers, and for "stored" ones that are not uint8.

    Example:
      >>> import numpy as np
      >>> from mixjax.datasets.pixels import as_bytes
      >>> as_bytes(np.array([0.0, 0.5, 1.0]), "unit"), as_bytes(np.array([0, 65535]), "sixteen-bit")
      (array([  0, 128, 255], dtype=uint8), array([  0, 255], dtype=uint8))
    """
    check_option("pixels", pixels, Pixels)
    if pixels == "stored":
        if inputs.dtype != np.uint8:
            raise TypeError(f"uint8, got {inputs.dtype}")
        return inputs
    if inputs.dtype.kind not in "uif":
        raise TypeError(f"numbers, got {inputs.dtype}")
    white = _WHITE.get(pixels, max_pixel)
    wrong = ~((inputs >= 0) & (inputs <= white))  # NaN too
    wrong |= inputs != np.rint(inputs) if pixels == "bytes" and inputs.dtype.kind == "f" else False
    if wrong.any():
        kind = "whole numbers in" if pixels == "bytes" else "in"
        raise ValueError(f"{kind} [0, {white}], got {inputs[wrong][0]:.6g}")
    return np.rint(inputs.astype(np.float64) * (max_pixel / white)).astype(np.uint8)
