"""Files of a bounded size, unzipped if they are zipped.

Memory is taken as bytes arrive, not by a header: a file that lies about its size costs the size of its content.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, runtime_checkable

from mixjax.runs.errors import RunError

LIMIT = 2**28  # bytes; the largest file here, the training images of MNIST, unzips to a sixth of it
_CHUNK = 2**20
_GZIP_MAGIC = b"\x1f\x8b"


def read_bytes(path: Path, limit: int = LIMIT) -> bytearray:
    """Read a file, and unzip it if its first bytes are those of a gzip file."""
    with readable(path), path.open("rb") as file:
        zipped = file.read(2) == _GZIP_MAGIC
        file.seek(0)
        source: Readable = gzip.GzipFile(fileobj=file) if zipped else file
        return read_at_most(source, limit, str(path))


@runtime_checkable
class Readable(Protocol):
    """A stream of bytes: a file, or what a zip archive has for one."""

    def read(self, size: int, /) -> bytes:
        """Read at most so many bytes."""


def read_at_most(source: Readable, limit: int, name: str) -> bytearray:
    """Read the rest of a stream."""
    content = bytearray()
    while chunk := source.read(_CHUNK):
        content += chunk
        if len(content) > limit:
            raise RunError(f"{name} holds more than {limit} bytes, the most that is read")
    return content


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn an error of reading or unzipping a file into one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise RunError(f"there is no file {path}") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise RunError(f"{path} is damaged or was not copied whole; get it again") from None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
