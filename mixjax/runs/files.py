"""The bytes of a file, unzipped if it is zipped, and never more of them than a limit.

Memory is taken as bytes arrive, not as a header says: a file that lies about its size costs what it holds.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from mixjax.runs.errors import RunError

LIMIT = 2**28  # bytes; the largest file here, the training images of MNIST, unzips to a sixth of it
_CHUNK = 2**20
_GZIP_MAGIC = b"\x1f\x8b"


def read_bytes(path: Path, limit: int = LIMIT) -> bytearray:
    """The content of a file; that it is a gzip file is seen from its first bytes, not from its name.

    Raises:
      RunError: if it cannot be read, is damaged, or holds more than `limit` bytes.
    """
    with readable(path), path.open("rb") as file:
        zipped = file.read(2) == _GZIP_MAGIC
        file.seek(0)
        source = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if zipped else file
        return read_at_most(source, limit, str(path))


def read_at_most(source: BinaryIO, limit: int, name: str) -> bytearray:
    """What is left of a stream.

    Raises:
      RunError: if that is more than `limit` bytes, of which no more than one chunk is then read.
    """
    content = bytearray()
    while chunk := source.read(_CHUNK):
        content += chunk
        if len(content) > limit:
            raise RunError(f"{name} holds more than {limit} bytes, more than is read")
    return content


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what goes wrong while a file is read or unzipped into one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise RunError(f"there is no file {path}") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise RunError(f"{path} is damaged or was not copied whole; get it again") from None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
