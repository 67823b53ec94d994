"""Write files completely or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from mixjax.runs.storage import Location

TEMPORARY = ".tmp-"  # the beginning of the name of an unfinished file


def write_atomically(path: Location, content: bytes) -> None:
    """Write a file that is either whole or not there, whatever happens meanwhile."""
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
    """Delete the unfinished files of a killed process in a folder."""
    for debris in folder.glob(f"{TEMPORARY}*"):
        shutil.rmtree(debris) if debris.is_dir() and not debris.is_symlink() else debris.unlink()
