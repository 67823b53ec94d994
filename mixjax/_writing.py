"""Files that are whole or not there, and one sentence for what a file system refuses."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class RunError(Exception):
    """Something about a run that its user can put right; the message says what, in one sentence."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file that is either whole or not there, whatever happens on the way."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


@contextmanager
def explained(path: Path, kept: str = "finished work is kept, and the same command goes on from it") -> Iterator[None]:
    """Turn what the file system refuses into one sentence; `kept` is what to say of a disk that is full."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        full = {
            errno.ENOSPC: "the disk is full",
            errno.EDQUOT: "the disk quota is used up",
            errno.EFBIG: "no file as large is allowed",
        }.get(error.errno or 0)
        advice = "choose another folder"
        if full:
            reason, advice = full, kept
        elif error.errno in (errno.EEXIST, errno.ENOTDIR):
            reason = "it is a file, or in one"
        raise RunError(f"cannot write to {path}: {reason}; {advice}") from None
