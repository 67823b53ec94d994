"""Arrays with a checksum, as the bytes of an .npz file; bytes that are damaged are never parsed.

The checksum is also of what the arrays are: whole bytes under the name of something else are damage too.
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


def sealed(arrays: Mapping[str, np.ndarray], what: bytes) -> bytes:
    """An .npz file that ends in the SHA-256 of `what` and all before it, as the comment that a zip file may have.

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
    return body + hashlib.sha256(what + body).digest()


def unsealed(content: bytes, what: bytes) -> dict[str, np.ndarray] | None:
    """The arrays that were sealed as `what`, or None; damaged bytes are never parsed, whole ones are not trusted."""
    if hashlib.sha256(what + content[:-_DIGEST_SIZE]).digest() != content[-_DIGEST_SIZE:]:
        return None
    try:
        return unpack(content)
    except ValueError:
        return None
