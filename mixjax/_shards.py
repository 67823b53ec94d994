"""Arrays with a checksum, as the bytes of an .npz file; bytes that are damaged are never parsed."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping

import numpy as np

_DIGEST_SIZE = 32


def sealed(arrays: Mapping[str, np.ndarray]) -> bytes:
    """An .npz file that ends in the SHA-256 of all before it, as the comment that a zip file may have."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = bytes(_DIGEST_SIZE)
    body = buffer.getvalue()[:-_DIGEST_SIZE]
    return body + hashlib.sha256(body).digest()


def unsealed(content: bytes) -> dict[str, np.ndarray] | None:
    """The arrays, or None if anything is wrong; damaged bytes are never parsed."""
    if hashlib.sha256(content[:-_DIGEST_SIZE]).digest() != content[-_DIGEST_SIZE:]:
        return None
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile):
        return None
