"""TFRecord files, without TensorFlow.

    length (64 bits), masked CRC-32C of the length, the record, masked CRC-32C of the record; all little-endian

Every length is held against what is left of the file, and every checksum is compared.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from mixjax.datasets.crc32c import crc32c
from mixjax.datasets.files import read_bytes
from mixjax.runs import RunError

LONGEST = 2**16  # bytes of a record; an image of CIFAR has 3072 before compression
_MASK = 0xA282EAD8


def read_tfrecord(path: Path) -> list[bytes]:
    """The records of a file, none of them longer than `LONGEST`.

    Raises:
      RunError: if the file is damaged, cut off, or not a TFRecord file.
    """
    content = read_bytes(path)
    starts = _starts(path, content)
    lengths = np.diff(np.append(starts, len(content) + 12)) - 16
    data = np.frombuffer(content, np.uint8)
    for begins, sizes in ((starts - 12, np.full_like(starts, 8)), (starts, lengths)):
        wrong = _stored(data, begins + sizes) != masked(crc32c(data, begins, sizes))
        if wrong.any():
            raise RunError(f"{path} is damaged: checksum of record {int(np.argmax(wrong))}; get it again")
    ends = starts + lengths
    return [content[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def masked(crc: np.ndarray) -> np.ndarray:
    """A checksum as it is stored: rotated by 15 bits, with a constant added modulo 2^32."""
    return ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(_MASK)


def _starts(path: Path, content: bytes) -> np.ndarray:
    """Where each record begins."""
    starts, position = [], 0
    while position < len(content):
        left = len(content) - position
        length = struct.unpack_from("<Q", content, position)[0] if left >= 16 else 0
        if left < 16 + length:
            raise RunError(f"{path} is damaged or cut off in record {len(starts)}; get it again")
        if length > LONGEST:
            raise RunError(f"{path}: record {len(starts)} has {length} bytes, too many for the images known here")
        starts.append(position + 12)
        position += 16 + length
    return np.array(starts, np.int64)


def _stored(data: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The 32-bit numbers that begin at given bytes."""
    return data[places[:, None] + np.arange(4)[None]].view("<u4")[:, 0]
