"""One writer a folder: a lock that ends with the process that holds it, however that ends."""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from pathlib import Path

from mixjax._writing import RunError

try:
    import fcntl
except ImportError:  # as on Windows
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"  # stays in the folder: what locks is the system's, not that the file is there
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # what is locked is written: no link is followed
_TRIES, _PAUSE = 5, 0.1  # `in_use` holds a lock for an instant


def hold(folder: Path) -> int | None:
    """Lock the folder for this process, until the descriptor that is returned is closed or the process ends.

    Returns:
      The descriptor, or None where the system or the file system has no locks.

    Raises:
      RunError: if another run holds it.
      OSError: if the folder cannot be written.
    """
    if fcntl is None:
        return None
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | _SAFE, 0o644)
    try:
        if not _locked(descriptor):
            os.close(descriptor)
            return None
    except BlockingIOError:
        owner = os.read(descriptor, 32).decode(errors="replace").strip()
        os.close(descriptor)
        raise RunError(
            f"another run is at work in {folder} (process {owner or 'unknown'}); wait for it, stop it, or choose "
            "another folder"
        ) from None
    with suppress(OSError):  # a full disk: the lock is held all the same
        os.ftruncate(descriptor, 0)
        os.write(descriptor, b"%d\n" % os.getpid())
    return descriptor


def in_use(folder: Path) -> bool:
    """Whether a run is at work in the folder, as far as locks can tell."""
    if fcntl is None:
        return False
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | _SAFE)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    finally:
        os.close(descriptor)
    return False


def _locked(descriptor: int) -> bool:
    """Whether the lock is held now; False where there are none, BlockingIOError where another holds it."""
    for tried in range(1, _TRIES + 1):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if tried == _TRIES:
                raise
            time.sleep(_PAUSE)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return False
            raise
    return True
