"""Files that are whole or not there, and one sentence for what a file system refuses."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mixjax._storage import Location

TEMPORARY = ".tmp-"  # how the name of what is being written begins
KEPT = "finished work is kept, and the same command goes on from it"


class RunError(Exception):
    """Something about a run that its user can put right; the message says what, in one sentence."""


def write_atomically(path: Location, content: bytes) -> None:
    """Write a file that is either whole or not there, whatever happens on the way."""
    if not isinstance(path, Path):
        path.write_bytes(content)
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=TEMPORARY)
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


def write_once(path: Location, content: bytes) -> None:
    """Write a file unless there is one."""
    if not isinstance(path, Path):
        path.write_once(content)
    elif not path.exists():
        write_atomically(path, content)


def sweep(folder: Path) -> None:
    """Clear away what a killed process was writing in a folder."""
    for debris in folder.glob(f"{TEMPORARY}*"):
        shutil.rmtree(debris) if debris.is_dir() and not debris.is_symlink() else debris.unlink()


@contextmanager
def explained(path: Location, kept: str = KEPT) -> Iterator[None]:
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
