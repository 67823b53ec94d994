"""Arrays with a checksum, as the bytes of an .npz file; bytes that are damaged are never parsed."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping

import numpy as np

from mixjax._npz import unpack
from mixjax._writing import RunError

MOST_BYTES = 2**30
_DIGEST_SIZE = 32


def sealed(arrays: Mapping[str, np.ndarray]) -> bytes:
    """An .npz file that ends in the SHA-256 of all before it, as the comment that a zip file may have.

    Raises:
      RunError: if it has more than `MOST_BYTES`, which are not read again.
    """
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = bytes(_DIGEST_SIZE)
    body = buffer.getvalue()[:-_DIGEST_SIZE]
    if len(body) + _DIGEST_SIZE > MOST_BYTES:
        raise RunError(f"a unit of work has results of {len(body)} bytes, and may have {MOST_BYTES}; make it smaller")
    return body + hashlib.sha256(body).digest()


def unsealed(content: bytes) -> dict[str, np.ndarray] | None:
    """The arrays, or None if anything is wrong; damaged bytes are never parsed, and the others are not trusted."""
    if hashlib.sha256(content[:-_DIGEST_SIZE]).digest() != content[-_DIGEST_SIZE:]:
        return None
    try:
        return unpack(content)
    except ValueError:
        return None
