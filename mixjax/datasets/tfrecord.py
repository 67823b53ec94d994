"""TFRecord files, without TensorFlow.

    length (64 bits), masked CRC-32C of the length, the record, masked CRC-32C of the record; all little-endian

Every length is compared with the rest of the file, and every checksum with the content.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from mixjax.datasets.packages import import_optional
from mixjax.runs import RunError
from mixjax.runs.files import read_bytes

_HEAD, _TAIL = struct.Struct("<QI"), struct.Struct("<I")
_MASK = 0xA282EAD8


def read_tfrecord(path: Path) -> list[bytes]:
    """Read the records of a file."""
    crc32c = import_optional("google_crc32c", str(path)).value
    content = memoryview(read_bytes(path))
    records = []
    for number, (length, record, sums) in enumerate(_framed(path, content)):
        if tuple(_masked(crc32c(part)) for part in (length, record)) != sums:
            raise RunError(f"{path} is damaged: record {number} does not have its checksum; get it again")
        records.append(record)
    return records


def _framed(path: Path, content: memoryview) -> Iterator[tuple[bytes, bytes, tuple[int, int]]]:
    """Yield the bytes of each record's length, the record, and the two checksums as they are stored."""
    position, number = 0, 0
    while left := len(content) - position:
        length, of_length = _HEAD.unpack_from(content, position) if left >= _HEAD.size else (left, 0)
        if length > left - _HEAD.size - _TAIL.size:
            raise RunError(f"{path} is cut off or damaged in record {number}; get it again")
        begin = position + _HEAD.size
        end = begin + length
        (of_record,) = _TAIL.unpack_from(content, end)
        yield bytes(content[position : position + 8]), bytes(content[begin:end]), (of_length, of_record)
        position, number = end + _TAIL.size, number + 1


def _masked(crc: int) -> int:
    """Return a checksum as it is stored: rotated by 15 bits, with a constant added modulo 2^32."""
    return (((crc >> 15) | (crc << 17)) + _MASK) & 0xFFFFFFFF
