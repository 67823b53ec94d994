r"""CRC-32C of many byte strings at once (RFC 3720, appendix B.4; the checksum of TFRecord files).

The remainder of a string is found two bytes a step, for all strings side by side: the loop is as long as a string, not
as a file. Strings end together: zeros before the first byte leave a remainder that begins at 0 as it is, and beginning
at :math:`2^{32} - 1`, as the definition asks, is to begin at 0 with the first four bytes inverted.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from jaxtyping import Int64, UInt8, UInt32

_POLYNOMIAL = 0x82F63B78  # bits reversed
_ROWS = 4096  # side by side, for the cache


def crc32c(
    content: UInt8[np.ndarray, " bytes"], starts: Int64[np.ndarray, " N"], lengths: Int64[np.ndarray, " N"]
) -> UInt32[np.ndarray, " N"]:
    """Checksums of ``content[start : start + length]``, which lie within the content; of an empty string it is 0.

    Memory is 8192 times the longest string. Exact: tests/datasets/test_crc32c.py has the vectors of the RFC, and the
    definition bit by bit.
    """
    sums = np.empty(len(starts), np.uint32)
    order = np.argsort(lengths, kind="stable")
    for rows in np.split(order, range(_ROWS, len(order), _ROWS)):
        sums[rows] = _side_by_side(content, starts[rows], lengths[rows])
    return sums


def _side_by_side(content: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    width = int(lengths.max(initial=0) + 1) // 2 * 2
    aligned = np.zeros((len(starts), width), np.uint8)
    for row, start, length in zip(aligned, starts.tolist(), lengths.tolist(), strict=True):
        row[width - length :] = content[start : start + length]
        row[width - length : width - length + 4] ^= 0xFF
    remainder = np.zeros(len(starts), np.uint32)
    for words in np.ascontiguousarray(aligned.view("<u2").T):
        remainder = _table()[(remainder ^ words) & 0xFFFF] ^ (remainder >> 16)
    left = np.uint32(0xFFFFFFFF) >> (8 * np.minimum(lengths, 3)).astype(np.uint32)  # of what shorter strings began at
    return ~(remainder ^ np.where(lengths < 4, left, 0).astype(np.uint32))


@cache
def _table() -> np.ndarray:
    """What 16 bits leave behind, for each of the 65536 values."""
    table = np.arange(2**16, dtype=np.uint32)
    for _ in range(16):
        table = (table >> 1) ^ np.where(table & 1, np.uint32(_POLYNOMIAL), np.uint32(0))
    return table
