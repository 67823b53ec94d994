"""Arrays with a checksum, as the bytes of an .npz file; bytes that are damaged are never parsed.

The checksum also covers the identity of the arrays: intact bytes under another name are damage too.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping

import numpy as np

from mixjax.runs.errors import RunError
from mixjax.runs.npz import unpack

MOST_BYTES = 2**30
_DIGEST_SIZE = 32


def seal(arrays: Mapping[str, np.ndarray], what: bytes) -> bytes:
    """Return the arrays as an .npz file whose zip comment is the SHA-256 of `what` and of all bytes before it."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = bytes(_DIGEST_SIZE)
    body = buffer.getvalue()[:-_DIGEST_SIZE]
    if len(body) + _DIGEST_SIZE > MOST_BYTES:
        raise RunError(f"a unit of work has results of {len(body)} bytes, and may have {MOST_BYTES}; make it smaller")
    return body + hashlib.sha256(what + body).digest()


def unseal(content: bytes, what: bytes) -> dict[str, np.ndarray] | None:
    """Return the arrays that were sealed as `what`, or None; damaged bytes are never parsed."""
    if hashlib.sha256(what + content[:-_DIGEST_SIZE]).digest() != content[-_DIGEST_SIZE:]:
        return None
    try:
        return unpack(content)
    except ValueError:
        return None
